import type { IndexEntry, Store } from '../port.ts'
import type { RedisConnection } from './client.ts'
import { boundAfter, boundsOfPrefix, compareBytes, type RedisKeys, splitMember } from './keys.ts'
import { mergeSources } from './pages.ts'

/** What becomes of a partition that does not answer. */
type Heed = (found: Promise<IndexEntry[]>) => Promise<IndexEntry[]>

/** An index of all partitions as one. */
export function createIndexReader(
  connection: RedisConnection,
  keys: RedisKeys,
  read: <T>(reading: () => Promise<T>) => Promise<T>,
): Pick<Required<Store>, 'range' | 'rangeReachable' | 'count'> {
  function entries(index: string, after: string, limit: number, heed: Heed): Promise<IndexEntry[]> {
    async function ask(partition: number, last: IndexEntry | undefined, count: number) {
      const key = keys.index(partition, index)
      const from = boundAfter(last?.sortKey ?? after)
      const args = [key, from, '+', 'BYLEX', 'LIMIT', '0', String(count)]
      return ((await connection.send(key, 'ZRANGE', args)) as string[]).map(splitMember)
    }
    return mergeSources<IndexEntry>(
      keys.partitions,
      limit,
      (partition, last, count) => heed(ask(partition, last, count)),
      (a, b) => compareBytes(a.sortKey, b.sortKey),
    )
  }

  return {
    range: (index, after, limit) => read(() => entries(index, after, limit, (found) => found)),
    async rangeReachable(index, after, limit) {
      let unread = 0
      const heed: Heed = (found) =>
        found.catch(() => {
          unread++
          return []
        })
      return { entries: await read(() => entries(index, after, limit, heed)), unread }
    },
    async count(index, prefix) {
      const ask = (_: unknown, partition: number) => {
        const key = keys.index(partition, index)
        return connection.send(key, 'ZLEXCOUNT', [key, ...boundsOfPrefix(prefix)])
      }
      const found = await read(() => Promise.all(Array.from({ length: keys.partitions }, ask)))
      return found.reduce<number>((sum, one) => sum + Number(one), 0)
    },
  }
}
