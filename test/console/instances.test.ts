import { get, type IncomingMessage } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { askConsole, consolePortOf } from '../support/console-world.ts'
import { type RedisPair, startRedisPair } from '../support/redis-pair.ts'
import { type RunningServer, send, until } from '../support/server.ts'

const rule = { id: 'large', when: 'amount > 50', decline: '128', why: 'large' }
const rules = JSON.stringify([{ ...rule, breaker: { declines: 2, within: '10m' } }])
const streams: IncomingMessage[] = []
let pair: RedisPair
let port: number

beforeAll(async () => {
  pair = await startRedisPair(rules, { CONSOLE_PORT: '0' })
  port = await consolePortOf(pair.servers[0])
})

afterAll(async () => {
  for (const stream of streams) stream.destroy()
  await pair.close()
})

let asked = 0
async function codeOf(server: RunningServer, amount: number): Promise<unknown> {
  const eventId = `e${asked++}`
  return (await send(server.url, { eventId, transactionId: eventId, amount })).body.responseCode
}

async function data(path: string) {
  return JSON.parse((await askConsole(port, 'GET', path)).body)
}

async function act(path: string, body: object): Promise<number> {
  const origin = `http://localhost:${port}`
  const headers = { 'content-type': 'application/json', host: `localhost:${port}`, origin }
  return (await askConsole(port, 'POST', path, headers, { reason: 'test', ...body })).status
}

/** What a browser with these filters is told. */
async function listen(query: string): Promise<() => string> {
  const stream = await new Promise<IncomingMessage>((resolve, reject) => {
    get({ port, host: '127.0.0.1', path: `/live${query}` }, resolve).on('error', reject)
  })
  streams.push(stream)
  stream.on('error', () => {})
  let text = ''
  stream.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  return () => text
}

describe('the console of one of two servers on a Redis', () => {
  it('shows both, each with its pack and its version', async () => {
    await listen('')
    await until(async () => (await data('/data/now')).now?.instances.length === 2)
    const { now } = await data('/data/now')
    const { release, rulesVersion } = now.instances[0]
    expect(release).toMatch(/^\d+\.\d+\.\d+/)
    expect(now.instances).toMatchObject([{ release }, { release, rulesVersion }])
    expect(now.instances.map(({ self }: { self: boolean }) => self).sort()).toEqual([false, true])
    pair.writeRules('two', rules.replace('amount > 50', 'amount > 60'))
    await until(async () => {
      const { instances } = (await data('/data/now')).now
      return instances[0].rulesVersion !== instances[1].rulesVersion
    })
    pair.writeRules('two', rules)
  })

  it('tells a browser live what the other decided, of the customer that it wants', async () => {
    const [wanted, other] = [
      await listen('?decisions=1&customer=k'),
      await listen('?decisions=1&customer=nobody'),
    ]
    await until(async () => {
      await codeOf(pair.servers[1], 5)
      return wanted().includes('event: decisions')
    })
    expect(other()).not.toContain('event: decisions')
  })

  it('arms a rule that its breaker has put into shadow, on both', async () => {
    const codes = (amount: number) => Promise.all(pair.servers.map((one) => codeOf(one, amount)))
    await until(async () => (await codes(60)).every((code) => code === '000'))
    const tripped = (await data('/data/rules')).rules[0]
    expect(tripped).toMatchObject({ id: 'large', tripped: expect.stringContaining('declined') })
    expect(await act('/act/arm', { ruleId: 'large' })).toBe(200)
    await until(async () => (await codeOf(pair.servers[1], 60)) === '128')
    expect((await data('/data/rules')).rules[0].tripped).toBe('')
    expect(await act('/act/arm', { ruleId: 'no-such-rule' })).toBe(409)
  })

  it('freezes a card for both', async () => {
    expect(await act('/act/card', { act: 'freeze', cardId: 'card-2' })).toBe(200)
    for (const server of pair.servers) expect(await codeOf(server, 5)).toBe('117')
  })
})
