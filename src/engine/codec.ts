import { type Account, noAccount } from '../domain/account.ts'
import { isAlias } from '../domain/book.ts'
import { type Card, noCard, type RecentAsk } from '../domain/card.ts'
import type { EventRecord } from '../domain/event-record.ts'
import type { HoldAdjustment } from '../domain/hold-adjustment.ts'
import {
  type Alias,
  type AskShare,
  newTransaction,
  type Transaction,
} from '../domain/transaction.ts'
import type { Bucket, Counted, SpendEntry, WindowStates } from '../domain/window.ts'

/**
 * Records are kept as JSON arrays, column by column, because names would be most of their bytes. A
 * column that is at its default at the end of the row is left out, so a newer release that adds
 * columns reads older rows. The first element is the format of the row.
 */
interface Column<T> {
  readonly name: keyof T
  readonly read?: (json: never) => unknown
}

export interface Codec<T> {
  encode(record: T): string
  decode(text: string): T
}

export class RecordUnreadable extends Error {
  override readonly name = 'RecordUnreadable'
}

/**
 * `write` is a row as one literal, in the order of the columns: a loop over their names takes twice as
 * long, and every decision writes four records.
 */
function createCodec<T extends object>(
  blank: T,
  columns: readonly Column<T>[],
  write: (record: T) => [format: number, ...cells: unknown[]],
): Codec<T> {
  const defaults = write(blank)
  const [format] = defaults
  if (defaults.length !== columns.length + 1) throw new Error('a row has a cell for each column')
  const booleans = columns.map(({ name }) => typeof blank[name] === 'boolean')

  /** A default is a plain value or an empty list. */
  function isDefault(value: unknown, cell: number): boolean {
    return value === defaults[cell] || (Array.isArray(value) && value.length === 0)
  }

  return {
    encode(record) {
      const row = write(record)
      let { length } = row
      while (length > 1 && isDefault(row[length - 1], length - 1)) length--
      row.length = length
      return JSON.stringify(row)
    },
    decode(text) {
      const row = JSON.parse(text) as unknown[]
      if (!Array.isArray(row) || row[0] !== format) {
        throw new RecordUnreadable(
          `a record has format ${String(row?.[0])}, this release reads ${format}`,
        )
      }
      const record = { ...blank } as Record<keyof T, unknown>
      const known = Math.min(columns.length, row.length - 1)
      for (let i = 0; i < known; i++) {
        const { name, read } = columns[i]!
        const json = row[i + 1]
        if (booleans[i]) record[name] = json === 1
        else record[name] = read ? (read as (json: unknown) => unknown)(json) : json
      }
      return record as T
    },
  }
}

const flag = (given: boolean) => (given ? 1 : 0)

function writeWindows(states: WindowStates): unknown[] {
  const rows: unknown[] = []
  for (const name in states) {
    const row: (string | number)[] = [name]
    for (const { index, sumMinor, count } of states[name]!) row.push(index, sumMinor, count)
    rows.push(row)
  }
  return rows
}

const readWindows = (json: (string | number)[][]): WindowStates =>
  Object.fromEntries(json.map(([name, ...numbers]) => [name, readBuckets(numbers as number[])]))

function readBuckets(numbers: readonly number[]): Bucket[] {
  const buckets: Bucket[] = []
  for (let i = 0; i < numbers.length; i += 3) {
    buckets.push({ index: numbers[i]!, sumMinor: numbers[i + 1]!, count: numbers[i + 2]! })
  }
  return buckets
}

export const accountCodec: Codec<Account> = createCodec(
  noAccount,
  [
    { name: 'accountId' },
    { name: 'currency' },
    { name: 'postedMinor' },
    { name: 'heldMinor' },
    { name: 'openingMinor' },
    { name: 'openedAtMs' },
    { name: 'lastArrivalMs' },
    { name: 'entryCount' },
    { name: 'country' },
    { name: 'organizationId' },
    { name: 'withheldMinor' },
    { name: 'transfersMinor' },
    { name: 'windows', read: readWindows },
    { name: 'chargesTakenMinor' },
    { name: 'chargesPendingMinor' },
    { name: 'grantDay' },
    { name: 'grantedMinor' },
  ],
  (a) => [
    1,
    a.accountId,
    a.currency,
    a.postedMinor,
    a.heldMinor,
    a.openingMinor,
    a.openedAtMs,
    a.lastArrivalMs,
    a.entryCount,
    a.country,
    a.organizationId,
    a.withheldMinor,
    a.transfersMinor,
    writeWindows(a.windows),
    a.chargesTakenMinor,
    a.chargesPendingMinor,
    a.grantDay,
    a.grantedMinor,
  ],
)

