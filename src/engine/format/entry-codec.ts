import {
  type Change,
  type EntryKind,
  entryKinds,
  type PlacedHold,
} from '../../domain/change/change.ts'
import type { Entry, Place } from '../../domain/ledger/entry.ts'
import { type CardEvent, type RequestType, requestTypes } from '../../domain/record/event.ts'
import type { Answer, EventRecord } from '../../domain/record/event-record.ts'
import type { Fresh } from '../../domain/record/fresh.ts'
import type { CountedNow } from '../../domain/record/window-state.ts'
import { accountCodec, cardCodec } from './codec.ts'
import { parseJson, RecordUnreadable } from './row-codec.ts'

/**
 * Log entries are most of what is kept, and writing them was most of what a decision cost. So they are
 * rows without names, in which nothing stands twice: 0 in the place of a text is "as the entry or its event
 * says elsewhere". The first element is the format.
 */
export const entryFormat = 3

export function encodeEntry(entry: Entry): string {
  return JSON.stringify(rowOf(entry, true))
}

/** What a list for people keeps of an entry: enough to handle it when the log no longer has it. */
export function encodeWork(entry: Entry): string {
  return JSON.stringify(rowOf(entry, false))
}

export function decodeEntry(text: string): Entry {
  const row = parseJson(text)
  return readable(() => {
    if (!Array.isArray(row)) throw new RecordUnreadable('a log entry is no row')
    return row[0] === entryFormat ? entryOf(row) : refuseFormat(row[0])
  })
}

function refuseFormat(found: unknown): never {
  const other = Number.isSafeInteger(found) ? `format ${found}` : 'no format'
  throw new RecordUnreadable(
    `a log entry has ${other}, and this release reads format ${entryFormat}`,
  )
}

/** What its reading stumbles over was written by somebody else, or has lost a part. */
function readable(read: () => Entry): Entry {
  let entry: Entry
  try {
    entry = read()
  } catch (error) {
    if (error instanceof RecordUnreadable) throw error
    throw new RecordUnreadable('a log entry holds something else')
  }
  checkHead(entry)
  return entry
}

function checkHead({ kind, n, atMs, accountId, cardId, transaction }: OpenEntry['head']): void {
  const numbered = Number.isSafeInteger(n) && typeof atMs === 'number'
  const named = typeof accountId === 'string' && typeof cardId === 'string'
  if (entryKinds.includes(kind) && numbered && named && Array.isArray(transaction)) return
  throw new RecordUnreadable('a log entry holds something else')
}

/** An entry of which the changes are still text: they are half of it, and not everybody looks at them. */
export interface OpenEntry {
  readonly head: Omit<Entry, 'changes'>
  readonly whole: () => Entry
}

export function openEntry(text: string): OpenEntry {
  const at = startOfChanges(text)
  const row = at < 0 ? null : (parseJson(`${text.slice(0, at)}]`) as Row)
  if (row === null || row[0] !== entryFormat) {
    const entry = decodeEntry(text)
    return { head: entry, whole: () => entry }
  }
  const entry = readable(() => headOf(row)) as Fresh<Entry>
  let isWhole = false
  return {
    head: entry,
    whole() {
      if (isWhole) return entry
      const changes = parseJson(text.slice(at + 1, -1)) as readonly Row[]
      readable(() => Object.assign(entry, { changes: readChanges(changes, entry) }))
      isWhole = true
      return entry
    },
  }
}

/** Only the changes are rows in a row. -1 when there are none, or when a text looks like some. */
function startOfChanges(text: string): number {
  if (!text.startsWith('[') || !text.endsWith(']]]')) return -1
  const at = text.indexOf(',[[')
  return text.indexOf(',[[', at + 1) < 0 ? at : -1
}

// biome-ignore lint/suspicious/noExplicitAny: rows are an edge; their columns are named where they are read
type Row = any[]

