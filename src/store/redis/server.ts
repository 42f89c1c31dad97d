import { randomUUID } from 'node:crypto'
import { StoreRefused } from '../port.ts'
import type { RedisConnection } from './client.ts'
import type { RedisKeys } from './keys.ts'
import type { CallFunction } from './library.ts'
import { isNamed, readMetaFields, readNames, storeGone } from './store-identity.ts'

const format = '1'
const settledMs = 60_000

export interface ServerChecks {
  readonly connection: RedisConnection
  readonly keys: RedisKeys
  readonly callFunction: CallFunction
  /** What the store is named, when it was open before: no other is taken, and none is made. */
  readonly expectedName: string
  readonly nowMs: () => number
}

/**
 * Refuses a server that would lose or half-write what it is given; makes the store when there is none. Resolves to
 * the store's name, which no other has.
 */
export async function claimServer(checks: ServerChecks): Promise<string> {
  const { connection, keys, callFunction, expectedName } = checks
  for (const info of await connection.sendToMasters('INFO', ['memory', 'cluster'])) {
    checkServer(String(info), connection.isCluster)
  }
  const samples = [keys.meta, keys.index(0, 'x'), keys.log(0)]
  const denied = (await callFunction('denied', samples, [])) as string[]
  if (denied.length > 0) {
    throw new StoreRefused(
      `the user of REDIS_URL may not run ${denied.join(', ')} on all keys: give it the right`,
    )
  }
  const names = await readNames(connection, keys)
  // Where others have a name, the one that lacks all of it has lost it.
  const expected = expectedName || (names.find((found) => found !== null) ?? '')
  const newName = expected === '' ? randomUUID() : ''
  const fixed = [format, String(keys.partitions), newName]
  // What is there is only read, also where nothing can be written now; a key that is no hash is told by the claim.
  const found = await readMetaFields(connection, keys).catch(() => [null])
  const isWhole = found.every((field) => field !== null)
  const claimed = isWhole
    ? found
    : ((await callFunction('claim', [keys.meta], fixed)) as (string | null)[])
  const [foundFormat, partitions, name] = claimed
  if (expected !== '' && !isNamed(claimed, expected)) throw new StoreRefused(storeGone)
  if (foundFormat !== format) {
    throw new StoreRefused(
      `the store in Redis has format ${foundFormat} and this version of Arbiter reads ${format}: ` +
        'start the version that made it, or name another Redis',
    )
  }
  if (partitions !== String(keys.partitions)) {
    throw new StoreRefused(
      `the store in Redis was made with ${partitions} partitions, which cannot change, and would be ` +
        `opened with ${keys.partitions}: open it with ${partitions}, or name another Redis`,
    )
  }
  await claimPartitions(checks, names, name ?? expected)
  return name ?? expected
}

/**
 * A minute after all of a cluster were named, none is named again: a server that lacks the name lacks all that it
 * held. Not before, because a failover may lose what was named a moment ago.
 */
async function claimPartitions(
  { connection, keys, callFunction, expectedName, nowMs }: ServerChecks,
  names: readonly (string | null)[],
  name: string,
): Promise<void> {
  if (names.length === 0) return
  const namedAtMs = await connection.send(keys.meta, 'HGET', [keys.meta, 'named'])
  if (!names.every((found) => found === name)) {
    const isSettled = namedAtMs !== null && nowMs() - Number(namedAtMs) > settledMs
    const isOther = names.some((found) => found !== null && found !== name)
    if (isSettled || expectedName !== '' || isOther) throw new StoreRefused(storeGone)
    const fixed = [format, String(keys.partitions), name]
    await Promise.all(keys.names.map((key) => callFunction('claim', [key], fixed)))
  }
  if (namedAtMs !== null) return
  await connection.send(keys.meta, 'HSET', [keys.meta, 'named', String(nowMs())])
}

function checkServer(info: string, isCluster: boolean): void {
  const settingOf = (name: string) => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1] ?? ''
  if (!isCluster && settingOf('cluster_enabled') === '1') {
    throw new StoreRefused('REDIS_URL names a node of a cluster: set REDIS_CLUSTER=true')
  }
  const policy = settingOf('maxmemory_policy')
  if (settingOf('maxmemory') !== '0' && policy !== '' && policy !== 'noeviction') {
    throw new StoreRefused(
      `Redis may drop records when its memory is full (maxmemory-policy ${policy}), and with them ` +
        'holds and events: set maxmemory-policy noeviction',
    )
  }
}
