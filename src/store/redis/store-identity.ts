import type { RedisConnection } from './client.ts'
import type { RedisKeys } from './keys.ts'

/** Which store it is that was opened, and whether it is still there. */
export interface StoreIdentity {
  /** No other store has it; '' before it is known. */
  name: string
  /** Why the store cannot be used; '' while it can. */
  readonly problem: string
  /** Looks now. Rejects when nobody knows. */
  isThere(): Promise<boolean>
  onProblem(listener: (problem: string) => void): void
}

/** For a store that is not there any more, or not the one that it was. */
export const storeGone =
  'Redis has lost this store, or a part of it, or has another: it was flushed, or started without its data. ' +
  'Bring its data back, or restore a backup and start all servers again'

const fields = ['format', 'partitions', 'name']

export async function readMetaFields(
  { send }: RedisConnection,
  { meta }: RedisKeys,
): Promise<(string | null)[]> {
  return (await send(meta, 'HMGET', [meta, ...fields])) as (string | null)[]
}

/** `meta` as the fields above. A store that was made before stores had names may lack its own on a replica. */
export function isNamed(meta: readonly (string | null)[], expected: string): boolean {
  const [format, , name] = meta
  return format !== null && (name ?? expected) === expected
}

/** What the other partitions of a cluster say: any of its servers may be flushed alone. */
export function readNames(connection: RedisConnection, keys: RedisKeys): Promise<Name[]> {
  return Promise.all(namesOf(connection, keys))
}

type Name = string | null

function namesOf({ isCluster, send }: RedisConnection, { names }: RedisKeys): Promise<Name>[] {
  return isCluster ? names.map((key) => send(key, 'HGET', [key, 'name']) as Promise<Name>) : []
}

export function createStoreIdentity(connection: RedisConnection, keys: RedisKeys): StoreIdentity {
  let problem = ''
  let tell: (problem: string) => void = () => {}
  return {
    name: '',
    get problem() {
      return problem
    },
    async isThere() {
      const meta = await readMetaFields(connection, keys)
      const names = await Promise.allSettled(namesOf(connection, keys))
      // What cannot be asked now may be there.
      const isWhole = names.every((one) => one.status === 'rejected' || one.value === this.name)
      const found = isWhole && isNamed(meta, this.name) ? '' : storeGone
      const isChange = found !== problem
      problem = found
      if (isChange) tell(problem)
      return problem === ''
    },
    onProblem(listener) {
      tell = listener
    },
  }
}
