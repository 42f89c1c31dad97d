import { Command as RedisCommand } from 'ioredis'
import { afterAll, expect, it } from 'vitest'
import { newMarks } from '../../../src/engine/memory/recall.ts'
import type { Store } from '../../../src/store/port.ts'
import { createRedisKeys } from '../../../src/store/redis/keys.ts'
import { openRedisStore } from '../../../src/store/redis/redis.ts'
import { type RedisCluster, startRedisCluster } from '../../support/redis-server.ts'
import { until } from '../../support/server.ts'
import { commandOf } from '../conformance.ts'

const keys = createRedisKeys('', 16)
const masters = 3
const endings: (() => Promise<void> | void)[] = []
afterAll(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

const nodeOf = (key: string) => {
  const slot = new RedisCommand('get', [key]).getSlot()
  return Math.floor(slot / Math.ceil(16_384 / masters))
}
const other = [0, 1, 2].find((node) => node !== nodeOf(keys.meta))!
const aggregateAt = (node: number) =>
  Array.from({ length: 100 }, (_, i) => `a${i}`).find(
    (one) => nodeOf(keys.aggregate(one)) === node,
  )!

async function startCluster(): Promise<RedisCluster> {
  const cluster = await startRedisCluster(masters)
  endings.push(cluster.dispose)
  return cluster
}

/** As a server opens it, and not as the command line does. */
async function open({ urls }: RedisCluster): Promise<Store> {
  const store = await openRedisStore({
    ...{ urls, cluster: true, nowMs: Date.now, commitTimeoutMs: 2_000 },
    marks: newMarks('w1'),
  })
  endings.push(store.close)
  store.losses?.watch({ onLoss() {}, onCheckpoint() {}, onKept() {} })
  return store
}

const gone = 'Redis has lost this store, or a part of it'

it('a cluster of which one server was flushed is no store, also for who has written nothing there', async () => {
  const cluster = await startCluster()
  const aggregate = aggregateAt(other)
  const first = await open(cluster)
  expect(await first.commit([commandOf({ aggregate })])).toEqual(['committed'])
  await first.close()
  const store = await open(cluster)
  const load = () =>
    store.load([{ aggregate, group: '', id: '' }]).then(
      ([found]) => found !== undefined,
      (error: Error) => error.message,
    )
  expect(await load()).toBe(true)
  const node = cluster.masters[other]!
  await node.command('SAVE')
  await node.command('FLUSHALL')
  await until(async () => String(await load()).includes(gone), 10)
  const meta = cluster.masters[nodeOf(keys.meta)]!
  await meta.command('HSET', keys.meta, 'named', String(Date.now() - 61_000))
  await expect(open(cluster)).rejects.toThrow(gone)

  await node.kill()
  await node.restart()
  await until(async () => (await load()) === true, 20)
  await (await open(cluster)).close()
})

it('a cluster whose first server was flushed is not made anew', async () => {
  const cluster = await startCluster()
  await (await open(cluster)).close()
  const first = cluster.masters[nodeOf(keys.meta)]!
  await first.command('FLUSHALL')
  await expect(open(cluster)).rejects.toThrow(gone)
  expect(await first.command('KEYS', '*')).toEqual([])
})

it('a cluster of a release that named the store once is named everywhere; a minute later no server is named again', async () => {
  const cluster = await startCluster()
  await (await open(cluster)).close()
  const meta = cluster.masters[nodeOf(keys.meta)]!
  for (const node of cluster.masters) {
    const names = (await node.command('KEYS', '*m')) as string[]
    for (const name of names) if (name !== keys.meta) await node.command('DEL', name)
  }
  await meta.command('HDEL', keys.meta, 'named')
  await (await open(cluster)).close()
  // As a failover right after the naming does.
  const flushed = cluster.masters[other]!
  await flushed.command('FLUSHALL')
  await (await open(cluster)).close()
  expect(await flushed.command('KEYS', '*m')).not.toEqual([])

  await meta.command('HSET', keys.meta, 'named', String(Date.now() - 61_000))
  await (await open(cluster)).close()
  await flushed.command('FLUSHALL')
  await expect(open(cluster)).rejects.toThrow(gone)
})
