import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { directoryKey } from '../../src/engine/format/layout.ts'
import { type Database, openDatabase } from '../../src/store/lmdb/database.ts'
import { childKey, rootKey } from '../../src/store/lmdb/keys.ts'
import { runCommand } from '../support/cli.ts'
import { checkLedger, seedCards } from '../support/ledger-check.ts'
import { startRedis } from '../support/redis-server.ts'
import {
  fastFolder,
  plainPack,
  type RunningServer,
  readMetric,
  send,
  startServer,
  until,
} from '../support/server.ts'

const balances = Array<string>(6).fill('1000.00')

const endings: (() => unknown)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

async function arbiter(env: Record<string, string>, ...args: string[]): Promise<string> {
  const { out, err } = await runCommand({ RULES_DIR: plainPack, ...env }, ...args)
  return out + err
}

/** Settlements, so that the decision is no rule's, and what is said stands in the ledger. */
const settle = (server: RunningServer, eventId: string, card: number) =>
  send(server.url, { eventId, cardId: `card-${card}`, requestType: 'Settlement', amount: '3.00' })
const ask = (server: RunningServer, eventId: string, card: number) =>
  send(server.url, { eventId, cardId: `card-${card}` })

async function causeOf(asked: ReturnType<typeof ask>): Promise<unknown> {
  const { body } = await asked
  return body.cause ?? body.decidedBy
}

let asks = 0

/** By the engine; a machine that is busy may be late once. */
function decided(server: RunningServer, card: number): Promise<void> {
  return until(async () => (await causeOf(ask(server, `ask-${asks++}`, card))) === 'engine')
}

function setAside(server: RunningServer, card: number): Promise<void> {
  return until(async () => (await causeOf(ask(server, `ask-${asks++}`, card))) === 'damaged')
}

describe('a server on a store with damaged records', () => {
  it('decides for all other cards, and books what waited after a repair', async () => {
    const folder = fastFolder()
    endings.push(folder.remove)
    const dataDir = folder.path
    await seedCards(dataDir, balances)
    const first = await startServer({ dataDir })
    endings.push(first.kill)
    for (let card = 0; card < 6; card++) await ask(first, `old-${card}`, card)
    await first.stop()

    const db: Database = openDatabase(join(dataDir, 'store'))
    endings.push(() => db.close())
    const damage = async (key: string, change: (text: string) => string) => {
      const { value, version } = db.getEntry(key)!
      await db.put(key, change(value), version ?? 0)
    }
    // A root without its version, a card of a newer release, a transaction cut off, somebody else's place,
    // and the records of no account.
    await damage(rootKey('a:account-0'), () => 'garbage')
    const card = childKey('a:account-1', { group: 'c', id: 'card-1' })
    await damage(card, (text) => text.replace('[1,', '[9,'))
    const transaction = { group: 't', id: 'card-2\ntxn-old-2' }
    await damage(childKey('a:account-2', transaction), (text) => text.slice(0, 20))
    const { aggregate, ...place } = directoryKey('card-3')
    await damage(childKey(aggregate, place), () => '\u0001')
    await db.put(rootKey('meta'), 'not\n0\njson', 1)
    await db.put(rootKey('blocks'), 'x\n0\n{"format":"?"}', 1)
    await db.put(rootKey('tripped'), 'x\n0\n[', 1)
    const newest = [...db.getKeys({ start: 'l', end: 'm' })].at(-1)!
    await db.put(newest, '[2,0,')
    await db.put('idue\0 garbage', '')

    const server = await startServer({ dataDir })
    endings.push(server.kill)
    await setAside(server, 0)
    await setAside(server, 1)
    await setAside(server, 3)
    await decided(server, 2)
    await decided(server, 4)
    expect(await causeOf(settle(server, 's0', 0))).toBe('damaged')
    const ofOld = { eventId: 's2', cardId: 'card-2', requestType: 'Settlement' }
    const { body } = await send(server.url, { ...ofOld, transactionId: 'txn-old-2' })
    expect(body).toMatchObject({ decision: 'approve', cause: 'damaged' })
    expect(await readMetric(server, 'arbiter_engine_restarts')).toBe(0)
    await until(async () => (await readMetric(server, 'arbiter_damaged_accounts')) === 4)
    await until(async () => (await readMetric(server, 'arbiter_damaged_records')) === 4)
    expect(await readMetric(server, 'arbiter_damaged_waiting')).toBe(2)
    const ready = (await (await fetch(`${server.adminUrl}/readyz`)).json()) as { damaged: string[] }
    expect(ready).toMatchObject({ status: 'degraded', damagedAccounts: 4 })
    for (const name of ['meta', 'blocks', 'tripped', 'account account-0']) {
      expect(ready.damaged).toContain(name)
    }
    expect(server.output()).toContain('"record":"account account-0"')

    // A restart finds it all by itself, and has not lost what waits.
    await server.stop()
    const again = await startServer({ dataDir })
    endings.push(again.kill)
    await setAside(again, 0)
    await decided(again, 5)
    expect(await readMetric(again, 'arbiter_damaged_waiting')).toBe(2)

    const env = { DATA_DIR: dataDir }
    const listed = await arbiter(env, 'damaged')
    expect(listed).toContain(
      'account account-0: it is no JSON; arbiter repair account-0 --reason TEXT',
    )
    expect(listed).toContain('card card-1: it has format 9, and this release reads format 1')
    expect(listed).toContain(
      'place of card card-3: it names no account; arbiter repair account-3 --reason TEXT',
    )
    expect(listed).toContain('blocks: the emergency list was not written by this release')
    expect(listed).toContain('log entry written at')
    expect(await arbiter(env, 'adjust', 'account-0', '1', '--reason', 'x')).toContain('is damaged')
    const reason = ['--reason', 'test'] as const
    for (const account of [0, 1, 2, 3]) {
      const told = await arbiter(env, 'repair', `account-${account}`, ...reason)
      expect(told).toContain('repaired')
    }
    for (const record of ['meta', 'blocks', 'tripped']) {
      expect(await arbiter(env, 'repair', '--record', record, ...reason)).toContain('repaired')
    }
    await until(async () => (await readMetric(again, 'arbiter_damaged_accounts')) === 0)
    for (const account of [0, 1, 2, 3]) {
      await decided(again, account)
    }
    await until(async () => (await readMetric(again, 'arbiter_damaged_waiting')) === 0)
    const shown = await arbiter(env, 'show', 'transaction', 'txn-old-2', '--card', 'card-2')
    expect(shown).toContain('"settledMinor": 100')
    expect(await again.stop()).toBe(0)
  }, 120_000)
})

