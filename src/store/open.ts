import { join } from 'node:path'
import { openLmdbStore } from './lmdb.ts'
import type { Store } from './port.ts'
import { openRedisStore } from './redis.ts'

export interface StorePlace {
  readonly redis: { readonly urls: readonly string[]; readonly cluster: boolean } | null
  readonly dataDir: string
}

/** Where the embedded store lies. */
export function storeFolder(dataDir: string): string {
  return join(dataDir, 'store')
}

/** Opens the store that the configuration names. */
export function openStore({ redis, dataDir }: StorePlace, nowMs: () => number): Promise<Store> {
  if (redis !== null) return openRedisStore({ ...redis, nowMs })
  return openLmdbStore({ folder: storeFolder(dataDir), nowMs })
}