const writeRecentAsk = (a: RecentAsk) => [a.atMs, a.mid, a.amountMinor]

export const cardCodec: Codec<Card> = createCodec(
  noCard,
  [
    { name: 'cardId' },
    { name: 'customerId' },
    { name: 'accountId' },
    { name: 'type' },
    { name: 'status' },
    { name: 'expiry' },
    { name: 'lastAskAtMs' },
    { name: 'windows', read: readWindows },
    {
      name: 'recentAsks',
      read: (json: [number, string, number][]) =>
        json.map(([atMs, mid, amountMinor]) => ({ atMs, mid, amountMinor })),
    },
    { name: 'dailyLimitMinor' },
    { name: 'transactionLimitMinor' },
    { name: 'allowedMccs' },
    { name: 'blockedMccs' },
    { name: 'allowedMids' },
    { name: 'blockedMids' },
    { name: 'unblockedMids' },
    { name: 'swipesLeft' },
    { name: 'terminatedBy' },
    { name: 'replaces' },
    { name: 'seenMerchants' },
    { name: 'seenCountries' },
  ],
  (c) => [
    1,
    c.cardId,
    c.customerId,
    c.accountId,
    c.type,
    c.status,
    c.expiry,
    c.lastAskAtMs,
    writeWindows(c.windows),
    c.recentAsks.map(writeRecentAsk),
    c.dailyLimitMinor,
    c.transactionLimitMinor,
    c.allowedMccs,
    c.blockedMccs,
    c.allowedMids,
    c.blockedMids,
    c.unblockedMids,
    c.swipesLeft,
    c.terminatedBy,
    c.replaces,
    c.seenMerchants,
    c.seenCountries,
  ],
)

const writeAdjustment = (a: HoldAdjustment | null) =>
  a === null ? [] : [a.fixedMinor, a.plusMillionths, a.plusMinor]

function readAdjustment(json: readonly number[]): HoldAdjustment | null {
  const [fixedMinor, plusMillionths, plusMinor] = json
  if (fixedMinor === undefined) return null
  return { fixedMinor, plusMillionths: plusMillionths!, plusMinor: plusMinor! }
}

function writeAsk(a: AskShare): unknown[] {
  const row = [a.eventKey, a.addedMinor, flag(a.preauthorized), a.unblockedMid, flag(a.reopened)]
  return a.adjustment === null ? row : [...row, ...writeAdjustment(a.adjustment)]
}
const readAsk = ([eventKey, addedMinor, preauthorized, unblockedMid, reopened, ...adjustment]: [
  string,
  number,
  number,
  string,
  number,
  ...number[],
]): AskShare => ({
  eventKey,
  preauthorized: preauthorized === 1,
  addedMinor,
  unblockedMid,
  reopened: reopened === 1,
  adjustment: readAdjustment(adjustment),
})

function writeSpend({ amountMinor, cardId, at }: SpendEntry): unknown[] {
  const row: unknown[] = [amountMinor, cardId]
  for (const { window, scope, bucket } of at) row.push(window, scope === 'card' ? 0 : 1, bucket)
  return row
}

function readSpend([amountMinor, cardId, ...places]: [number, string, ...unknown[]]): SpendEntry {
  const at: Counted[] = []
  for (let i = 0; i < places.length; i += 3) {
    const scope = places[i + 1] === 0 ? 'card' : 'account'
    at.push({ window: places[i] as string, scope, bucket: places[i + 2] as number })
  }
  return { amountMinor, cardId, at }
}

