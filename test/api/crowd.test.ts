import { Agent, get } from 'node:http'
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
