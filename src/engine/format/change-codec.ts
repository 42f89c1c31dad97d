import type { Change, PlacedHold } from '../../domain/change/change.ts'
import type { Entry } from '../../domain/ledger/entry.ts'
import type { Answer, EventRecord } from '../../domain/record/event-record.ts'
import { type CountedNow, partsOf } from '../../domain/record/window-state.ts'
import { accountCodec, cardCodec } from './codec.ts'
import { isAmountName } from './row-codec.ts'

/** Rows of changes within a log entry. */

// biome-ignore lint/suspicious/noExplicitAny: rows are an edge; their columns are named where they are read
export type EntryRow = any[]

export function writeAnswerRow(answer: Answer): EntryRow {
  const { code, rulesVersion, decidedBy, cause, ruleId, approvedAmountMinor } = answer
  if (decidedBy === 'engine' && ruleId === '' && approvedAmountMinor === null) {
    return [code, rulesVersion]
  }
  return [code, rulesVersion, decidedBy, cause, ruleId, approvedAmountMinor]
}

export function readAnswerRow(row: EntryRow): Answer {
  const [code, rulesVersion, decidedBy = 'engine', cause = '', ruleId = ''] = row
  const approvedAmountMinor = row[5] ?? null
  insistOnTexts(code, decidedBy, cause, ruleId)
  insistOnAmounts(approvedAmountMinor ?? 0)
  return { code, decidedBy, cause, ruleId, approvedAmountMinor, rulesVersion }
}

/** What follows the log shows them: one that is no whole number of minor units would stop it. */
function insistOnAmounts(...cells: readonly unknown[]): void {
  if (!cells.every(Number.isSafeInteger)) throw new RangeError('no amount')
}

function insistOnTexts(...cells: readonly unknown[]): void {
  if (!cells.every((cell) => typeof cell === 'string')) throw new RangeError('no text')
}

type ChangeOf<T extends Change['type']> = Extract<Change, { type: T }>

/** How the fields of one kind of change stand in its row, after the number of the kind. */
interface ChangeCodec<T extends Change['type']> {
  readonly write: (change: ChangeOf<T>, entry: Entry, row: EntryRow) => void
  /** The row begins with the number. */
  readonly read: (row: EntryRow, entry: Entry, type: T) => ChangeOf<T>
}

