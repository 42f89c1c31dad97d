import { statSync } from 'node:fs'
import { join } from 'node:path'
import { type Marks, type Store, StoreRefused } from './port.ts'
import type { Durability } from './redis/durability.ts'

interface RedisAddress {
  readonly urls: readonly string[]
  readonly cluster: boolean
  /** Sentinels that know the address of the master whose name the url has. */
  readonly sentinels?: readonly string[]
}

export interface StorePlace {
  readonly redis: (RedisAddress & Partial<Durability>) | null
  readonly dataDir: string
  /** The file, or name, that the store must have (`Store.file`); '' or absent when any will do. */
  readonly storeFile?: string
}

/** Where the embedded store lies. */
export function storeFolder(dataDir: string): string {
  return join(dataDir, 'store')
}

/**
 * Why a command finds no embedded store in a folder, and what to do; '' when one is there. A folder of another user
 * is not an empty one.
 */
export function whyNoStore(dataDir: string, todo: string): string {
  try {
    statSync(storeFolder(dataDir))
    return ''
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return `there is no store in ${dataDir}: ${todo}`
    return `${dataDir} cannot be looked into (${code}): run this as the user of its server`
  }
}

/** Options of Node can keep its library from being loaded: no start that follows would be another. */
function refuseUnloadable(error: NodeJS.ErrnoException): never {
  const isOption = error.code === 'ERR_DLOPEN_DISABLED' || error instanceof EvalError
  if (!isOption) throw error
  throw new StoreRefused(
    `the embedded store cannot be loaded (${error.message}): look for --no-addons, --permission or ` +
      '--disallow-code-generation-from-strings in NODE_OPTIONS',
  )
}

/**
 * Opens the store that the configuration names. A server gives `serving`: Redis is then asked whether it
 * keeps what it acknowledges, and is watched for losing it.
 */
export async function openStore(
  { redis, dataDir, storeFile = '' }: StorePlace,
  nowMs: () => number,
  serving?: { readonly marks: Marks; readonly onWarning: (message: string) => void },
): Promise<Store> {
  // Each kind of store is loaded on demand, so that a command does not wait for the libraries of the other.
  if (redis === null) {
    const { openLmdbStore } = await import('./lmdb/lmdb.ts').catch(refuseUnloadable)
    const folder = storeFolder(dataDir)
    return openLmdbStore({
      folder,
      nowMs,
      expectedFile: storeFile,
      ...(serving && { onWarning: serving.onWarning }),
    })
  }
  const { openRedisStore } = await import('./redis/redis.ts')
  const { durability = 'fsync', durabilityStrict = false, ...address } = redis
  if (serving === undefined) return openRedisStore({ ...address, nowMs })
  const wanted = { durability, durabilityStrict }
  return openRedisStore({
    ...address,
    nowMs,
    durability: wanted,
    expectedName: storeFile,
    ...serving,
  })
}

/** Ends with the store closed where the work fails: left open it would keep its thread, which then would not start again. */
export async function closingOnFailure<T>(
  store: Pick<Store, 'close'>,
  work: Promise<T>,
): Promise<T> {
  try {
    return await work
  } catch (error) {
    // Why it cannot be closed says less than why the work failed.
    await store.close().catch(() => {})
    throw error
  }
}
