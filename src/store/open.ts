import { join } from 'node:path'
import { openLmdbStore } from './lmdb.ts'
import { type Store, StoreRefused } from './port.ts'

export interface StorePlace {
  readonly redis: { readonly urls: readonly string[]; readonly cluster: boolean } | null
  readonly dataDir: string
}

/** Opens the store that the configuration names. */
export function openStore({ redis, dataDir }: StorePlace, nowMs: () => number): Promise<Store> {
  if (redis !== null) {
    throw new StoreRefused(
      'state in Redis is not built yet: unset REDIS_URL to keep it in DATA_DIR',
    )
  }
  return openLmdbStore({ folder: join(dataDir, 'store'), nowMs })
}
