import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { withSnapshot } from '../../../src/cli/store/snapshot.ts'
import { type CliWorld, createCliWorld, rowOf } from '../../support/cli.ts'
import { openDisturbedWorld } from '../../support/disturbed-world.ts'
import { createRelay, type Delivery, repeatUntilDecided } from '../../support/relay.ts'
import { readiness, startServer, until } from '../../support/server.ts'

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

const rounds = process.env.TORTURE ? 10 : 1

describe('a backup of an embedded store that is in use', () => {
  it(
    'has all that was answered before, also what was only in the journal',
    async () => {
      for (let round = 0; round < rounds; round++) await backUpUnderLoad(round)
    },
    120_000 * rounds,
  )
})

/** A store that takes a while to be written, and a folder for backups of it. */
async function openLargeStore() {
  const world = await createCliWorld()
  endings.push(world.dispose)
  await world.importRows(rowOf(1))
  const { store } = await world.serve()
  const value = () => randomBytes(1_000).toString('hex')
  const entry = { kind: 'index', aggregate: 'x', index: 'anomalies' } as const
  const count = 6_000
  await store.fill(
    Array.from({ length: count }, (_, i) => ({ ...entry, sortKey: `${i}`, value: value() })),
  )
  const folder = join(world.folder, 'backups')
  mkdirSync(folder)
  return { world, folder }
}

describe('two backups of one name at once', () => {
  it('give one that is whole, and the other command says that it is there', async () => {
    const { world, folder } = await openLargeStore()
    const file = join(folder, 'all.ndjson')
    const ended = [world.start('backup', file), world.start('backup', file)].map(async (child) => {
      let said = ''
      child.stderr?.on('data', (chunk) => {
        said += chunk
      })
      const [code] = await once(child, 'close')
      return `${code} ${said}`
    })
    const [first, second] = (await Promise.all(ended)).toSorted()
    expect([first, second]).toEqual([
      '0 ',
      expect.stringMatching(/^2 .* exists: name another file/),
    ])
    expect(readdirSync(folder)).toEqual(['all.ndjson'])
    const env = { DATA_DIR: join(world.folder, 'restored') }
    expect(await world.runWith({ env }, 'restore', file)).toMatchObject({ code: 0 })
  })
})

describe('what is ended by Ctrl-C', () => {
  it('is told: a backup leaves nothing behind, or the next one takes it away; what a copy leaves is not used', async () => {
    const { world, folder } = await openLargeStore()
    const file = join(folder, 'all.ndjson.gz')
    const backup = world.start('backup', file)
    const isBegun = () => readdirSync(folder).some((name) => name.endsWith('.partial'))
    expect(await interrupted(backup, isBegun)).toBe('arbiter: stopped: nothing was written\n')
    expect(readdirSync(folder)).toEqual([])
    const killed = world.start('backup', join(folder, 'earlier.ndjson.gz'))
    const ended = once(killed, 'close')
    await until(async () => isBegun())
    killed.kill('SIGKILL')
    await ended
    const left = readdirSync(folder)
    expect(left).toHaveLength(2)
    const longAgo = new Date(Date.now() - 2 * 3_600_000)
    for (const name of left) utimesSync(join(folder, name), longAgo, longAgo)
    // Of another backup, which goes on.
    const other = `other.ndjson.gz.snapshot-${process.pid}-abcdef`
    mkdirSync(join(folder, other))
    utimesSync(join(folder, other), longAgo, longAgo)
    // Of one on another machine.
    const elsewhere = 'other.ndjson.gz.4194305-abcdef.partial'
    writeFileSync(join(folder, elsewhere), '')
    expect((await world.run('backup', file)).code).toBe(0)
    expect(readdirSync(folder).toSorted()).toEqual(['all.ndjson.gz', elsewhere, other])
    const [whole, part] = ['whole', 'part'].map((name) => join(world.folder, name))
    const restored = await world.runWith({ env: { DATA_DIR: whole } }, 'restore', file)
    expect(restored).toMatchObject({ code: 0 })
    const copy = world.start('copy', '--from', `lmdb:${whole}`, '--to', `lmdb:${part}`)
    const isFilled = () => sizeOf(join(part!, 'store', 'data.mdb')) > 2 ** 20
    const said = await interrupted(copy, isFilled)
    expect(said).toContain(`stopped: lmdb:${part} has an unfinished copy: remove it`)
    const env = { DATA_DIR: part }
    expect(await world.runWith({ env }, 'blocks')).toMatchObject({ code: 2 })
    expect(await world.runWith({ env }, 'restore', file)).toMatchObject({ code: 2 })
  })
})

