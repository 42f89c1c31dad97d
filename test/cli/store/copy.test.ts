import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { markUnfinished } from '../../../src/engine/format/meta.ts'
import { openStore, type StorePlace } from '../../../src/store/open.ts'
import type { Store } from '../../../src/store/port.ts'
import { type CliResult, type CliWorld, createCliWorld, rowOf } from '../../support/cli.ts'
import {
  type RedisCluster,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from '../../support/redis-server.ts'
import { send, startServer, until, type WireEvent } from '../../support/server.ts'
import { createToldRecords } from '../../support/told-records.ts'

const cards = 40
const occurredAt = '2026-11-14T10:00:00Z'

/** Asks, what follows on them, an account below zero, a card nobody knows, and what people should look at. */
const events: readonly WireEvent[] = [
  ...Array.from({ length: cards }, (_, i) => ({
    eventId: `ask-${i}`,
    cardId: `card-${i}`,
    transactionId: `t-${i}`,
    amount: i % 9 === 0 ? '5000.00' : '10.00',
  })),
  ...Array.from({ length: 12 }, (_, i) => ({
    eventId: `settle-${i}`,
    requestType: 'Settlement',
    cardId: `card-${i}`,
    transactionId: i % 3 === 0 ? `other-${i}` : `t-${i}`,
    amount: '11.50',
  })),
  {
    eventId: 'deep',
    requestType: 'Settlement',
    cardId: 'card-39',
    transactionId: 'below-zero',
    amount: '3000.00',
  },
  { eventId: 'stranger', cardId: 'card-of-nobody', transactionId: 's' },
  { eventId: 'lost', requestType: 'Refund', cardId: 'card-of-nobody', transactionId: 's' },
].map((event) => ({ occurredAt, ...event }))

let world: CliWorld
let server: RedisServer
let cluster: RedisCluster
let replies: string[] | undefined
let source: string
/** A copy of the source while a server uses it. */
let copiedMeanwhile: CliResult
const told = createToldRecords()
let left: Awaited<ReturnType<typeof told.read>>

async function inStore<T>(place: Partial<StorePlace>, work: (store: Store) => Promise<T>) {
  const store = await openStore({ redis: null, dataDir: '', ...place }, Date.now)
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** Webhooks that can still be signed, what waits for them, and verifications. */
const toldIn = (place: Partial<StorePlace>) => inStore(place, told.read)

beforeAll(async () => {
  ;[world, server, cluster] = await Promise.all([
    createCliWorld(),
    startRedis(),
    startRedisCluster(),
  ])
  source = `lmdb:${world.env.DATA_DIR}`
  const rows = Array.from({ length: cards }, (_, i) => rowOf(i)).join('\n')
  await world.run('import', await world.write('cards.ndjson', rows))
  await inStore({ dataDir: world.env.DATA_DIR! }, told.leave)
  left = await toldIn({ dataDir: world.env.DATA_DIR! })
  replies = await answersOf({}, async () => {
    const target = `lmdb:${join(world.folder, 'never')}`
    copiedMeanwhile = await world.run('copy', '--from', source, '--to', target)
  })
})
afterAll(async () => {
  await Promise.all([world?.dispose(), server?.dispose(), cluster?.dispose()])
})

/** The bytes that a server on a store answers to all events, one after the other. */
async function answersOf(
  env: Record<string, string>,
  meanwhile?: () => Promise<void>,
): Promise<string[]> {
  const dataDir = env.DATA_DIR ?? (env.REDIS_URL ? join(world.folder, 'own') : world.env.DATA_DIR)
  const running = await startServer({ dataDir: dataDir ?? '', env })
  const texts: string[] = []
  // A process that has just started runs its code uncompiled. An advice may be said by default, and then otherwise.
  await until(async () => (await send(running.url, events.at(-1)!)).body.decidedBy === 'engine')
  for (const [i, event] of events.entries()) {
    texts.push(await answerTo(running.url, event, replies?.[i]))
  }
  await meanwhile?.()
  expect(await running.stop()).toBe(0)
  return texts
}

/** A busy machine may make the default answer, and the one it gave before later. */
async function answerTo(url: string, event: WireEvent, due: string | undefined): Promise<string> {
  // What was declined before an engine saw it is known to that process alone, and left no record.
  if (due?.includes('"overload"')) return due
  const startedMs = performance.now()
  for (;;) {
    const { text } = await send(url, event)
    if (due === undefined || text === due || performance.now() - startedMs > 10_000) return text
    await sleep(50)
  }
}

const contentOf = ({ out }: CliResult) => out.split('\n').filter((line) => line.includes('content'))

describe('arbiter copy', { timeout: 90_000 }, () => {
  let inRedis: Record<string, string>
  let contents: string[]

  it('fills a Redis that was looked into before: what only reads refuses it, and leaves it new', async () => {
    const early = await world.runWith({ env: { REDIS_URL: server.url } }, 'verify')
    expect([early.code, early.err]).toEqual([2, expect.stringContaining('there is no store')])
  })

  it('takes an embedded store to Redis, where nothing is different', async () => {
    const copied = await world.run('copy', '--from', source, '--to', server.url)
    expect(copied).toMatchObject({ code: 0 })
    expect(copied.err).toMatch(/^arbiter: note: stop the servers that use redis:\/\/127[^\n]*\n$/)
    contents = contentOf(copied)
    expect(contents).toHaveLength(4)
    inRedis = { REDIS_URL: server.url }
    const verified = await world.runWith({ env: inRedis }, 'verify')
    expect(verified).toMatchObject({ code: 0 })
    expect(verified.out).toBe((await world.run('verify')).out)
    const damage = await world.runWith({ env: inRedis }, 'damaged')
    expect(damage.out).toBe('every record can be read\n')
    for (const list of ['unmatched', 'anomalies']) {
      const there = await world.runWith({ env: inRedis }, list)
      expect(there.out).toBe((await world.run(list)).out)
      expect(there.out.length).toBeGreaterThan(100)
    }
    expect(left.verified).toHaveLength(3)
    expect(left.images?.idFrontImage?.length).toBeGreaterThan(1_000)
    expect(await toldIn({ redis: { urls: [server.url], cluster: false } })).toEqual(left)
  })

  it('goes on to a cluster and back to an embedded store', async () => {
    const urls = cluster.urls.join(',')
    const env = { HOME_STORE: server.url }
    const spread = await world.runWith({ env }, 'copy', '--from', 'env:HOME_STORE', '--to', urls)
    expect(spread).toMatchObject({ code: 0 })
    const back = join(world.folder, 'back')
    const returned = await world.run(
      'copy',
      '--from',
      `cluster:${cluster.urls[0]}`,
      '--to',
      `lmdb:${back}`,
    )
    expect(returned).toMatchObject({ code: 0 })
    expect(contentOf(spread)).toEqual(contents)
    expect(contentOf(returned)).toEqual(contents)
    expect(await toldIn({ dataDir: back })).toEqual(left)
    expect(await answersOf({ DATA_DIR: back })).toEqual(replies)
    expect(await world.runWith({ env: { DATA_DIR: back } }, 'verify')).toMatchObject({ code: 0 })
  })

  it('lets a server on the copy answer old events with the same bytes', async () => {
    expect(await answersOf(inRedis)).toEqual(replies)
    const inCluster = { REDIS_URL: cluster.urls.join(','), REDIS_CLUSTER: 'true' }
    expect(await answersOf(inCluster)).toEqual(replies)
    expect(await world.runWith({ env: inCluster }, 'verify')).toMatchObject({ code: 0 })
  })

  it('lets people go on with what was on their lists', async () => {
    for (const list of ['unmatched', 'anomalies']) {
      const before = (await world.runWith({ env: inRedis }, list)).out.trimEnd().split('\n')
      const keys = before.map((line) => line.split(' ')[0] ?? '')
      const done = await world.runWith({ env: inRedis }, list, 'done', ...keys, '--reason', 'seen')
      expect(done).toMatchObject({ code: 0, err: '' })
      expect((await world.runWith({ env: inRedis }, list)).out).toBe('')
    }
  })

  it('refuses a target that holds anything, and a source that is not there', async () => {
    const full = await world.run('copy', '--from', source, '--to', server.url)
    expect(full).toMatchObject({ code: 2, out: '' })
    expect(full.err).toContain('the target is not empty')
    const nowhere = join(world.folder, 'nowhere')
    const none = await world.run('copy', '--from', `lmdb:${nowhere}`, '--to', 'lmdb:x')
    expect(none).toMatchObject({ code: 2 })
    expect(none.err).toContain('there is no store in')
    expect(existsSync(nowhere)).toBe(false)
  })

  it('refuses a folder that a server uses', () => {
    const { code, err } = copiedMeanwhile
    expect(code).toBe(2)
    expect(err).toBe(`arbiter: a server uses ${world.env.DATA_DIR}: stop it first, and repeat\n`)
  })

  it('leaves what was cut off for no server to take', async () => {
    const dataDir = join(world.folder, 'unfinished')
    const store = await openStore({ redis: null, dataDir }, Date.now)
    await markUnfinished(store)
    await store.close()
    const env = { DATA_DIR: dataDir }
    for (const command of [['verify'], ['import', join(world.folder, 'cards.ndjson')]]) {
      const { code, err } = await world.runWith({ env }, ...command)
      expect(code).toBe(2)
      expect(err).toContain('the store is an unfinished copy: remove it')
    }
  })

  it('never prints a password', async () => {
    const to = `lmdb:${join(world.folder, 'x')}`
    for (const from of ['redis://u:swordfish@127.0.0.1:1', 'redis:/u:swordfish@h', 'swordfish']) {
      const { out, err, code } = await world.run('copy', '--from', from, '--to', to)
      expect(code).toBeGreaterThan(0)
      expect(out + err).not.toContain('swordfish')
    }
  })
})

describe('arbiter backup and restore', { timeout: 90_000 }, () => {
  const path = (name: string) => join(world.folder, name)
  const restoreInto = (name: string, file: string) =>
    world.runWith({ env: { DATA_DIR: path(name) } }, 'restore', file)

  it('bring everything back, compressed or not', async () => {
    for (const name of ['whole.ndjson', 'whole.ndjson.gz']) {
      const backed = await world.run('backup', path(name))
      expect(backed).toMatchObject({ code: 0, err: '' })
      const restored = await restoreInto(`of-${name}`, path(name))
      expect(restored).toMatchObject({ code: 0, err: '' })
      expect(contentOf(restored)).toEqual(contentOf(backed))
      expect(await toldIn({ dataDir: path(`of-${name}`) })).toEqual(left)
    }
    // The content of both is the same.
    expect(await answersOf({ DATA_DIR: path('of-whole.ndjson.gz') })).toEqual(replies)
    const packed = await readFile(path('whole.ndjson.gz'))
    const plain = await readFile(path('whole.ndjson'))
    expect(packed.length).toBeLessThan(plain.length / 3)
    expect(gunzipSync(packed).length).toBe(plain.length)
    expect(await world.run('backup', path('whole.ndjson'))).toMatchObject({ code: 2 })
  })

  it('refuse a file that is cut off or was changed, and write nothing', async () => {
    const whole = await readFile(path('whole.ndjson'))
    const packed = gzipSync(whole)
    const lines = whole.toString().trimEnd().split('\n')
    const flipped = Buffer.from(whole)
    const at = whole.indexOf('"USD"') + 1
    flipped[at] = 0x45
    const bad: Record<string, string | Buffer> = {
      empty: '',
      'without its end': `${lines.slice(0, -1).join('\n')}\n`,
      'cut within a line': whole.subarray(0, whole.length >> 1),
      'with a letter changed': flipped,
      'without a line': `${lines.toSpliced(7, 1).join('\n')}\n`,
      'with a line twice': `${lines.toSpliced(7, 0, lines[7] ?? '').join('\n')}\n`,
      'with two lines exchanged': `${lines.toSpliced(7, 2, lines[8] ?? '', lines[7] ?? '').join('\n')}\n`,
      'with more after its end': `${whole}["root","x","v",""]\n`,
      'compressed and cut': packed.subarray(0, packed.length - 20),
      'of another format': whole.toString().replace(/"format":\d+/, '"format":99'),
      'of something else': 'cardId,balance\n1,2\n',
    }
    for (const [name, content] of Object.entries(bad)) {
      const { code, out, err } = await restoreInto('bad', await world.write('bad', content))
      expect({ name, code, out }).toEqual({ name, code: 2, out: '' })
      expect(err, name).toMatch(/cut off or was changed|not a backup|backup format 99/)
      expect(err.trimEnd().split('\n'), name).toHaveLength(1)
      expect(existsSync(path('bad/store')), name).toBe(false)
    }
    expect(await restoreInto('bad', path('nothing'))).toMatchObject({ code: 2 })
  })

  it('restore only into an empty store', async () => {
    const again = await restoreInto('of-whole.ndjson', path('whole.ndjson'))
    expect(again).toMatchObject({ code: 2, out: '' })
    expect(again.err).toContain('the target is not empty')
  })
})
