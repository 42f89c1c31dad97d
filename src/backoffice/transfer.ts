import { createHash } from 'node:crypto'
import { dayMs } from '../clock.ts'
import { projectionAggregate } from '../engine/format/layout.ts'
import {
  type FixedSettings,
  isMeta,
  markUnfinished,
  putMeta,
  readMeta,
} from '../engine/format/meta.ts'
import { progressInCopy } from '../projection/lease.ts'
import { lastDayOf } from '../store/dated-group.ts'
import {
  type IndexRecord,
  type OwnedRecord,
  type Store,
  type StoreRecord,
  StoreRefused,
} from '../store/port.ts'
import { indexKindOf, ownerOfEntry } from './index-kind.ts'

const recordKinds = ['root', 'child', 'index', 'log'] as const

export type RecordKind = (typeof recordKinds)[number]

/** How many records of a kind there are, and what is in them: equal for equal content. */
export interface KindTally {
  readonly kind: RecordKind
  readonly count: number
  readonly hash: string
}

export interface RecordTally {
  add(record: StoreRecord): void
  readonly records: number
  result(): KindTally[]
}

const lanes = 8

/**
 * Stores list their records in orders of their own, so the hashes of records are added up; only the log
 * has an order, and its entries are hashed with their numbers. When an entry was written may shift by
 * microseconds in a copy, and is left out.
 */
export function createRecordTally(): RecordTally {
  const sums = new Map(recordKinds.map((kind) => [kind, new Uint32Array(lanes)]))
  const counts = { root: 0, child: 0, index: 0, log: 0 }
  return {
    add(record) {
      const sum = sums.get(record.kind) as Uint32Array
      const number = counts[record.kind]++
      const digest = createHash('sha256').update(contentOf(record, number)).digest()
      for (let i = 0; i < lanes; i++) sum[i]! += digest.readUInt32LE(4 * i)
    },
    get records() {
      return counts.root + counts.child + counts.index + counts.log
    },
    result: () =>
      recordKinds.map((kind) => {
        const sum = sums.get(kind) as Uint32Array
        const hash = Buffer.from(sum.buffer).toString('hex').slice(0, 32)
        return { kind, count: counts[kind], hash }
      }),
  }
}

function contentOf(record: StoreRecord, number: number): string {
  switch (record.kind) {
    case 'root':
      // As a copy has it, so that what is printed of a backup is what is printed of its restored store.
      return JSON.stringify([record.aggregate, record.version, inCopy(record).value])
    case 'child':
      return JSON.stringify([record.aggregate, record.group, record.id, record.value])
    case 'index':
      return JSON.stringify([record.index, record.sortKey, record.value])
    case 'log':
      return JSON.stringify([number, record.entry])
  }
}

export interface TransferOptions {
  readonly onProgress: (records: number) => void
  /** Wall clock: groups of events that have ended since they were read are left behind. */
  readonly nowMs: () => number
  /** What a server of the store must find beside it. */
  readonly beside?: () => Promise<void>
}

export type Pages = AsyncIterable<readonly StoreRecord[]>

/** What a store holds, but for what was fixed when it was made. */
async function* contentPages(store: Store): AsyncGenerator<readonly StoreRecord[]> {
  for await (const page of store.scan()) yield page.filter((record) => !isMeta(record))
}

/** Reads a whole store; refuses one that was written to meanwhile, as far as its log tells. */
export async function* readStore(source: Store): AsyncGenerator<readonly StoreRecord[]> {
  const before = await newestOf(source)
  yield* contentPages(source)
  if ((await newestOf(source)) === before) return
  throw new StoreRefused('the store was written to while it was read: stop its servers, and repeat')
}

async function newestOf(store: Store): Promise<string> {
  return (await store.tailLog(1))[0]?.cursor ?? ''
}

/**
 * Fills an empty store. Until all is there and was compared, no server takes it: what was fixed when the
 * source was made is written last.
 */
export async function fillStore(
  target: Store,
  fixed: FixedSettings,
  pages: Pages,
  { onProgress, nowMs, beside }: TransferOptions,
): Promise<KindTally[]> {
  await refuseUnlessEmpty(target)
  await markUnfinished(target)
  const given = createRecordTally()
  for await (const whole of pages) {
    const today = Math.floor(nowMs() / dayMs)
    const page = whole
      .filter((one) => one.kind !== 'child' || lastDayOf(one.group) >= today)
      .map(inCopy)
    for (const record of page) given.add(record)
    if (page.length > 0) await target.fill(page.map(ownedOf))
    onProgress(given.records)
  }
  const expected = given.result()
  const found = await tallyOf(target)
  const wrong = expected.find(({ kind, count, hash }) => {
    const other = found.find((one) => one.kind === kind)
    return other?.count !== count || other.hash !== hash
  })
  if (wrong !== undefined) {
    const count = found.find(({ kind }) => kind === wrong.kind)?.count
    throw new StoreRefused(
      `the copy is not complete (${kindName(wrong.kind)}: ${wrong.count} given, ${count} found, or of ` +
        'other content) and no server will take it: empty it, and repeat while nobody uses it',
    )
  }
  await beside?.()
  await putMeta(target, fixed)
  return expected
}

export function copyStore(
  source: Store,
  target: Store,
  options: TransferOptions,
): Promise<KindTally[]> {
  return readMeta(source).then((fixed) => fillStore(target, fixed, readStore(source), options))
}

async function refuseUnlessEmpty(target: Store): Promise<void> {
  for await (const page of target.scan()) {
    if (page.length === 0) continue
    throw new StoreRefused(
      'the target is not empty: name a new folder or an empty Redis (an unfinished copy must be removed first)',
    )
  }
}

async function tallyOf(store: Store): Promise<KindTally[]> {
  const tally = createRecordTally()
  for await (const page of contentPages(store)) for (const record of page) tally.add(record)
  return tally.result()
}

const names: Record<RecordKind, string> = {
  root: 'accounts and other roots',
  child: 'records under them',
  index: 'index entries',
  log: 'log entries',
}

export function kindName(kind: RecordKind): string {
  return names[kind]
}

/** The log of a copy has other cursors. */
function inCopy<R extends StoreRecord>(record: R): R {
  if (record.kind !== 'root' || record.aggregate !== projectionAggregate) return record
  return { ...record, value: progressInCopy(record.value) }
}

/** A store in partitions keeps an entry with the aggregate that wrote it. */
function ownedOf(record: StoreRecord): OwnedRecord {
  if (record.kind === 'index') return { ...record, aggregate: ownerOfIndex(record) }
  if (record.kind === 'log') return { ...record, aggregate: ownerOfEntry(record.entry) }
  return record
}

function ownerOfIndex(record: IndexRecord): string {
  const kind = indexKindOf(record.index)
  if (kind !== null) return kind.ownerOf(record)
  throw new StoreRefused(
    `the store has an index ${record.index}, which this release does not know: use the release that made it`,
  )
}