it('a backup that this release could not restore is told while the store is there', async () => {
  const world = await createCliWorld()
  endings.push(world.dispose)
  await world.importRows(rowOf(1))
  const { store } = await world.serve()
  const file = join(world.folder, 'all.ndjson')
  expect(await world.run('backup', file)).toMatchObject({ code: 0, err: '' })
  const entry = { kind: 'index', aggregate: 'x', sortKey: 'k', value: '' } as const
  // One bit from due.
  await store.fill([{ ...entry, index: 'dte' }])
  rmSync(file)
  const { code, err } = await world.run('backup', file)
  expect(code).toBe(0)
  expect(err).toContain(`this release cannot restore ${file}: the store has an index dte`)
  const env = { DATA_DIR: join(world.folder, 'restored') }
  expect(await world.runWith({ env }, 'restore', file)).toMatchObject({ code: 2 })
})

it('a copy of a store that is read for long does not look as if it were left', async () => {
  const world = await createCliWorld()
  endings.push(world.dispose)
  await world.importRows(rowOf(1))
  const fakes = vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  endings.push(() => void vi.useRealTimers())
  const place = { redis: null, dataDir: world.env.DATA_DIR! }
  await withSnapshot(place, join(world.folder, 'all.ndjson'), async ({ dataDir }) => {
    const longAgo = new Date(Date.now() - 2 * 3_600_000)
    utimesSync(dataDir, longAgo, longAgo)
    fakes.advanceTimersByTime(600_000)
    await until(async () => Date.now() - statSync(dataDir).mtimeMs < 60_000, 5)
  })
})

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

/** Ends it by Ctrl-C as soon as it has begun; resolves to what it says. */
async function interrupted(child: ChildProcess, isBegun: () => boolean): Promise<string> {
  let said = ''
  child.stderr?.on('data', (chunk) => {
    said += chunk
  })
  const ended = once(child, 'close')
  await until(async () => isBegun())
  child.kill('SIGINT')
  expect(await ended).toEqual([130, null])
  return said
}

