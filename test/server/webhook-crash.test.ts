import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, type TestContext } from 'vitest'
import type { Entry } from '../../src/domain/ledger/entry.ts'
import { createApiClient } from '../support/api-client.ts'
import { type CliWorld, createCliWorld, rowOf } from '../support/cli.ts'
import { startReceiver } from '../support/receiver.ts'
import { durable, startRedis } from '../support/redis-server.ts'
import { fastFolder, type RunningServer, startServer, until, wireEvent } from '../support/server.ts'
import { createRandom } from '../support/traffic.ts'

const torture = Boolean(process.env.TORTURE)
const cards = 10

interface Place {
  readonly instances: number
  readonly env: Record<string, string>
  readonly events: number
  readonly kills: number
}

/** The second one runs while the first waits for the part of one that is gone. */
describe.concurrent('webhooks tell all that the log says, and nothing else', () => {
  it('of two servers on one Redis that are killed at random', async (test) => {
    const redis = await startRedis(durable)
    test.onTestFinished(redis.dispose)
    const env = { REDIS_URL: redis.url, SECRETS_KEY: randomBytes(32).toString('base64') }
    const size = torture ? { events: 1_000, kills: 49 } : { events: 40, kills: 1 }
    await survive({ instances: 2, env, ...size }, test)
  }, 900_000)

  it('of one server with a store of its own that is killed at random', async (test) => {
    const size = torture ? { events: 1_000, kills: 49 } : { events: 40, kills: 1 }
    await survive({ instances: 1, env: {}, ...size }, test)
  }, 900_000)
})

async function survive(place: Place, test: TestContext): Promise<void> {
  const seed = Number(process.env.SEED ?? Date.now() % 100_000)
  const random = createRandom(seed)
  const world = await createCliWorld()
  test.onTestFinished(() => world.dispose())
  Object.assign(world.env, { ...place.env, SANDBOX: 'true', API_PORT: '0' })
  const client = await openOrganization(world)
  const receiver = await startReceiver(() => (random() < 0.1 ? 500 : 200), test)
  const hook = ['--organization', 'org-1', '--url', receiver.url, '--event', '*']
  const { secret } = await told(world, 'webhooks', 'add', ...hook)
  receiver.verifyWith(secret)

  const folders = Array.from({ length: place.instances }, () => fastFolder())
  test.onTestFinished(() => {
    for (const { remove } of folders) remove()
  })
  const dataDirOf = (i: number) => (place.instances === 1 ? world.env.DATA_DIR! : folders[i]!.path)
  const env = { SANDBOX: 'true', API_PORT: '0', API_RATE_PER_SECOND: '1000', ...place.env }
  const start = async (i: number) => {
    const server = await startServer({ dataDir: dataDirOf(i), env })
    await until(async () => apiUrlOf(server) !== null)
    return { server, ask: createApiClient(apiUrlOf(server)!, client) }
  }
  const pair = await Promise.all(folders.map((_, i) => start(i)))
  test.onTestFinished(async () => {
    await Promise.all(pair.map(({ server }) => server.kill()))
  })

  const heard = new Map<string, Heard>()
  /** As a relay and a back office do: the same again until somebody answers. */
  async function insist(i: number): Promise<void> {
    for (let n = i; ; n++) {
      const { server, ask } = pair[n % pair.length]!
      const said = await deed(i, server, ask).catch(() => null)
      if (said !== null && 'eventId' in said) heard.set(said.eventId, said)
      if (said !== null) return
      await sleep(100)
    }
  }

  const perKill = place.events / (place.kills + 1)
  for (let kill = 0; kill <= place.kills; kill++) {
    const numbers = Array.from({ length: perKill }, (_, i) => kill * perKill + i)
    const work = numbers.map(async (i) => {
      await sleep(random() * 600)
      await insist(i)
    })
    if (kill < place.kills) {
      await sleep(random() * 600)
      const side = Math.floor(random() * pair.length)
      await pair[side]!.server.kill()
      pair[side] = await start(side)
    }
    await Promise.all(work)
  }

  let expected: string[] = []
  await until(async () => {
    expected = [...(await tellable(world)), ...(await funded(pair[0]!.ask))].sort()
    const there = new Set(receiver.received.map(({ body }) => nameOf(body)))
    return expected.every((name) => there.has(name))
  })
  // What should not come may still be on its way.
  await sleep(torture ? 12_000 : 300)
  const bodies = new Map<string, Set<string>>()
  for (const { headers, body } of receiver.received) {
    const id = headers['webhook-id']!
    bodies.set(id, (bodies.get(id) ?? new Set()).add(body))
  }
  expect([...bodies.values()].filter(({ size }) => size !== 1)).toEqual([])
  const arrived = [...bodies.values()].map(([body]) => nameOf(body!)).sort()
  expect(arrived, `seed ${seed}`).toEqual(expected)
  const words = wordsOf([...bodies.values()].map(([body]) => body!))
  compare(words, heard)
  const second = [...words.values()].reduce((sum, codes) => sum + codes.length - 1, 0)
  const { length: calls } = receiver.received
  const report = `${expected.length} events, ${second} of them second words, in ${calls} calls`
  console.log(`${place.instances} with ${place.kills} kills: ${report}; seed ${seed}`)
}