function rowOf(entry: Entry, whole: boolean): Row {
  const { event, eventKey, transaction, linked, cardId } = entry
  const [homeId, transactionId] = transaction
  const row: Row = [
    entryFormat,
    entryKinds.indexOf(entry.kind),
    entry.n,
    entry.atMs,
    entry.accountId,
    cardId,
    event === null ? 0 : writeEvent(event, cardId),
    event !== null && eventKey === event.eventId ? 0 : eventKey,
    homeId === cardId ? 0 : homeId,
    event !== null && transactionId === event.transactionId ? 0 : transactionId,
    linked ?? 0,
    whole ? entry.slot : '',
    entry.answer === null ? 0 : writeAnswer(entry.answer),
    entry.unmatched,
    entry.reason,
    entry.anomalies,
    entry.matchedRules,
    entry.shadowRules,
    whole ? entry.changes.map((change) => writeChange(change, entry)) : [],
  ]
  if (entry.notice !== undefined || entry.origin !== undefined) row.push(entry.notice ?? 0)
  if (entry.origin !== undefined) row.push(entry.origin)
  return row
}

function entryOf(row: Row): Entry {
  const entry = headOf(row)
  entry.changes = readChanges(row[18], entry)
  if (row[19] !== undefined && row[19] !== 0) entry.notice = row[19]
  if (row[20] !== undefined) entry.origin = row[20]
  return entry
}

function headOf(row: Row): Fresh<Entry> {
  const cardId = row[5]
  const event = row[6] === 0 ? null : readEvent(row[6], cardId)
  const place: Place = [
    row[8] === 0 ? cardId : row[8],
    row[9] === 0 ? event!.transactionId : row[9],
  ]
  return {
    kind: entryKinds[row[1]] as EntryKind,
    n: row[2],
    atMs: row[3],
    accountId: row[4],
    cardId,
    transaction: place,
    linked: row[10] === 0 ? null : row[10],
    eventKey: row[7] === 0 ? event!.eventId : row[7],
    event,
    slot: row[11],
    answer: row[12] === 0 ? null : readAnswer(row[12]),
    unmatched: row[13],
    reason: row[14],
    anomalies: row[15],
    matchedRules: row[16],
    shadowRules: row[17],
    changes: [],
  }
}

function readChanges(rows: readonly Row[], entry: Entry): Change[] {
  return rows.map((row) => readChange(row, entry))
}

const requestTypeNames = Object.keys(requestTypes) as RequestType[]

/** What few events have comes last and is left out at its default. */
function writeEvent(event: CardEvent, cardId: string): Row {
  const { merchant } = event
  const row: Row = [
    event.eventId,
    requestTypeNames.indexOf(event.requestType),
    event.transactionId,
    event.amountMinor,
    event.currency,
    event.occurredAtMs,
    merchant.mid,
    merchant.mcc,
    merchant.country,
    merchant.name,
    merchant.city,
    event.cardId === cardId ? '' : event.cardId,
    event.originalTransactionId,
    event.final === null ? '' : Number(event.final),
    event.channel,
    event.entryMode,
    event.partialApprovalSupported ? 1 : '',
    event.merchantAmountMinor === 0 ? '' : event.merchantAmountMinor,
    event.merchantCurrency,
    event.organizationId ?? '',
  ]
  let { length } = row
  while (row[length - 1] === '') length--
  row.length = length
  return row
}

function readEvent(row: Row, cardId: string): CardEvent {
  const final = row[13] ?? ''
  const event = {
    eventId: row[0],
    requestType: requestTypeNames[row[1]]!,
    transactionId: row[2],
    originalTransactionId: row[12] ?? '',
    cardId: row[11] || cardId,
    amountMinor: row[3],
    currency: row[4],
    final: final === '' ? null : final === 1,
    partialApprovalSupported: row[16] === 1,
    merchant: {
      mid: row[6] ?? '',
      mcc: row[7] ?? '',
      name: row[9] ?? '',
      city: row[10] ?? '',
      country: row[8] ?? '',
    },
    channel: row[14] ?? '',
    entryMode: row[15] ?? '',
    merchantAmountMinor: row[17] || 0,
    merchantCurrency: row[18] ?? '',
    occurredAtMs: row[5],
  }
  return row[19] === undefined ? event : { ...event, organizationId: row[19] }
}

