import { stamp } from '../domain/change/apply.ts'
import { gatherCard, isAlias } from '../domain/change/book.ts'
import { type Entry, entryOfChanges } from '../domain/ledger/entry.ts'
import { applyEntry, createMemoryBook, type MemoryBook } from '../domain/ledger/ledger.ts'
import { accountCardsOf, negativeEntries } from '../engine/format/account-cards.ts'
import { cardIndexEntries } from '../engine/format/card-index.ts'
import { accountCodec, eventCodec } from '../engine/format/codec.ts'
import { encodeEntry } from '../engine/format/entry-codec.ts'
import {
  accountAggregate,
  directoryKey,
  eventKeyAt,
  strayAggregate,
} from '../engine/format/layout.ts'
import { RecordUnreadable } from '../engine/format/row-codec.ts'
import { decodePlace, nameOfRecord, rootOf } from '../engine/quarantine/damage.ts'
import {
  type Command,
  type IndexEntryPut,
  type Loaded,
  noChange,
  type Store,
  type StoreRecord,
} from '../store/port.ts'
import { pendingSince, placesOfTransaction } from './index-kind.ts'
import { type Base, begin, type Patient, readBase, replayInto } from './rebuilt-book.ts'
import { lostDues } from './store-check.ts'
import { recordsOf } from './verify.ts'

export interface RepairOptions {
  readonly retentionMs: number
  readonly nowMs: number
  readonly reason: string
  readonly newVersion: () => string
  /** Tells what would be done, and does nothing. */
  readonly dryRun: boolean
  /** All records of a backup; without one the log must reach back to the opening of the account. */
  readonly backup?: AsyncIterable<readonly StoreRecord[]>
}

export interface Repair {
  /** '' when it was, or would be, done. */
  readonly refused: string
  /** What differed, by the names of its records. */
  readonly changed: readonly string[]
}

const maxTries = 5
/** An account whose newest arrival is later than this was dated by a clock that was wrong. */
const maxAheadMs = 60_000

/**
 * Makes an account anew from its log, and from a backup where the log does not reach back far enough. What
 * is in the log was decided and acknowledged, so the records that it leads to are the right ones.
 */
export function repairAccount(
  store: Store,
  accountId: string,
  options: RepairOptions,
): Promise<Repair> {
  const owns = (entry: Entry) => entry.accountId === accountId
  return repairOf(
    store,
    { aggregate: accountAggregate(accountId), owns, holdsMoney: true },
    options,
  )
}

/** Where events of cards that nobody knows are kept. They hold no money: what the log has is enough. */
export function repairStray(
  store: Store,
  aggregate: string,
  options: RepairOptions,
): Promise<Repair> {
  const owns = ({ accountId, event }: Entry) =>
    accountId === '' && event !== null && strayAggregate(event.eventId) === aggregate
  return repairOf(store, { aggregate, owns, holdsMoney: false }, options)
}

async function repairOf(store: Store, patient: Patient, options: RepairOptions): Promise<Repair> {
  const base = await readBase(patient, options.backup)
  for (let tries = 0; tries < maxTries; tries++) {
    const repair = await tryRepair(store, patient, base, options)
    if (repair !== null) return repair
  }
  return refuse('it changes all the time: stop what sends events for it, and repeat')
}

function refuse(refused: string): Repair {
  return { refused, changed: [] }
}

/** null when the account changed meanwhile. */
async function tryRepair(
  store: Store,
  patient: Patient,
  base: Base,
  options: RepairOptions,
): Promise<Repair | null> {
  const { retentionMs, nowMs } = options
  const { aggregate } = patient
  const [root] = await store.load([{ aggregate, ...rootOf }])
  const book = createMemoryBook(base.book)
  const gap = await replayInto(book, store, patient, base.newest)
  if (gap !== '') return refuse(gap)
  if (!patient.holdsMoney && book.account() === null) begin(book, 0, nowMs)
  const account = book.account()
  if (account === null) {
    return refuse('neither the log nor the backup knows it: is the name right?')
  }
  const expected = recordsOf(book, retentionMs, nowMs)
  const stored = await store.load(expected.map(({ key }) => ({ aggregate, ...key })))
  // Redis would refuse it half-way, and what lies there is somebody's.
  const foreign = stored.flatMap((one) => one?.wrongType ?? [])
  if (foreign.length > 0) return refuse(foreignKey(foreign[0]!))
  const wrong = expected.filter(({ value }, i) => stored[i]?.value !== value)
  const rootIsWrong = wrong.some(({ key }) => key.group === '')
  const ahead = account.lastArrivalMs > nowMs + maxAheadMs
  const lost = await lostPlaces(store, book)
  const dues = await lostDues(store, new Map([[account.accountId, book]]))
  const changed = [
    ...wrong.map(({ key }) => nameOfRecord(key)),
    ...lost.map((cardId) => `place of card ${cardId}`),
    ...dues.map(({ record }) => record),
    ...(ahead ? ['date of its newest arrival'] : []),
  ]
  if (changed.length === 0 || options.dryRun) return { refused: '', changed }
  const rebuilt = accountCodec.encode(account)
  const atMs = ahead ? nowMs : Math.max(nowMs, account.lastArrivalMs)
  const moved = [...book.events].filter(([, record]) => record.atMs > atMs)
  const entry = repairedEntry(book, atMs, options)
  const since = await pendingSince(store, account.accountId)
  const put = wrong
    .filter(({ key }) => key.group !== '')
    .map(({ key, value }) => ({ ...key, value }))
  for (const [eventKey] of moved) {
    const value = eventCodec.encode(book.event(eventKey)!)
    put.push({ ...eventKeyAt(eventKey, atMs, retentionMs), value })
  }
  const command = {
    ...commandOf(aggregate, book, entry, since, options),
    expectedVersion: root?.version ?? null,
    put,
    // Where a wrong clock had put them nobody looks for them.
    remove: moved.map(([eventKey, record]) => eventKeyAt(eventKey, record.atMs, retentionMs)),
  }
  if (!(await commitOver(store, command, root, rootIsWrong ? rebuilt : null))) return null
  for (const cardId of lost) {
    await mendPlace(store, cardId, account.accountId, options.newVersion)
  }
  return { refused: '', changed }
}