/** What each event of the relay was told as, against what the relay heard. */
function compare(words: Map<string, readonly string[]>, heard: Map<string, Heard>): void {
  for (const [eventId, codes] of words) {
    // An ask that was approved, and declined by default meanwhile, is told as both, one after the other.
    const changes = codes.slice(1).map((code, i) => (code === '000') !== (codes[i] === '000'))
    expect(changes.every(Boolean), `${eventId}: ${codes}`).toBe(true)
  }
  for (const [eventId, { responseCode, decidedBy }] of heard) {
    const last = words.get(eventId)?.at(-1)
    if (responseCode === '000') expect(last, eventId).toBe('000')
    // Of what only waited, and no engine saw, a decline by default is nowhere recorded.
    else if (decidedBy !== 'default') expect(last, eventId).toBe(responseCode)
  }
}

interface Heard {
  readonly responseCode: string
  readonly decidedBy: string
}

/** Most are asks, some advices of an earlier one, some fund the wallet. */
async function deed(
  i: number,
  { url }: RunningServer,
  ask: ReturnType<typeof createApiClient>,
): Promise<(Heard & { readonly eventId: string }) | object | null> {
  if (i % 10 === 9) {
    const { said } = await ask('POST', '/wallets/USD/fund', { amount: 1 }, `F-${i}`)
    return said === '200 000' || said === '400 139' ? {} : null
  }
  const isAdvice = i % 10 === 8
  const requestType = isAdvice ? 'Settlement' : 'Authorization'
  const transactionId = `txn-${isAdvice ? i - 8 : i}`
  const cardId = `card-${(isAdvice ? i - 8 : i) % cards}`
  const given = { eventId: `k-${i}`, requestType, transactionId, cardId, amount: '0.50' }
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(wireEvent(given)),
  })
  const said = (await response.json()) as Heard & { readonly eventId: string }
  return response.status === 200 ? said : null
}

/** What each event of the relay was told as, in the order of its account. */
function wordsOf(bodies: readonly string[]): Map<string, string[]> {
  const words = new Map<string, string[]>()
  const events = bodies.map((body) => JSON.parse(body) as Told)
  for (const { data } of events.sort((a, b) => a.sequence - b.sequence)) {
    const { relayEventId, responseCode } = data
    if (relayEventId === undefined) continue
    words.set(relayEventId, [...(words.get(relayEventId) ?? []), responseCode!])
  }
  return words
}

interface Told {
  readonly sequence: number
  readonly data: { readonly relayEventId?: string; readonly responseCode?: string }
}

/** What the log says that is told, by account, number and type. */
async function tellable(world: CliWorld): Promise<string[]> {
  const { out } = await world.run('log', '--json', '--limit', '100000')
  const entries = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Entry)
  return entries.flatMap((entry) => {
    const answers = entry.changes.flatMap((change) => {
      if (change.type === 'recorded') return change.record.answer
      return change.type === 'answerChanged' ? change.answer : []
    })
    return answers.map(({ code }) => `${entry.accountId} ${entry.n} ${typeOf(entry, code)}`)
  })
}

function typeOf({ event, unmatched }: Entry, code: string): string {
  if (unmatched !== '') return 'transaction.unmatched'
  if (event!.requestType === 'Settlement') return 'transaction.settlement'
  return code === '000' ? 'transaction.authorization' : 'transaction.declined'
}

async function funded(ask: ReturnType<typeof createApiClient>): Promise<string[]> {
  const names: string[] = []
  for (let query = '?limit=100'; query !== ''; ) {
    const { data } = await ask('GET', `/wallets/USD/entries${query}`, undefined, `L-${reads++}`)
    for (const { transferId } of data.items) names.push(`${transferId} 0 transfer.completed`)
    query = data.nextCursor === null ? '' : `?limit=100&cursor=${data.nextCursor}`
  }
  return names
}

let reads = 0

function nameOf(body: string): string {
  const { type, sequence, data } = JSON.parse(body)
  // Wallets number their own; which transfer it was says all.
  return `${data.accountId ?? data.transferId} ${data.accountId ? sequence : 0} ${type}`
}

async function openOrganization(world: CliWorld) {
  await told(world, ...'organization add org-1 --name A --country US --currency USD'.split(' '))
  const scopes = ['CardAPIs', 'CardAPIs.Read', 'CardAPIs.Fund'].flatMap((one) => ['--scope', one])
  const client = await told(
    world,
    ...'client add --organization org-1 --name x'.split(' '),
    ...scopes,
  )
  const row = (i: number) => rowOf(i, { organizationId: 'org-1' })
  await world.importRows(...Array.from({ length: cards }, (_, i) => row(i)))
  return client
}

async function told(world: CliWorld, ...args: string[]) {
  const { code, out, err } = await world.run(...args)
  expect(code, err).toBe(0)
  return out.startsWith('{') ? JSON.parse(out) : out
}

function apiUrlOf(server: RunningServer): string | null {
  const [, port] = /"apiPort":([0-9]+)/.exec(server.output()) ?? []
  return port === undefined ? null : `http://127.0.0.1:${port}`
}
