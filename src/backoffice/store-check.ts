import { decodeEntry } from '../engine/format/entry-codec.ts'
import {
  blocksAggregate,
  indexes,
  memoriesAggregate,
  metaAggregate,
  organizationsAggregate,
  trippedAggregate,
} from '../engine/format/layout.ts'
import { messageOf, nameOfDamage, rootOf } from '../engine/quarantine/damage.ts'
import { rowGroup } from '../projection/row-place.ts'
import {
  type ChildRecord,
  type IndexRecord,
  type Key,
  type RootRecord,
  type Store,
  type StoreRecord,
  StoreRefused,
} from '../store/port.ts'
import { indexKindOf } from './index-kind.ts'
import { readRecord } from './record-kind.ts'

/** A record that cannot be read. */
export interface FoundDamage {
  readonly name: string
  readonly problem: string
  /** What to give to `arbiter repair`; '' where it does not help. */
  readonly repair: string
}

const noProblem = ''

/** Reads everything that the store holds, and tells what this release cannot read. */
export async function* findDamage(
  store: Store,
  onProgress: (records: number) => void,
): AsyncGenerator<FoundDamage> {
  const lostCards = new Set<string>()
  let records = 0
  for await (const page of store.scan()) {
    for (const record of page) {
      const found = look(record)
      if (found === null) continue
      if (record.kind === 'child' && record.group === 'd') lostCards.add(record.id)
      else yield found
    }
    records += page.length
    onProgress(records)
  }
  if (lostCards.size > 0) yield* findPlaces(store, lostCards)
}

/** Which accounts the cards belong to that the directory has lost: the list of all cards says so, too. */
async function* findPlaces(store: Store, lost: Set<string>): AsyncGenerator<FoundDamage> {
  const problem = 'it names no account'
  for (let after = ''; ; ) {
    const entries = await store.range(indexes.cards, after, 1_000)
    for (const { sortKey, value } of entries) {
      if (lost.delete(sortKey)) yield { name: `place of card ${sortKey}`, problem, repair: value }
    }
    if (entries.length < 1_000) break
    after = entries.at(-1)!.sortKey
  }
  for (const cardId of lost) yield { name: `place of card ${cardId}`, problem, repair: '' }
}

function look(record: StoreRecord): FoundDamage | null {
  if (record.kind === 'log') {
    const problem = problemIn(() => decodeEntry(record.entry))
    return told(`log entry written at ${timeText(record.writtenMicros / 1_000)}`, problem, '')
  }
  if (record.kind === 'index') return lookAtIndex(record)
  const key = keyOf(record)
  const problem = problemIn(() => readRecord(key, record.value))
  return told(nameOf(key), problem, repairOf(key))
}

function keyOf(record: RootRecord | ChildRecord): Key {
  return record.kind === 'root' ? { aggregate: record.aggregate, ...rootOf } : record
}

function nameOf(key: Key): string {
  if (key.group.startsWith(rowGroup)) return `row ${key.id.replaceAll('\n', ' ')}`
  return nameOfDamage({ aggregate: key.aggregate, key, problem: '' })
}

const repairable = [
  blocksAggregate,
  trippedAggregate,
  memoriesAggregate,
  metaAggregate,
  organizationsAggregate,
]

/** What is rebuilt from the log, or set anew; for all else there is a backup. */
function repairOf({ aggregate, group }: Key): string {
  const isShared = group === '' && repairable.includes(aggregate)
  if (isShared || aggregate.startsWith('u:')) return `--record ${aggregate}`
  const ofAccount = aggregate.startsWith('a:') && /^(?:|c|cm|cs|t|e@.*)$/.test(group)
  return ofAccount ? aggregate.slice(2) : ''
}

/** The key of a damaged entry may be damaged, too. */
function timeText(ms: number): string {
  return Number.isNaN(new Date(ms).valueOf()) ? 'no time' : new Date(ms).toISOString()
}

function lookAtIndex(record: IndexRecord): FoundDamage | null {
  const { index, sortKey } = record
  const kind = indexKindOf(index)
  const problem =
    kind === null
      ? 'it is of an index that this release does not know'
      : problemIn(() => kind.check(record))
  return told(`index ${index}, entry ${sortKey.replaceAll('\n', ' ')}`, problem, '')
}

function problemIn(read: () => unknown): string {
  try {
    read()
    return noProblem
  } catch (error) {
    return error instanceof StoreRefused ? error.message : messageOf(error)
  }
}

function told(name: string, problem: string, repair: string): FoundDamage | null {
  return problem === noProblem ? null : { name, problem, repair }
}