function foreignKey(name: string): string {
  return (
    `the key ${name} holds another type of value: rename or delete that key in Redis, and repeat at once, ` +
    'because till then what it stood for is missing'
  )
}

/** Cards of the account that the directory does not lead to it. */
async function lostPlaces(store: Store, book: MemoryBook): Promise<string[]> {
  const cardIds = [...book.cards.keys()]
  const found = await store.load(cardIds.map(directoryKey))
  const accountId = book.account()?.accountId
  return cardIds.filter((_, i) => decodePlace(found[i]?.value ?? '') !== accountId)
}

async function mendPlace(
  store: Store,
  cardId: string,
  accountId: string,
  newVersion: () => string,
): Promise<void> {
  const { aggregate, group, id } = directoryKey(cardId)
  for (let tries = 0; tries < maxTries; tries++) {
    const [root] = await store.load([{ aggregate, ...rootOf }])
    const [outcome] = await store.commit([
      {
        ...emptyCommand(aggregate, newVersion()),
        expectedVersion: root?.version ?? null,
        put: [{ group, id, value: accountId }],
      },
    ])
    if (outcome === 'committed') return
  }
  throw new RecordUnreadable(`the place of card ${cardId} could not be written: repeat`)
}

function repairedEntry(book: MemoryBook, atMs: number, { reason }: RepairOptions): Entry {
  const before = gatherCard('', book)
  const after = stamp(before, before, atMs, 'operated')
  const changes = [{ type: 'repaired' }] as const
  const entry = entryOfChanges('operated', before, after, changes, atMs, { reason, event: null })
  applyEntry(entry, book)
  return entry
}

function emptyCommand(aggregate: string, newVersion: string): Command {
  return { aggregate, expectedVersion: null, newVersion, root: '', ...noChange }
}

function commandOf(
  aggregate: string,
  book: MemoryBook,
  entry: Entry,
  since: ReadonlyMap<string, string>,
  { newVersion }: RepairOptions,
): Command {
  const account = book.account()!
  const index: IndexEntryPut[] = []
  for (const card of book.cards.values()) index.push(...cardIndexEntries(account, card))
  const cards = accountCardsOf(book.cards.values())
  const negative = negativeEntries(account.organizationId, account, cards)
  if (account.postedMinor < 0) index.push(...negative)
  for (const record of book.transactions.values()) {
    if (isAlias(record)) continue
    index.push(...placesOfTransaction(account.accountId, record, since))
  }
  return {
    ...emptyCommand(aggregate, newVersion()),
    root: accountCodec.encode(account),
    index,
    unindex: account.postedMinor < 0 ? [] : negative,
    log: [encodeEntry(entry)],
  }
}

/**
 * Only if nobody changed the account since its log was read. Of a root that cannot be read the version may
 * be lost, too, and then nobody else can commit either: a root with a version of ours takes its place first.
 */
async function commitOver(
  store: Store,
  command: Command,
  root: Loaded | undefined,
  rebuilt: string | null,
): Promise<boolean> {
  const [outcome] = await store.commit([command])
  if (outcome === 'committed') return true
  const { aggregate } = command
  const [now] = await store.load([{ aggregate, ...rootOf }])
  const same = now?.value === root?.value && now?.version === root?.version
  if (!same || root === undefined || rebuilt === null) return false
  const version = `${command.newVersion}.repair`
  await store.fill([{ kind: 'root', aggregate, version, value: rebuilt }])
  const [again] = await store.commit([{ ...command, expectedVersion: version }])
  return again === 'committed'
}