/** Fields that are plain values, by their names. */
function plain<T extends Change['type']>(...names: (keyof ChangeOf<T>)[]): ChangeCodec<T> {
  const amounts = names.flatMap((name, i) => (isAmountName(name) ? [i + 1] : []))
  return {
    write(change, _entry, row) {
      for (const name of names) row.push(change[name])
    },
    read(row, _entry, type) {
      for (const cell of amounts) insistOnAmounts(row[cell])
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

function writeCounted(
  { amountMinor, at }: ChangeOf<'spendCounted' | 'attemptCounted'>,
  _entry: Entry,
  row: EntryRow,
): void {
  row.push(amountMinor)
  writePlaces(row, at)
}

function held<T extends 'holdPlaced' | 'askAbsorbed'>(): ChangeCodec<T> {
  return {
    write: writeHold,
    read: (row, { eventKey }, type) => ({ type, hold: readHold(row, eventKey) }) as ChangeOf<T>,
  }
}

function writeHold(
  { hold }: { readonly hold: PlacedHold },
  { eventKey }: Entry,
  row: EntryRow,
): void {
  const key = hold.eventKey === eventKey ? 0 : hold.eventKey
  const { addedMinor, expiresAtMs, reversedMinor, cash, unblockedMid } = hold
  const { preauthorized, foreign, abroad = false, lasts = false, otherKind = false } = hold
  const said = Number(preauthorized) + 2 * Number(foreign) + 4 * Number(abroad) + 8 * Number(lasts)
  const flags = said + 16 * Number(otherKind)
  row.push(key, addedMinor, expiresAtMs, flags, reversedMinor, cash, unblockedMid)
  const { adjustment, overtakenMinor, totalMinor } = hold
  const hasMore = overtakenMinor !== undefined || totalMinor !== undefined
  if (adjustment === undefined && !hasMore) return
  row.push(adjustment ?? null)
  if (hasMore) row.push(overtakenMinor ?? null)
  if (totalMinor !== undefined) row.push(totalMinor)
}

function readHold(row: EntryRow, eventKey: string): PlacedHold {
  const flags = row[4]
  insistOnAmounts(row[2], row[5])
  const hold = {
    eventKey: row[1] === 0 ? eventKey : row[1],
    preauthorized: (flags & 1) === 1,
    addedMinor: row[2],
    reversedMinor: row[5],
    cash: row[6],
    foreign: (flags & 2) === 2,
    expiresAtMs: row[3],
    unblockedMid: row[7],
    ...((flags & 8) === 8 && { lasts: true as const }),
  }
  const adjustment = row[8] ?? null
  const overtakenMinor = row[9] ?? null
  const totalMinor = row[10] ?? null
  return {
    ...hold,
    ...((flags & 4) === 4 && { abroad: true as const }),
    ...((flags & 16) === 16 && { otherKind: true as const }),
    ...(adjustment !== null && { adjustment }),
    ...(overtakenMinor !== null && { overtakenMinor }),
    ...(totalMinor !== null && { totalMinor }),
  }
}

/** Their order is the number of the kind: new ones go to the end. */
const changeCodecs: { readonly [T in Change['type']]: ChangeCodec<T> } = {
  accountOpened: {
    write: ({ account }, _entry, row) => row.push(accountCodec.encode(account)),
    read: ([, account], _entry, type) => ({ type, account: accountCodec.decode(account) }),
  },
  cardIssued: {
    write: ({ card }, _entry, row) => row.push(cardCodec.encode(card)),
    read: ([, card], _entry, type) => ({ type, card: cardCodec.decode(card) }),
  },
  cardChanged: {
    write: ({ set }, _entry, row) => row.push(set),
    read([, set], _entry, type) {
      if (typeof set !== 'object' || set === null) throw new RangeError('nothing is set')
      return { type, set }
    },
  },
  transferred: plain('amountMinor'),
  named: plain('name'),
  linked: plain('to'),
  holdPlaced: held(),
  askAbsorbed: held(),
  holdUndone: plain('eventKey', 'heirKey', 'expiresAtMs'),
  declined: plain('code'),
  captured: plain('amountMinor', 'closes', 'foreign'),
  reduced: plain('amountMinor'),
  capped: plain('ceilingMinor'),
  voided: plain(),
  refunded: plain('amountMinor'),
  granted: plain('amountMinor', 'day'),
  expired: {
    write: ({ releasedMinor }, _entry, row) => row.push(releasedMinor),
    read([, releasedMinor], _entry, type) {
      // Earlier releases did not say it.
      insistOnAmounts(releasedMinor ?? 0)
      return { type, releasedMinor }
    },
  },
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
    write: ({ before }, _entry, row) => writePlaces(row, before),
    read: (row, _entry, type) => ({ type, before: readPlaces(row, 1) }),
  },
  attentionSet: plain('of', 'dueAtMs'),
  forgotten: plain(),
  handled: plain('list', 'sortKey'),
  recorded: {
    write: ({ record }, entry, row) => writeRecord(record, entry, row),
    read: (row, entry, type) => ({ type, record: readRecord(row, entry) }),
  },
  claimed: plain('slot'),
  unclaimed: plain('slot'),
  answerChanged: {
    write({ answer }, entry, row) {
      if (answer !== entry.answer) row.push(writeAnswerRow(answer))
    },
    read: ([, answer], entry, type) => ({ type, answer: answerSaid(answer, entry) }),
  },
  askSeen: plain(),
  merchantSeen: plain('hash'),
  countrySeen: plain('country'),
  repaired: plain(),
  adopted: plain('organizationId', 'country'),
  moved: {
    write: ({ amountMinor, movement }, _entry, row) => row.push(amountMinor, movement),
    read([, amountMinor, movement], _entry, type) {
      insistOnAmounts(amountMinor)
      insistOnTexts(movement.type, movement.transferId, movement.relatedCardId, movement.reference)
      return { type, amountMinor, movement }
    },
  },
  chargeTaken: plain('amountMinor'),
  seeded: plain('account', 'card', 'remembered', 'spend', 'merchants'),
  askNoted: plain('noted'),
  windowsCrowded: {
    write: ({ by }, _entry, row) => writePlaces(row, by),
    read: (row, _entry, type) => ({ type, by: readPlaces(row, 1) }),
  },
}

const changeTypes = Object.keys(changeCodecs) as Change['type'][]
const numberOf = new Map(changeTypes.map((type, i) => [type, i]))

export function writeChange(change: Change, entry: Entry): EntryRow {
  const codec = changeCodecs[change.type] as ChangeCodec<Change['type']>
  const row: EntryRow = [numberOf.get(change.type)]
  codec.write(change as never, entry, row)
  return row
}

export function readChange(row: EntryRow, entry: Entry): Change {
  const type = changeTypes[row[0]]!
  return changeCodecs[type].read(row, entry, type as never)
}

/** A record is mostly what its entry says: what was answered, when, and who claims it. */
function writeRecord(record: EventRecord, entry: Entry, row: EntryRow): void {
  const { contentHash, answer, claims, absorbed, unmatched, atMs } = record
  const own = claims.length === 1 && claims[0] === entry.slot
  const same = answer === entry.answer && atMs === entry.atMs && unmatched === entry.unmatched
  row.push(contentHash, own ? 0 : claims)
  if (!same || absorbed) row.push(writeAnswerRow(answer), Number(absorbed), unmatched, atMs)
}

function readRecord(row: EntryRow, entry: Entry): EventRecord {
  const [, contentHash, claims, answer, absorbed] = row
  return {
    contentHash,
    answer: answerSaid(answer, entry),
    claims: claims === 0 ? [entry.slot] : claims,
    absorbed: absorbed === 1,
    unmatched: row[5] ?? entry.unmatched,
    atMs: row[6] ?? entry.atMs,
  }
}

/** That of its entry where the row has none. */
function answerSaid(row: EntryRow | undefined, { answer }: Entry): Answer {
  const said = row === undefined ? answer : readAnswerRow(row)
  if (said === null) throw new RangeError('no answer')
  return said
}

const placeCells = 4

function writePlaces(row: EntryRow, places: readonly CountedNow[]): void {
  for (const { window, scope, bucket, oldest, spread, moved } of places) {
    const plain = scope === 'card' ? 0 : scope
    const marks = (spread ? 0 : unspreadMark) + (moved ? movedMark : 0)
    row.push(window, spread || moved ? scopeNumbers[scope] + marks : plain, bucket, oldest)
  }
}

/** How a place of a window that tells its spread, or that a transaction's one has moved to, says where it is. */
const scopeNumbers = { card: 1, account: 2, merchant: 3 } as const
const numberedScopes = [undefined, 'card', 'account', 'merchant'] as const
const unspreadMark = 4
const movedMark = 8

function readPlaces(row: EntryRow, from: number): CountedNow[] {
  const places: CountedNow[] = []
  for (let at = from; at < row.length; at += placeCells) {
    const said = row[at + 1]
    const window = row[at]
    const place = { window, ...partsOf(window), bucket: row[at + 2], oldest: row[at + 3] }
    const scope = numberedScopes[said & 3]
    if (scope === undefined) places.push({ ...place, scope: said === 0 ? 'card' : said })
    else {
      const spread = (said & unspreadMark) === 0 ? { spread: true as const } : {}
      const moved = (said & movedMark) === 0 ? {} : { moved: true as const }
      places.push({ ...place, scope, ...spread, ...moved })
    }
  }
  return places
}
