import type { RedisConnection } from './client.ts'
import { boundsOfPrefix, type RedisKeys } from './keys.ts'

/** How many entries of an index, in all partitions, have a sort key that begins so. */
export async function countIndex(
  connection: RedisConnection,
  keys: RedisKeys,
  index: string,
  prefix: string,
): Promise<number> {
  const counts = Array.from({ length: keys.partitions }, (_, partition) => {
    const key = keys.index(partition, index)
    return connection.send(key, 'ZLEXCOUNT', [key, ...boundsOfPrefix(prefix)])
  })
  return (await Promise.all(counts)).reduce<number>((sum, found) => sum + Number(found), 0)
}
