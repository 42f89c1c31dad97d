import { type Change, type EntryKind, entryKinds } from '../../domain/change/change.ts'
import type { Entry, Place } from '../../domain/ledger/entry.ts'
import { isCurrency } from '../../domain/record/currency.ts'
import { type CardEvent, type RequestType, requestTypes } from '../../domain/record/event.ts'
import type { Fresh } from '../../domain/record/fresh.ts'
import type { Notice } from '../../domain/record/notice.ts'
import {
  type EntryRow,
  readAnswerRow,
  readChange,
  writeAnswerRow,
  writeChange,
} from './change-codec.ts'
import { parseStored, RecordUnreadable } from './row-codec.ts'

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
  const row = parseStored(text)
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
  try {
    const entry = read()
    checkHead(entry)
    return entry
  } catch (error) {
    if (error instanceof RecordUnreadable) throw error
    throw new RecordUnreadable('a log entry holds something else')
  }
}

function checkHead(head: OpenEntry['head']): void {
  const { kind, n, atMs, accountId, cardId, eventKey, transaction, linked, event, notice } = head
  const numbered = Number.isSafeInteger(n) && isTime(atMs)
  const named = areTexts([accountId, cardId, eventKey, ...transaction, ...(linked ?? [])])
  const known = entryKinds.includes(kind) && numbered && named
  if (known && isReadEvent(event) && isReadNotice(notice)) return
  throw new RecordUnreadable('a log entry holds something else')
}

/** A 0 stands for a text that is said elsewhere; another number is a damage. */
function areTexts(cells: readonly unknown[]): boolean {
  return cells.every((cell) => typeof cell === 'string')
}

/** The last that a calendar has: beyond it, nobody could show it. */
const lastTimeMs = 8.64e15

function isTime(ms: unknown): boolean {
  return typeof ms === 'number' && Math.abs(ms) <= lastTimeMs
}

/** Whoever shows an amount or a time must not stop at an entry that has lost the currency, or holds something else. */
function isReadEvent(event: CardEvent | null): boolean {
  if (event === null) return true
  const { eventId, requestType, currency, merchantCurrency, occurredAtMs } = event
  const { amountMinor, merchantAmountMinor } = event
  const known = [currency, merchantCurrency].every((code) => code === '' || isCurrency(code))
  const exact = [amountMinor ?? 0, merchantAmountMinor].every(Number.isSafeInteger)
  const named = typeof eventId === 'string' && requestType !== undefined
  return named && known && exact && isTime(occurredAtMs)
}

const noticeTypes: Readonly<Record<Notice['type'], true>> = {
  blocked: true,
  unblocked: true,
  ruleTripped: true,
  ruleArmed: true,
}

function isReadNotice(notice: Notice | undefined): boolean {
  if (notice === undefined) return true
  const timed = notice.type !== 'blocked' || Number.isSafeInteger(notice.untilMs)
  return Object.hasOwn(noticeTypes, notice.type) && timed
}

/** An entry of which the changes are still text: they are half of it, and not everybody looks at them. */
export interface OpenEntry {
  readonly head: Omit<Entry, 'changes'>
  readonly whole: () => Entry
}

export function openEntry(text: string): OpenEntry {
  const at = startOfChanges(text)
  const row = at < 0 ? null : (parseStored(`${text.slice(0, at)}]`) as EntryRow)
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
      const changes = parseStored(text.slice(at + 1, -1)) as readonly EntryRow[]
      readable(() => Object.assign(entry, { changes: readChanges(changes, entry) }))
      isWhole = true
      return entry
    },
  }
}

/**
 * Only the changes are rows in a row. -1 when there are none, or when a text looks like some. The comma before the
 * brackets is not searched for: a line has far more commas than brackets, and each would be looked at.
 */
function startOfChanges(text: string): number {
  if (!text.startsWith('[') || !text.endsWith(']]]')) return -1
  const at = text.indexOf('[[', 1)
  return text[at - 1] === ',' && text.indexOf('[[', at + 1) < 0 ? at - 1 : -1
}

function rowOf(entry: Entry, whole: boolean): EntryRow {
  const { event, eventKey, transaction, linked, cardId } = entry
  const [homeId, transactionId] = transaction
  const row: EntryRow = [
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
    entry.answer === null ? 0 : writeAnswerRow(entry.answer),
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

function entryOf(row: EntryRow): Entry {
  const entry = headOf(row)
  entry.changes = readChanges(row[18], entry)
  if (row[19] !== undefined && row[19] !== 0) entry.notice = row[19]
  if (row[20] !== undefined) entry.origin = row[20]
  return entry
}

function headOf(row: EntryRow): Fresh<Entry> {
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
    answer: row[12] === 0 ? null : readAnswerRow(row[12]),
    unmatched: row[13],
    reason: row[14],
    anomalies: row[15],
    matchedRules: row[16],
    shadowRules: row[17],
    changes: [],
  }
}

function readChanges(rows: readonly EntryRow[], entry: Entry): Change[] {
  return rows.map((row) => readChange(row, entry))
}

const requestTypeNames = Object.keys(requestTypes) as RequestType[]

/** What few events have comes last and is left out at its default. */
function writeEvent(event: CardEvent, cardId: string): EntryRow {
  const { merchant } = event
  const row: EntryRow = [
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
    event.details ?? '',
  ]
  let { length } = row
  while (row[length - 1] === '') length--
  row.length = length
  return row
}

function readEvent(row: EntryRow, cardId: string): CardEvent {
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
  if (row.length <= 19) return event
  return {
    ...event,
    ...(row[19] === '' ? {} : { organizationId: row[19] }),
    ...(row[20] === undefined ? {} : { details: row[20] }),
  }
}