async function backUpUnderLoad(round: number): Promise<void> {
  const env = { DEFAULT_DECISION: 'approve', HEARTBEAT_MS: '60000' }
  const traffic = { seed: 21 + round, ratePerSecond: 60 }
  const { dataDir, server, relay, load } = await openDisturbedWorld(endings, env, traffic)
  const world: CliWorld = await createCliWorld()
  endings.push(world.dispose)
  await sleep(500)
  // While the engine commits: one instant, so that every account agrees with its log.
  const live = join(world.folder, `live-${round}.ndjson.gz`)
  const ofLive = { DATA_DIR: join(world.folder, `live-${round}`) }
  expect(await world.runWith({ env: { DATA_DIR: dataDir } }, 'backup', live)).toMatchObject({
    code: 0,
  })
  expect(await world.runWith({ env: ofLive }, 'restore', live)).toMatchObject({ code: 0 })
  expect(await world.runWith({ env: ofLive }, 'verify')).toMatchObject({ code: 0, err: '' })
  const ofEngine = () => relay.deliveries.filter(({ decidedBy }) => decidedBy === 'engine')
  await until(async () => ofEngine().length > 60)
  // The watchdog answers meanwhile, and its journal has what no engine has booked.
  server.disturb({ type: 'hang', ms: 30_000 })
  const { length: earlier } = relay.deliveries
  await until(async () => relay.deliveries.slice(earlier).filter(isByDefault).length > 20)
  const before = relay.deliveries.filter(({ status }) => status === 200)
  const file = join(world.folder, `backup-${round}.ndjson`)
  const backed = await world.runWith({ env: { DATA_DIR: dataDir } }, 'backup', file)
  expect(backed).toMatchObject({ code: 0, err: '' })
  const header = JSON.parse((await readFile(file, 'utf8')).split('\n', 1)[0] ?? '')
  expect(header.journal.length).toBeGreaterThan(100)
  expect(readdirSync(world.folder).filter((name) => name.includes('snapshot'))).toEqual([])
  await load.stop()
  await server.kill()
  // A copy would leave behind what the killed server has said and not booked.
  const to = `lmdb:${join(world.folder, `copied-${round}`)}`
  const copied = await world.run('copy', '--from', `lmdb:${dataDir}`, '--to', to)
  expect(copied).toMatchObject({ code: 2, err: expect.stringContaining('not booked yet') })

  const restored = { DATA_DIR: join(world.folder, 'restored') }
  expect(await world.runWith({ env: restored }, 'restore', file)).toMatchObject({ code: 0 })
  // A second time it would be booked into what is there.
  expect(await world.runWith({ env: restored }, 'restore', file)).toMatchObject({ code: 2 })
  // What a killed one has left of a journal is its own; one with other answers is somebody's.
  const begunAgain = { DATA_DIR: join(world.folder, 'begun-again') }
  mkdirSync(begunAgain.DATA_DIR)
  const journalIn = (env: { DATA_DIR: string }) => join(env.DATA_DIR, 'gate.journal')
  copyFileSync(journalIn({ DATA_DIR: dataDir }), journalIn(begunAgain))
  const foreign = await world.runWith({ env: begunAgain }, 'restore', live)
  expect(foreign).toMatchObject({ code: 2, err: expect.stringContaining('not booked yet') })
  copyFileSync(journalIn(restored), journalIn(begunAgain))
  expect(await world.runWith({ env: begunAgain }, 'restore', file)).toMatchObject({ code: 0 })
  expect(readFileSync(journalIn(begunAgain))).toEqual(readFileSync(journalIn(restored)))
  const again = await startServer({ dataDir: restored.DATA_DIR })
  endings.push(again.kill)
  await until(async () => (await readiness(again)).unbooked === 0)
  const repeated = createRelay(again.url, 4)
  endings.push(repeated.close)
  // A process that has just started runs its code uncompiled, and declines by default what takes it too long.
  const stray = { eventId: 'first', transactionId: 'first', cardId: 'nobody', amountMinor: 1 }
  await repeatUntilDecided(repeated, { ...stray, requestType: 'Refund', final: null })
  // A decline that the journal was too slow for is said all the same, and nothing has to follow it.
  const kept = before.filter((one) => one.decision === 'approve' || !isByDefault(one))
  const alike = kept.filter((one) => before.every((other) => isLike(one, other)))
  expect(alike.filter(isByDefault).length).toBeGreaterThan(5)
  expect(alike.length).toBeGreaterThan(50)
  const told = await Promise.all(alike.map(({ event }) => repeated.deliver(event)))
  // An approval that both gave is kept as the engine's, so only the decision is the same.
  const unlike = alike.flatMap(({ event, text, decision }, i) => {
    const now = told[i]!
    return now.decision === decision ? [] : [{ event, text, now }]
  })
  // What a busy machine declined by default says nothing of the backup, nor does an advice that is to come again.
  const isBusy = (now: Delivery) => isByDefault(now) || now.status === 503
  expect(unlike.filter(({ now }) => !isBusy(now))).toEqual([])
  expect(unlike.length).toBeLessThan(alike.length / 4)
  expect(await again.stop()).toBe(0)
  expect(await world.runWith({ env: restored }, 'verify')).toMatchObject({ code: 0, err: '' })
}

function isByDefault({ decidedBy }: Delivery): boolean {
  return decidedBy === 'default'
}

/** Two deliveries of one event may be answered differently when the watchdog spoke for one of them. */
function isLike(one: Delivery, other: Delivery): boolean {
  return one.event.eventId !== other.event.eventId || one.decision === other.decision
}