const plainTransaction: Codec<Transaction> = createCodec(
  newTransaction('', ''),
  [
    { name: 'cardId' },
    { name: 'transactionId' },
    { name: 'authorizedMinor' },
    { name: 'settledMinor' },
    {
      name: 'asks',
      read: (json: Parameters<typeof readAsk>[0][]) => json.map(readAsk),
    },
    { name: 'expiresAtMs' },
    { name: 'lastEventAtMs' },
    { name: 'dueAtMs' },
    {
      name: 'spend',
      read: (json: Parameters<typeof readSpend>[0][]) => json.map(readSpend),
    },
    { name: 'closed' },
    { name: 'voided' },
    { name: 'expired' },
    { name: 'preauthorizedMinor' },
    { name: 'reversedMinor' },
    { name: 'lastDecline' },
    { name: 'cash' },
    { name: 'cashPosted' },
    { name: 'refundedMinor' },
    { name: 'linkedCreditMinor' },
    { name: 'grantedMinor' },
    { name: 'ceilingMinor' },
    { name: 'names' },
    { name: 'linkedTo' },
    { name: 'swiped' },
    { name: 'unblocked' },
    { name: 'foreignSettledMinor' },
    { name: 'foreignCash' },
    { name: 'chargeTakenMinor' },
    { name: 'chargePendingMinor' },
    { name: 'adjustment', read: readAdjustment },
  ],
  (t) => [
    1,
    t.cardId,
    t.transactionId,
    t.authorizedMinor,
    t.settledMinor,
    t.asks.map(writeAsk),
    t.expiresAtMs,
    t.lastEventAtMs,
    t.dueAtMs,
    t.spend.map(writeSpend),
    flag(t.closed),
    flag(t.voided),
    flag(t.expired),
    t.preauthorizedMinor,
    t.reversedMinor,
    t.lastDecline,
    flag(t.cash),
    flag(t.cashPosted),
    t.refundedMinor,
    t.linkedCreditMinor,
    t.grantedMinor,
    t.ceilingMinor,
    t.names,
    t.linkedTo,
    flag(t.swiped),
    flag(t.unblocked),
    t.foreignSettledMinor,
    flag(t.foreignCash),
    t.chargeTakenMinor,
    t.chargePendingMinor,
    writeAdjustment(t.adjustment),
  ],
)

/** A second name is kept where a transaction would be, marked by its first element. */
export const transactionCodec: Codec<Transaction | Alias> = {
  encode: (record) =>
    isAlias(record)
      ? JSON.stringify(['alias', record.cardId, record.aliasOf])
      : plainTransaction.encode(record),
  decode(text) {
    if (!text.startsWith('["alias"')) return plainTransaction.decode(text)
    const [, cardId, aliasOf] = JSON.parse(text) as [string, string, string]
    return { cardId, aliasOf }
  },
}

interface FlatEvent extends Omit<EventRecord, 'answer'> {
  readonly code: string
  readonly decidedBy: string
  readonly cause: string
  readonly ruleId: string
  readonly approvedAmountMinor: number | null
  readonly rulesVersion: string
}

const blankEvent: FlatEvent = {
  contentHash: '',
  code: '000',
  decidedBy: 'engine',
  cause: '',
  ruleId: '',
  approvedAmountMinor: null,
  rulesVersion: '',
  claims: [],
  absorbed: false,
  unmatched: '',
  atMs: 0,
}

const flatEvent: Codec<FlatEvent> = createCodec(
  blankEvent,
  [
    { name: 'contentHash' },
    { name: 'atMs' },
    { name: 'code' },
    { name: 'rulesVersion' },
    { name: 'claims' },
    { name: 'ruleId' },
    { name: 'decidedBy' },
    { name: 'cause' },
    { name: 'approvedAmountMinor' },
    { name: 'absorbed' },
    { name: 'unmatched' },
  ],
  (e) => [
    1,
    e.contentHash,
    e.atMs,
    e.code,
    e.rulesVersion,
    e.claims,
    e.ruleId,
    e.decidedBy,
    e.cause,
    e.approvedAmountMinor,
    flag(e.absorbed),
    e.unmatched,
  ],
)

export const eventCodec: Codec<EventRecord> = {
  encode({ contentHash, answer, claims, absorbed, unmatched, atMs }) {
    const { code, decidedBy, cause, ruleId, approvedAmountMinor, rulesVersion } = answer
    return flatEvent.encode({
      contentHash,
      code,
      decidedBy,
      cause,
      ruleId,
      approvedAmountMinor,
      rulesVersion,
      claims,
      absorbed,
      unmatched,
      atMs,
    })
  },
  decode(text) {
    const { contentHash, claims, absorbed, unmatched, atMs, ...answer } = flatEvent.decode(text)
    return {
      contentHash,
      answer: answer as EventRecord['answer'],
      claims,
      absorbed,
      unmatched,
      atMs,
    }
  },
}
