import { once } from 'node:events'
import { Agent, createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { openApi } from '../support/api-world.ts'

const path = '/api/v1/organization'
/** As many as the port has places. */
const places = 256

/** A client whose every call has a connection of its own, which stays open. */
async function openCrowd() {
  const { url, headersOf, time } = await openApi()
  const { authorization } = await headersOf('GET', path)
  const agents: Agent[] = []
  onTestFinished(() => {
    for (const agent of agents) agent.destroy()
  })
  async function connect(): Promise<number | string> {
    time.ms += 25
    const headers = await headersOf('GET', path, { authorization: authorization! })
    const agent = new Agent({ keepAlive: true })
    agents.push(agent)
    return new Promise((resolve) => {
      const call = get(`${url}${path}`, { agent, headers }, (answer) => {
        answer.resume().once('end', () => resolve(answer.statusCode ?? 0))
      })
      call.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''))
    })
  }
  return { connect }
}

it('who keeps all connections open and idle keeps nobody out', { timeout: 30_000 }, async () => {
  const { connect } = await openCrowd()
  for (let i = 0; i < places; i++) expect([i, await connect()]).toEqual([i, 200])
  const atOnce = await Promise.all(Array.from({ length: 40 }, connect))
  expect(new Set(atOnce)).toEqual(new Set([200]))
})

it('who has 192 calls at work is told to wait until one of them has ended', async () => {
  const { send, headersOf, call, time } = await openApi({ sandbox: true, scopes: ['CardAPIs'] })
  const silent = createServer(() => {})
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    silent.closeAllConnections()
    silent.close()
  })
  const { port } = silent.address() as AddressInfo
  const given = { url: `http://127.0.0.1:${port}/`, events: ['ping'] }
  const { data } = await send('POST', '/webhooks', given)
  const { webhookId } = data as unknown as { webhookId: string }
  const pings: Promise<unknown>[] = []
  for (let i = 0; i < 192; i++) {
    const arrived = once(silent, 'request')
    pings.push(send('POST', `/webhooks/${webhookId}/test`).catch(() => {}))
    await arrived
  }
  const ask = async () => {
    time.ms += 1_000
    const { status, body, headers } = await call('GET', path, await headersOf('GET', path))
    return [status, body.message, headers.get('retry-after')]
  }
  expect(await ask()).toEqual([429, 'No action taken: too many calls at once', '1'])
  silent.closeAllConnections()
  await Promise.all(pings)
  expect(await ask()).toEqual([200, 'Success', null])
})