function writeAnswer(answer: Answer): Row {
  const { code, rulesVersion, decidedBy, cause, ruleId, approvedAmountMinor } = answer
  if (decidedBy === 'engine' && ruleId === '' && approvedAmountMinor === null) {
    return [code, rulesVersion]
  }
  return [code, rulesVersion, decidedBy, cause, ruleId, approvedAmountMinor]
}

function readAnswer(row: Row): Answer {
  const [code, rulesVersion, decidedBy = 'engine', cause = '', ruleId = ''] = row
  const approvedAmountMinor = row[5] ?? null
  return { code, decidedBy, cause, ruleId, approvedAmountMinor, rulesVersion }
}

type ChangeOf<T extends Change['type']> = Extract<Change, { type: T }>

/** How the fields of one kind of change stand in its row, after the number of the kind. */
interface ChangeCodec<T extends Change['type']> {
  readonly write: (change: ChangeOf<T>, entry: Entry) => Row
  /** The row begins with the number. */
  readonly read: (row: Row, entry: Entry, type: T) => ChangeOf<T>
}

/** Fields that are plain values, by their names. */
function plain<T extends Change['type']>(...names: (keyof ChangeOf<T>)[]): ChangeCodec<T> {
  return {
    write: (change) => names.map((name) => change[name]),
    read(row, _entry, type) {
      const change: Record<string, unknown> = { type }
      for (let i = 0; i < names.length; i++) change[names[i] as string] = row[i + 1]
      return change as unknown as ChangeOf<T>
    },
  }
}

function counted<T extends 'spendCounted' | 'attemptCounted'>(): ChangeCodec<T> {
  return {
    write: writeCounted,
    read: (row, _entry, type) =>
      ({ type, amountMinor: row[1], at: readPlaces(row, 2) }) as ChangeOf<T>,
  }
}

function writeCounted({ amountMinor, at }: ChangeOf<'spendCounted' | 'attemptCounted'>): Row {
  return writePlaces([amountMinor], at)
}

function held<T extends 'holdPlaced' | 'askAbsorbed'>(): ChangeCodec<T> {
  return {
    write: writeHold,
    read: (row, { eventKey }, type) => ({ type, hold: readHold(row, eventKey) }) as ChangeOf<T>,
  }
}

function writeHold({ hold }: { readonly hold: PlacedHold }, { eventKey }: Entry): Row {
  const key = hold.eventKey === eventKey ? 0 : hold.eventKey
  const { addedMinor, expiresAtMs, reversedMinor, cash, unblockedMid } = hold
  const flags = Number(hold.preauthorized) + 2 * Number(hold.foreign)
  const row = [key, addedMinor, expiresAtMs, flags, reversedMinor, cash, unblockedMid]
  return hold.adjustment === undefined ? row : [...row, hold.adjustment]
}

function readHold(row: Row, eventKey: string): PlacedHold {
  const flags = row[4]
  const hold = {
    eventKey: row[1] === 0 ? eventKey : row[1],
    preauthorized: (flags & 1) === 1,
    addedMinor: row[2],
    reversedMinor: row[5],
    cash: row[6],
    foreign: (flags & 2) === 2,
    expiresAtMs: row[3],
    unblockedMid: row[7],
  }
  const adjustment = row[8]
  return adjustment === undefined ? hold : { ...hold, adjustment }
}

