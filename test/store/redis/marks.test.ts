import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { claimStore } from '../../../src/engine/format/meta.ts'
import { newMarks } from '../../../src/engine/memory/recall.ts'
import type { LossListener, Marks, Store } from '../../../src/store/port.ts'
import type { RedisConnection } from '../../../src/store/redis/client.ts'
import { createRedisKeys } from '../../../src/store/redis/keys.ts'
import { createMarkKeeper } from '../../../src/store/redis/marks.ts'
import { openRedisStore } from '../../../src/store/redis/redis.ts'
import { type RedisServer, startRedis, startRedisCluster } from '../../support/redis-server.ts'
import { until } from '../../support/server.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import { commandOf, randomFrom } from '../conformance.ts'

// They mostly wait for Redis, and beside each other.
const endings: (() => Promise<void> | void)[] = []
afterAll(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

async function redis(settings: Record<string, string> = {}): Promise<RedisServer> {
  const server = await startRedis(settings)
  endings.push(server.dispose)
  return server
}

interface Watched {
  readonly store: Store
  readonly marks: Marks
  readonly seen: { losses: number; checkpoints: number; kept: number }
}

/** As an engine opens it; every open store of one process has the same marks. */
async function watched(url: string | readonly string[], marks = newMarks('w1')): Promise<Watched> {
  const urls = typeof url === 'string' ? [url] : url
  const cluster = typeof url !== 'string'
  const options = { urls, cluster, nowMs: Date.now, commitTimeoutMs: 2_000, marks }
  const store = await openRedisStore(options)
  endings.push(store.close)
  const seen = { losses: 0, checkpoints: 0, kept: 0 }
  const listener: LossListener = {
    onLoss() {
      seen.losses++
    },
    onCheckpoint(number) {
      seen.checkpoints = number
    },
    onKept(number) {
      seen.kept = number
    },
  }
  store.losses?.watch(listener)
  return { store, marks, seen }
}

let names = 0

/** A commit on an aggregate that nobody has used. */
const commitNew = (store: Store) =>
  store.commit([commandOf({ aggregate: `new-${names++}` })]).then(
    ([outcome]) => outcome as string,
    (error: Error) => error.message,
  )

async function commits(store: Store): Promise<void> {
  await until(async () => (await commitNew(store)) === 'committed')
}

async function inStep(replica: RedisServer): Promise<void> {
  await until(async () =>
    String(await replica.command('INFO', 'replication')).includes('master_link_status:up'),
  )
}

/** Replication is a little behind: a replica that is cut off too early lacks what was acknowledged. */
async function caughtUp(master: RedisServer, replica: RedisServer): Promise<void> {
  const offsetIn = async (server: RedisServer, name: string) =>
    Number(
      new RegExp(`${name}:(\\d+)`).exec(String(await server.command('INFO', 'replication')))?.[1],
    )
  const written = await offsetIn(master, 'master_repl_offset')
  await until(async () => (await offsetIn(replica, 'slave_repl_offset')) >= written)
}

const lossText = /lost: less is here|lacks what it acknowledged/

describe.concurrent('a server that lacks what was acknowledged', () => {
  it('refuses the next commit, also when the one it followed comes back', async () => {
    const master = await redis()
    const replica = await redis({ replicaof: `127.0.0.1 ${master.port}` })
    await inStep(replica)
    const proxy = await startTcpProxy(master.port, randomFrom(1))
    endings.push(proxy.dispose)
    const { store, seen, marks } = await watched(proxy.url)
    await commits(store)
    await caughtUp(master, replica)
    await replica.command('REPLICAOF', 'NO', 'ONE')
    await commits(store)
    expect(seen.losses).toBe(0)

    for (const [server, losses] of [
      [replica, 1],
      [master, 2],
    ] as const) {
      const before = await server.command('DBSIZE')
      proxy.moveTo(server.port)
      let message = ''
      await until(async () => {
        message = await commitNew(store)
        return lossText.test(message) || message === 'committed'
      })
      expect(message).toMatch(lossText)
      expect(await commitNew(store)).toMatch(lossText)
      await until(async () => seen.losses === losses)
      expect(await server.command('DBSIZE')).toBe(before)
      await store.losses?.resume()
      expect(await commitNew(store)).toBe('committed')
      expect(await commitNew(store)).toBe('committed')
      expect(seen.losses).toBe(losses)
    }
    // To a store that was opened since it is no loss.
    const { store: next, seen: nextSeen } = await watched(proxy.url, marks)
    expect(await commitNew(next)).toBe('committed')
    expect(nextSeen.losses).toBe(0)
  })

  it('is one that comes back with what it had executed and not answered', async () => {
    const master = await redis()
    const replica = await redis({ replicaof: `127.0.0.1 ${master.port}` })
    await inStep(replica)
    const proxy = await startTcpProxy(master.port, randomFrom(1))
    endings.push(proxy.dispose)
    const { store, seen } = await watched(proxy.url)
    await commits(store)
    await caughtUp(master, replica)
    await replica.command('REPLICAOF', 'NO', 'ONE')
    // The master counts it, and its writer does not know.
    proxy.setFaults({ delayReply: 1, maxDelayMs: 600_000 })
    const before = Number(await master.command('DBSIZE'))
    expect(await commitNew(store)).toMatch(/timed out|closed/)
    expect(await master.command('DBSIZE')).toBeGreaterThan(before)
    proxy.setFaults({})
    proxy.moveTo(replica.port)
    await commits(store)
    expect(seen.losses).toBe(0)
    proxy.moveTo(master.port)
    await until(async () => seen.losses > 0)
    expect(await commitNew(store)).toMatch(lossText)
  })

  it('is found by another engine of the process, which can read it to start', async () => {
    const server = await redis()
    const { store, marks } = await watched(server.url)
    expect((await claimStore(store, { eventRetentionDays: 45 })).problem).toBe('')
    await server.command('SAVE')
    await commits(store)
    await store.close()
    // What was saved is there, and nothing since.
    await server.kill()
    await server.restart()
    const options = { urls: [server.url], cluster: false, nowMs: Date.now, marks }
    const next = await openRedisStore(options)
    endings.push(next.close)
    expect((await claimStore(next, { eventRetentionDays: 45 })).problem).toBe('')
    expect(await commitNew(next)).toMatch(lossText)
    let losses = 0
    next.losses?.watch({ onLoss: () => losses++, onCheckpoint() {}, onKept() {} })
    await until(async () => losses === 1)
    await next.losses?.resume()
    expect(await commitNew(next)).toBe('committed')
  })

  it('is one that started with less; one that started with all of it is not', async () => {
    const server = await redis({ appendonly: 'yes', appendfsync: 'always' })
    const { store, seen } = await watched(server.url)
    await commits(store)
    await server.kill()
    await server.restart()
    await commits(store)
    const before = seen.checkpoints
    await until(async () => seen.checkpoints > before + 1)
    expect(seen.losses).toBe(0)
  })

  it('is not served at all when its store is gone, or is another, until it is back', {
    timeout: 20_000,
  }, async () => {
    const server = await redis()
    const { store, seen, marks } = await watched(server.url)
    const problems: string[] = []
    store.onProblem?.((problem) => problems.push(problem))
    await commits(store)
    await server.command('SAVE')
    await commits(store)
    await server.command('FLUSHALL')
    await until(async () => problems.length > 0)
    expect(problems).toEqual([expect.stringContaining('Redis has lost this store')])
    expect(await commitNew(store)).toBe(problems[0])
    await expect(store.load([{ aggregate: 'new-0', group: '', id: '' }])).rejects.toThrow(
      problems[0],
    )

    const place = { urls: [server.url], cluster: false, nowMs: Date.now }
    const expected = { ...place, marks, expectedName: store.file! }
    await expect(openRedisStore(expected)).rejects.toThrow(problems[0])
    expect(await server.command('DBSIZE')).toBe(0)
    const another = await openRedisStore(place)
    endings.push(another.close)
    expect(another.file).not.toBe(store.file)
    await expect(openRedisStore(expected)).rejects.toThrow(problems[0])
    await store.losses!.look()
    expect(await commitNew(store)).toBe(problems[0])
    expect(seen.losses).toBe(0)

    // What was saved before is there, and nothing since.
    await server.kill()
    await server.restart()
    await until(async () => seen.losses === 1)
    expect(problems).toEqual([problems[0], ''])
    await store.losses!.resume()
    expect(await commitNew(store)).toBe('committed')
    const again = await openRedisStore(expected)
    endings.push(again.close)
    expect(again.file).toBe(store.file)
  })

  it('is told of again until it can be resumed', { timeout: 20_000 }, async () => {
    const server = await redis()
    const { store, seen } = await watched(server.url)
    await server.command('SAVE')
    await commits(store)
    await server.kill()
    await server.restart()
    await until(async () => seen.losses > 0)
    await server.kill()
    await expect(store.losses?.resume()).rejects.toThrow()
    await server.restart()
    await until(async () => seen.losses > 1)
    await until(async () =>
      store.losses!.resume().then(
        () => true,
        () => false,
      ),
    )
    await commits(store)
  })
})

describe.concurrent('marks', () => {
  it('go with a writer that is gone, and are not kept for one that tells nobody', async () => {
    const server = await redis()
    const keys = createRedisKeys('', 16)
    const { store } = await watched(server.url)
    await commits(store)
    const lifeMs = Number(await server.command('PTTL', keys.mark(0, 'w1')))
    expect(lifeMs).toBeGreaterThan(80_000_000)
    expect(lifeMs).toBeLessThanOrEqual(86_400_000)
    const plain = await openRedisStore({ urls: [server.url], cluster: false, nowMs: Date.now })
    endings.push(plain.close)
    expect(plain.losses).toBeUndefined()
    await commits(plain)
    expect(await server.command('KEYS', '{p??}w*')).toEqual([keys.mark(0, 'w1')])
    // A copy has none: they are of this server.
    const pages = []
    for await (const page of store.scan()) pages.push(...page)
    expect(JSON.stringify(pages)).not.toContain('w1')
  })

  it('are kept for a writer that is there and commits nothing', async () => {
    const server = await redis()
    const mark = createRedisKeys('', 16).mark(0, 'w1')
    const { store } = await watched(server.url)
    await commits(store)
    await server.command('PEXPIRE', mark, '60000')
    // As many looks as are made in an hour.
    for (let i = 0; i < 3_600; i++) await store.losses!.look()
    await until(async () => Number(await server.command('PTTL', mark)) > 80_000_000)
  })

  it('are confirmed once the replicas have caught up, and not by a master they have left', {
    timeout: 30_000,
  }, async () => {
    const master = await redis({ 'repl-timeout': '2' })
    const alone = await watched(master.url)
    await until(async () => alone.seen.kept > 0)
    const replica = await redis({ replicaof: `127.0.0.1 ${master.port}` })
    await inStep(replica)
    // A master counts a replica once it has heard of it, which is a little after the replica is in step.
    await until(async () => {
      const info = String(await master.command('INFO', 'replication'))
      return /state=online,offset=[1-9]/.test(info)
    })
    const { store, seen } = await watched(master.url, newMarks('w2'))
    await commits(store)
    await until(async () => seen.kept > 1)
    replica.pause()
    await commits(store)
    const { checkpoints } = seen
    await until(async () => seen.checkpoints > checkpoints + 3)
    // The master gives the replica up, too.
    await until(async () =>
      String(await master.command('INFO', 'replication')).includes('connected_slaves:0'),
    )
    await sleep(1_100)
    expect(seen.kept).toBeLessThanOrEqual(checkpoints)
    replica.resume()
    await until(async () => seen.kept > checkpoints)
  })
})

describe.concurrent('a node of a cluster that comes back with less', () => {
  it('is held back, and the others go on', { timeout: 30_000 }, async () => {
    const cluster = await startRedisCluster(3, { 'cluster-require-full-coverage': 'no' })
    endings.push(cluster.dispose)
    const { store, seen } = await watched(cluster.urls)
    const all = () => Array.from({ length: 60 }, () => commandOf({ aggregate: `c-${names++}` }))
    expect(new Set(await store.commit(all()))).toEqual(new Set(['committed']))
    await cluster.masters[0]!.command('SAVE')
    expect(new Set(await store.commit(all()))).toEqual(new Set(['committed']))
    await cluster.masters[0]!.kill()
    await cluster.masters[0]!.restart()
    await until(async () => seen.losses > 0)
    const error = await store.commit(all()).catch((error) => error)
    const count = (wanted: string) =>
      error.outcomes.filter((outcome: string) => outcome === wanted).length
    expect(count('refused')).toBeGreaterThan(5)
    expect(count('committed')).toBeGreaterThan(20)
    await until(async () => {
      await store.losses?.resume().catch(() => {})
      return store.commit(all()).then(
        () => true,
        () => false,
      )
    })
  })
})

describe('a loss beside another that is being booked again', () => {
  it('is told of by itself where more was acknowledged meanwhile, which is in no earlier answer', async () => {
    const keys = createRedisKeys('', 3)
    const marks: Record<string, string> = { [keys.mark(2, 'w1')]: '1' }
    const keeper = createMarkKeeper({
      marks: newMarks('w1'),
      connection: { isCluster: true, onConnected: () => {} } as unknown as RedisConnection,
      keys,
      callFunction: async (name, [key = ''], [mark = '']) => {
        if (name === 'remark') marks[key] = mark
        return [marks[key] ?? '0', role]
      },
      identity: { isThere: async () => true },
    })
    let role = 'role:slave'
    let losses = 0
    const onLoss = () => void losses++
    keeper.watch({ onLoss, onCheckpoint() {}, onKept() {} })
    await keeper.look()
    const lost = () => [0, 1, 2].filter(keeper.isLost)
    keeper.acknowledge(0, 1)
    keeper.acknowledge(2, 1)
    await keeper.look()
    // Others have taken the place of one that is a replica now.
    expect([losses, lost()]).toEqual([0, []])
    role = 'role:master'
    await keeper.look()
    expect([losses, lost()]).toEqual([1, [0]])
    marks[keys.mark(2, 'w1')] = '0'
    keeper.acknowledge(1, 1)
    await keeper.look()
    expect([losses, lost()]).toEqual([1, [0, 1, 2]])
    await keeper.resume()
    expect(lost()).toEqual([1])
    await keeper.look()
    await keeper.resume()
    // A commit of before is answered.
    keeper.noteLoss(0, 1)
    expect([losses, lost()]).toEqual([2, []])
    keeper.stop()
  })
})

describe('looks that replicas have not caught up with', () => {
  async function keptAfter(looks: number): Promise<readonly number[]> {
    let [offset, replica] = [0, 0]
    const kept: number[] = []
    const keeper = createMarkKeeper({
      marks: newMarks('w1'),
      connection: { isCluster: false, onConnected: () => {} } as unknown as RedisConnection,
      keys: createRedisKeys('', 1),
      callFunction: async () => {
        const replicas = `slave0:ip=127.0.0.1,port=1,state=online,offset=${replica},lag=0`
        return ['0', `role:master\nmaster_replid:m\nmaster_repl_offset:${++offset}\n${replicas}`]
      },
      identity: { isThere: async () => true },
    })
    keeper.watch({
      onLoss() {},
      onCheckpoint() {},
      onKept: (number) => void kept.push(number),
    })
    for (let i = 0; i < looks; i++) await keeper.look()
    replica = 1
    await keeper.look()
    keeper.stop()
    return kept
  }

  it('are 60 at most: of more the oldest confirms nothing', async () => {
    expect(await keptAfter(59)).toEqual([1])
    expect(await keptAfter(60)).toEqual([])
  })
})