describe('a server on a Redis with keys of another type', () => {
  it('decides for all other cards', async () => {
    const folder = fastFolder()
    endings.push(folder.remove)
    const redis = await startRedis()
    endings.push(redis.dispose)
    await seedCards(
      { redis: { urls: [redis.url], cluster: false }, dataDir: '' } as never,
      balances,
    )
    const keys = (await redis.command('KEYS', '*')) as string[]
    const keyOf = (end: string) => keys.find((name) => name.endsWith(end))!
    await redis.command('SET', keyOf('aa:account-0'), 'somebody')
    await redis.command('HSET', keyOf('aa:account-1'), '', 'flipped')
    await redis.command('HSET', keyOf('aa:account-2'), 'foreign', 'something')
    const env = { REDIS_URL: redis.url, DATA_DIR: join(folder.path, 'one') }
    const server = await startServer({ dataDir: env.DATA_DIR, env })
    endings.push(server.kill)
    await setAside(server, 0)
    await setAside(server, 1)
    await decided(server, 2)
    expect(await causeOf(settle(server, 's1', 1))).toBe('damaged')
    expect(await readMetric(server, 'arbiter_store_available')).toBe(1)
    const listed = await arbiter(env, 'damaged')
    expect(listed).toContain('account account-0')
    expect(listed).toContain('account account-1')
    expect(listed).toContain(
      'account account-2, foreign: it is of a kind that this release does not know\n',
    )
    const reason = ['--reason', 'test'] as const
    const refused = await arbiter(env, 'repair', 'account-0', ...reason)
    expect(refused).toContain(`the key "${keyOf('aa:account-0')}" holds another type of value`)
    expect(await arbiter(env, 'repair', 'account-1', ...reason)).toContain('repaired account')
    await redis.command('DEL', keyOf('aa:account-0'))
    expect(await arbiter(env, 'repair', 'account-0', ...reason)).toContain('repaired account')
    await until(async () => (await readMetric(server, 'arbiter_damaged_waiting')) === 0)
    await decided(server, 0)
    await decided(server, 1)
    expect(await arbiter(env, 'verify')).toContain(': 0 differences')
    expect(await server.stop()).toBe(0)
  }, 90_000)
})

describe('an engine that dies twice while it decides for the same account', () => {
  const hows = process.env.TORTURE ? (['exit', 'exhaust'] as const) : (['exit'] as const)
  for (const how of hows) {
    it(`leaves it alone from then on (${how})`, async () => {
      const folder = fastFolder()
      endings.push(folder.remove)
      await seedCards(folder.path, balances)
      const env = { CHAOS_POISON: `${how} a:account-0`, ENGINE_HEAP_MB: '128' }
      const server = await startServer({ dataDir: folder.path, disturbable: true, env })
      endings.push(server.kill)
      // A machine that is out of breath may be late with its journal: then the relay sends it again.
      await until(async () => (await settle(server, 's0', 0)).status === 200)
      await until(async () => (await readMetric(server, 'arbiter_damaged_accounts')) === 1)
      expect(await readMetric(server, 'arbiter_engine_restarts')).toBe(2)
      await setAside(server, 0)
      await decided(server, 1)
      expect(await readMetric(server, 'arbiter_engine_restarts')).toBe(2)
      await server.stop()
      // Without the poison it is booked by the next process.
      const well = await startServer({ dataDir: folder.path })
      endings.push(well.kill)
      await until(async () => (await readMetric(well, 'arbiter_unbooked')) === 0)
      expect(await well.stop()).toBe(0)
      const { differences } = await checkLedger(folder.path, [])
      expect(differences).toEqual([])
    }, 60_000)
  }
})
