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
