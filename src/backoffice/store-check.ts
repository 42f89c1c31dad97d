import { decodeEntry } from '../engine/format/entry-codec.ts'
import {
  blocksAggregate,
  indexes,
  memoriesAggregate,
  metaAggregate,
  organizationsAggregate,
  projectionAggregate,
  trippedAggregate,
} from '../engine/format/layout.ts'
import { checkMeta } from '../engine/format/meta.ts'
import { checkBlocks } from '../engine/notice/block-list.ts'
import { checkMemoryAges } from '../engine/notice/memory-ages.ts'
import { decodeOrganizations } from '../engine/notice/organization-table.ts'
import { checkTripped } from '../engine/notice/tripped-rules.ts'
import { decodePlace, messageOf, nameOfDamage, problemOf } from '../engine/quarantine/damage.ts'
import { checkCounts } from '../engine/shared/record.ts'
import { duePlace } from '../engine/sweeper.ts'
import { decodeKyc } from '../kyc/kyc.ts'
import { decodeProgress } from '../projection/lease.ts'
import { transactionRowCodec } from '../projection/row.ts'
import { rowGroup, rowPlaceOf } from '../projection/row-place.ts'
import {
  type ChildRecord,
  type IndexRecord,
  type RootRecord,
  type Store,
  type StoreRecord,
  StoreRefused,
} from '../store/port.ts'
import { decodeEndpoints } from '../webhook/endpoint.ts'
import { decodeEvent, readPlace } from '../webhook/event.ts'

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
  const { aggregate, value } = record
  const check = record.kind === 'root' ? sharedRecords[aggregate] : undefined
  if (check !== undefined) {
    return told(
      aggregate,
      problemIn(() => check(value)),
      `--record ${aggregate}`,
    )
  }
  const projected = projectedCheck(record)
  if (projected !== null) return projected
  const key = record.kind === 'root' ? { group: '', id: '' } : record
  const reader = managedReader(aggregate, key.group)
  if (reader !== null) {
    return told(
      `${aggregate} ${key.group}`,
      problemIn(() => reader(value)),
      '',
    )
  }
  const problem = problemOf({ aggregate, group: key.group, id: key.id }, value)
  const name = nameOfDamage({ aggregate, key, problem })
  return told(
    name,
    problem,
    aggregate.startsWith('u:') ? `--record ${aggregate}` : aggregate.slice(2),
  )
}

/** What follows from the log is made anew by `arbiter reindex`, and repaired by nothing else. */
function projectedCheck(record: RootRecord | ChildRecord): FoundDamage | null {
  const { aggregate, value } = record
  if (record.kind === 'root') {
    if (aggregate !== projectionAggregate) return null
    return told(
      aggregate,
      problemIn(() => decodeProgress(value)),
      '',
    )
  }
  if (!record.group.startsWith(rowGroup)) return null
  return told(
    `row ${record.id.replaceAll('\n', ' ')}`,
    problemIn(() => transactionRowCodec.decode(value)),
    '',
  )
}

/** The key of a damaged entry may be damaged, too. */
function timeText(ms: number): string {
  return Number.isNaN(new Date(ms).valueOf()) ? 'no time' : new Date(ms).toISOString()
}

const sharedRecords: Readonly<Record<string, (value: string) => void>> = {
  [blocksAggregate]: checkBlocks,
  [trippedAggregate]: checkTripped,
  [memoriesAggregate]: checkMemoryAges,
  [metaAggregate]: checkMeta,
  [organizationsAggregate]: decodeOrganizations,
}

/** How webhooks, their events and verifications are read; null for all others. */
function managedReader(aggregate: string, group: string): ((value: string) => void) | null {
  if (group.startsWith('v@') && /^(?:ev|ky):/.test(aggregate)) return decodeEvent
  if (aggregate.startsWith('wc:')) return group === '' ? () => {} : checkCounts
  if (group !== '') return null
  if (aggregate.startsWith('wh:')) return decodeEndpoints
  return aggregate.startsWith('ky:') ? decodeKyc : null
}

/** What the entries of an index name. */
const namedBy: Readonly<Record<string, string>> = {
  [indexes.cards]: 'account',
  [indexes.organizationCards]: 'account',
  [indexes.customerCards]: 'account',
  [indexes.clients]: 'client',
  [indexes.customers]: 'customer',
  [indexes.kycs]: 'KYC',
  [indexes.kycsDue]: 'KYC',
}

function lookAtIndex({ index, sortKey, value }: IndexRecord): FoundDamage | null {
  const name = `index ${index}, entry ${sortKey.replaceAll('\n', ' ')}`
  const named = namedBy[index]
  if (named !== undefined) {
    return told(name, decodePlace(value) === '' ? `it names no ${named}` : noProblem, '')
  }
  if (index === indexes.rows) {
    return told(name, rowPlaceOf({ sortKey, value }) === null ? 'it names no row' : noProblem, '')
  }
  if (index === indexes.moving || index === indexes.walletEntries) return null
  if (index === indexes.accounts) {
    const named = sortKey.split('\n').length === 2
    return told(name, named ? noProblem : 'it names no card', '')
  }
  if (index === indexes.charges) {
    const named = sortKey.split('\n').length === 3 && /^\d+$/.test(value)
    return told(name, named ? noProblem : 'it names no pending charge', '')
  }
  if (index === indexes.events || index === indexes.deliveries) {
    const isPlace = readPlace(value, '').group.startsWith('v@')
    return told(name, isPlace ? noProblem : 'it names no event', '')
  }
  if (index === indexes.due) {
    return told(name, duePlace(sortKey) === null ? 'it names no transaction' : noProblem, '')
  }
  return told(
    name,
    problemIn(() => decodeEntry(value)),
    '',
  )
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
