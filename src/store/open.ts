import { join } from 'node:path'
import { openLmdbStore } from './lmdb.ts'
import type { Store } from './port.ts'
import { openRedisStore } from './redis.ts'
import type { Durability } from './redis-durability.ts'

export interface RedisAddress {
  readonly urls: readonly string[]
  readonly cluster: boolean
}

export interface StorePlace {
  readonly redis: (RedisAddress & Partial<Durability>) | null
  readonly dataDir: string
}

/** Where the embedded store lies. */
export function storeFolder(dataDir: string): string {
  return join(dataDir, 'store')
}

/**
 * Opens the store that the configuration names. Who serves gives `onWarning`: Redis is then asked whether
 * it keeps what it acknowledges.
 */
export function openStore(
  { redis, dataDir }: StorePlace,
  nowMs: () => number,
  onWarning?: (message: string) => void,
): Promise<Store> {
  if (redis === null) return openLmdbStore({ folder: storeFolder(dataDir), nowMs })
  const { urls, cluster, durability = 'fsync', durabilityStrict = false } = redis
  if (onWarning === undefined) return openRedisStore({ urls, cluster, nowMs })
  const wanted = { durability, durabilityStrict }
  return openRedisStore({ urls, cluster, nowMs, durability: wanted, onWarning })
}
