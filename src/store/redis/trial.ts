import { StoreError } from '../port.ts'
import type { RedisConnection } from './client.ts'
import { meaningOf, storeErrorOf } from './failures.ts'
import type { RedisKeys } from './keys.ts'
import { type CallFunction, functionName } from './library.ts'

interface Trial {
  readonly connection: RedisConnection
  readonly keys: RedisKeys
  readonly callFunction: CallFunction
  readonly loadLibrary: () => Promise<void>
}

/** Rejects with a StoreError where a commit would be refused now; nothing is written. */
export async function tryCommits(trial: Trial): Promise<void> {
  const { connection, keys, loadLibrary } = trial
  const replies = await connection.askMasters('FCALL', [functionName('trial'), '0', keys.meta])
  for (const { address, problem } of replies) {
    if (problem === undefined) continue
    if (meaningOf(problem) === 'missing') await loadLibrary()
    else throw storeErrorOf(`Redis at ${address} takes no commits`, problem)
  }
  if (connection.isCluster) await tryPartitions(trial)
}

/** A master that is not connected was not asked, and slots that no master serves are nobody's. */
async function tryPartitions({ keys, callFunction }: Trial): Promise<void> {
  try {
    await Promise.all([keys.meta, ...keys.names].map((key) => callFunction('trial', [key], [key])))
  } catch (error) {
    throw storeErrorOf('a part of the cluster takes no commits', error)
  }
}

/** Keys of ours that hold another type of value: somebody else has written them. */
export function createForeignKeys(connection: RedisConnection, keys: RedisKeys) {
  /** A list or a log: what needs it is refused, whatever account it is about. */
  const shared = new Set<string>()
  const logs = new Set(Array.from({ length: keys.partitions }, (_, i) => keys.log(i)))

  async function isForeign(name: string): Promise<boolean> {
    const kind = logs.has(name) ? 'log' : keys.parse(name)?.kind
    if (kind === undefined) return false
    // What was committed beside it is told, whether this is answered or not.
    const type = await connection.send(name, 'TYPE', [name]).catch(() => null)
    if (type === null) return shared.has(name)
    const is = type !== 'none' && type !== { hash: 'hash', index: 'zset', log: 'stream' }[kind]
    if (is && kind !== 'hash') shared.add(name)
    else shared.delete(name)
    return is
  }

  async function told(names: Iterable<string>): Promise<string> {
    const all = [...names]
    const foreign = await Promise.all(all.map(isForeign))
    const [first] = all.filter((_, i) => foreign[i])
    if (first === undefined) return ''
    return `the key ${first} holds another type of value: rename or delete that key in Redis`
  }

  return {
    /** Why a call with these keys was refused. */
    told,
    /** Rejects while a list or a log is known to be another's: commits that do without it would hide that. */
    async check(): Promise<void> {
      const problem = await told(shared)
      if (problem !== '') throw new StoreError(problem, 'no')
    },
  }
}
