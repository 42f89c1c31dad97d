import { dayMs } from '../../clock.ts'
import { lastDayOf } from '../dated-group.ts'
import { failureText } from '../failure-text.ts'
import { type OwnedRecord, StoreError, type StoreRecord } from '../port.ts'
import type { RedisConnection } from './client.ts'
import { decodeRoot } from './commands.ts'

import {
  boundAfter,
  fieldOf,
  lifeMsOf,
  type ParsedKey,
  type RedisKeys,
  rootField,
  sortedMember,
  splitMember,
} from './keys.ts'
import { idOfMicros, type LogClock, type PlacedLine } from './log.ts'

export interface CopyContext {
  readonly connection: RedisConnection
  readonly keys: RedisKeys
  readonly nowMs: () => number
}

const fieldsPerPage = 1_000
const linesPerPage = 1_000
const pairsPerPut = 500

/**
 * All keys of the store, found by SCAN on each master, then the log. SCAN may name a key twice while
 * Redis shrinks its table, so the names that were seen are kept: about 100 bytes for each key.
 */
export async function* scanServers(
  { connection, keys, nowMs }: CopyContext,
  readLines: (after: PlacedLine | undefined, limit: number) => Promise<PlacedLine[]>,
): AsyncGenerator<readonly StoreRecord[]> {
  const seen = Array.from({ length: keys.partitions }, () => new Set<string>())
  let isAnother = false
  connection.onConnected(() => {
    isAnother = true
  })
  for await (const names of connection.scanKeys(keys.pattern)) {
    const found: ParsedKey[] = []
    for (const name of names) {
      const key = keys.parse(name)
      if (key === undefined || seen[key.partition]?.has(name)) continue
      seen[key.partition]?.add(name)
      found.push(key)
    }
    const today = Math.floor(nowMs() / dayMs)
    const hashes = found.filter((key) => key.kind === 'hash' && lastDayOf(key.group) >= today)
    yield (await Promise.all(hashes.map((key) => readHash(connection, key)))).flat()
    for (const key of found) if (key.kind === 'index') yield* readIndex(connection, key)
    // A place in one server's keys is none in those of another, nor of the same one after a start.
    if (isAnother) throw new StoreError('Redis was connected anew while it was read: repeat', 'no')
  }
  for (let last: PlacedLine | undefined; ; ) {
    const lines = await readLines(last, linesPerPage)
    if (lines.length === 0) return
    last = lines.at(-1)
    yield lines.map(({ ms, sequence, entry }) => {
      return { kind: 'log', writtenMicros: ms * 1_000 + sequence, entry }
    })
  }
}

async function readHash(connection: RedisConnection, key: ParsedKey): Promise<StoreRecord[]> {
  const fields = new Map<string, string>()
  let cursor = '0'
  do {
    const args = [key.name, cursor, 'COUNT', String(fieldsPerPage)]
    const reply = await connection.send(key.name, 'HSCAN', args).catch(wrongType)
    // A record that nobody can read is copied as one.
    if (reply === null) return [toRecord(key, rootField, '')]
    const [next, pairs] = reply as [string, string[]]
    for (let i = 0; i < pairs.length; i += 2) fields.set(pairs[i] ?? '', pairs[i + 1] ?? '')
    cursor = next
  } while (cursor !== '0')
  return Array.from(fields, ([field, value]) => toRecord(key, field, value))
}

/** null when the key holds another type of value. */
function wrongType(error: unknown): null {
  if (/WRONGTYPE/.test(failureText(error))) return null
  throw error
}

function toRecord({ aggregate, group }: ParsedKey, field: string, value: string): StoreRecord {
  if (group !== '') return { kind: 'child', aggregate, group, id: field, value }
  if (field === rootField) return { kind: 'root', aggregate, ...decodeRoot(value) }
  // What others have put there has no id.
  const [named = '', ...id] = field.split('\0')
  return { kind: 'child', aggregate, group: named, id: id.join('\0'), value }
}

async function* readIndex(
  connection: RedisConnection,
  { name, index }: ParsedKey,
): AsyncGenerator<StoreRecord[]> {
  let from = boundAfter('')
  for (;;) {
    const args = [name, from, '+', 'BYLEX', 'LIMIT', '0', String(fieldsPerPage)]
    const members = (await connection.send(name, 'ZRANGE', args)) as string[]
    if (members.length > 0) {
      yield members.map((member) => ({ kind: 'index', index, ...splitMember(member) }))
    }
    if (members.length < fieldsPerPage) return
    from = `(${members.at(-1)}`
  }
}

/** Log entries keep their time; one that would not come after the one before it comes right behind. */
export function createFiller({ connection, keys, nowMs }: CopyContext, clock: LogClock) {
  let lastMicros = 0

  function logId(micros: number): string {
    lastMicros = Math.max(lastMicros + 1, micros)
    clock.observe(Math.floor(lastMicros / 1_000), lastMicros % 1_000)
    return idOfMicros(lastMicros)
  }

  return async function fill(records: readonly OwnedRecord[]): Promise<void> {
    const hashes = new Map<string, { readonly pairs: string[]; readonly lifeMs?: number }>()
    const sending: Promise<unknown>[] = []
    const put = (aggregate: string, group: string, field: string, value: string) => {
      const name = keys.group(aggregate, group)
      const lifeMs = lifeMsOf(group, nowMs())
      // Its day has passed: it would be dropped as soon as it was there.
      if (lifeMs !== undefined && lifeMs <= 0) return
      const hash = hashes.get(name) ?? { pairs: [], ...(lifeMs === undefined ? {} : { lifeMs }) }
      hash.pairs.push(field, value)
      hashes.set(name, hash)
    }
    for (const record of records) {
      const { aggregate } = record
      if (record.kind === 'root') {
        put(aggregate, '', rootField, `${record.version}\n${record.value}`)
      } else if (record.kind === 'child') {
        put(aggregate, record.group, fieldOf(record), record.value)
      } else {
        const partition = keys.partitionOf(aggregate)
        if (record.kind === 'index') {
          const name = keys.index(partition, record.index)
          sending.push(connection.send(name, 'ZADD', [name, '0', sortedMember(record)]))
        } else {
          const name = keys.log(partition)
          const id = logId(record.writtenMicros)
          sending.push(connection.send(name, 'XADD', [name, id, 'e', record.entry]))
        }
      }
    }
    for (const [name, { pairs, lifeMs }] of hashes) {
      for (let i = 0; i < pairs.length; i += 2 * pairsPerPut) {
        const part = pairs.slice(i, i + 2 * pairsPerPut)
        sending.push(connection.send(name, 'HSET', [name, ...part]))
      }
      if (lifeMs !== undefined) {
        sending.push(connection.send(name, 'PEXPIRE', [name, String(lifeMs), 'NX']))
      }
    }
    await Promise.all(sending)
  }
}