/** Their order is the number of the kind: new ones go to the end. */
const changeCodecs: { readonly [T in Change['type']]: ChangeCodec<T> } = {
  accountOpened: {
    write: ({ account }) => [accountCodec.encode(account)],
    read: ([, account], _entry, type) => ({ type, account: accountCodec.decode(account) }),
  },
  cardIssued: {
    write: ({ card }) => [cardCodec.encode(card)],
    read: ([, card], _entry, type) => ({ type, card: cardCodec.decode(card) }),
  },
  cardChanged: plain('set'),
  transferred: plain('amountMinor'),
  named: plain('name'),
  linked: plain('to'),
  holdPlaced: held(),
  askAbsorbed: held(),
  holdUndone: plain('eventKey', 'heirKey'),
  declined: plain('code'),
  captured: plain('amountMinor', 'closes', 'foreign'),
  reduced: plain('amountMinor'),
  capped: plain('ceilingMinor'),
  voided: plain(),
  refunded: plain('amountMinor'),
  granted: plain('amountMinor', 'day'),
  expired: plain('releasedMinor'),
  chargeDue: plain('takenMinor', 'pendingMinor'),
  chargeReturned: plain('takenMinor', 'pendingMinor'),
  swipeUsed: plain(),
  swipeReturned: plain(),
  unblockUsed: plain('mid'),
  unblockReturned: plain('mid'),
  cardTerminated: plain('by'),
  cardRevived: plain(),
  spendCounted: counted(),
  spendGivenBack: plain('amountMinor'),
  attemptCounted: counted(),
  askRemembered: plain('mid', 'amountMinor'),
  windowsDropped: {
    write: ({ before }) => writePlaces([], before),
    read: (row, _entry, type) => ({ type, before: readPlaces(row, 1) }),
  },
  attentionSet: plain('of', 'dueAtMs'),
  forgotten: plain(),
  handled: plain('list', 'sortKey'),
  recorded: {
    write: ({ record }, entry) => writeRecord(record, entry),
    read: (row, entry, type) => ({ type, record: readRecord(row, entry) }),
  },
  claimed: plain('slot'),
  unclaimed: plain('slot'),
  answerChanged: {
    write: ({ answer }, entry) => (answer === entry.answer ? [] : [writeAnswer(answer)]),
    read: ([, answer], entry, type) => ({
      type,
      answer: answer === undefined ? entry.answer! : readAnswer(answer),
    }),
  },
  askSeen: plain(),
  merchantSeen: plain('hash'),
  countrySeen: plain('country'),
  repaired: plain(),
  adopted: plain('organizationId', 'country'),
  moved: plain('amountMinor', 'movement'),
  chargeTaken: plain('amountMinor'),
}

const changeTypes = Object.keys(changeCodecs) as Change['type'][]
const numberOf = new Map(changeTypes.map((type, i) => [type, i]))

function writeChange(change: Change, entry: Entry): Row {
  const codec = changeCodecs[change.type] as ChangeCodec<Change['type']>
  const row = codec.write(change as never, entry)
  row.unshift(numberOf.get(change.type))
  return row
}

function readChange(row: Row, entry: Entry): Change {
  const type = changeTypes[row[0]]!
  return changeCodecs[type].read(row, entry, type as never)
}

/** A record is mostly what its entry says: what was answered, when, and who claims it. */
function writeRecord(record: EventRecord, entry: Entry): Row {
  const { contentHash, answer, claims, absorbed, unmatched, atMs } = record
  const own = claims.length === 1 && claims[0] === entry.slot
  const same = answer === entry.answer && atMs === entry.atMs && unmatched === entry.unmatched
  if (same && !absorbed) return [contentHash, own ? 0 : claims]
  return [contentHash, own ? 0 : claims, writeAnswer(answer), Number(absorbed), unmatched, atMs]
}

function readRecord(row: Row, entry: Entry): EventRecord {
  const [, contentHash, claims, answer, absorbed] = row
  return {
    contentHash,
    answer: answer === undefined ? entry.answer! : readAnswer(answer),
    claims: claims === 0 ? [entry.slot] : claims,
    absorbed: absorbed === 1,
    unmatched: row[5] ?? entry.unmatched,
    atMs: row[6] ?? entry.atMs,
  }
}

const placeCells = 4

function writePlaces(row: Row, places: readonly CountedNow[]): Row {
  for (const { window, scope, bucket, oldest } of places) {
    row.push(window, scope === 'card' ? 0 : scope, bucket, oldest)
  }
  return row
}

function readPlaces(row: Row, from: number): CountedNow[] {
  const places: CountedNow[] = []
  for (let at = from; at < row.length; at += placeCells) {
    const scope = row[at + 1] === 0 ? 'card' : row[at + 1]
    places.push({ window: row[at], scope, bucket: row[at + 2], oldest: row[at + 3] })
  }
  return places
}
