import { isAlias } from '../../domain/change/book.ts'
import { type Account, noAccount } from '../../domain/record/account.ts'
import { type Card, noCard, type RecentAsk } from '../../domain/record/card.ts'
import { isCurrency } from '../../domain/record/currency.ts'
import type { EventRecord } from '../../domain/record/event-record.ts'
import type { HoldAdjustment } from '../../domain/record/hold-adjustment.ts'
import {
  type Alias,
  type AskShare,
  type CashKind,
  newTransaction,
  type Transaction,
} from '../../domain/record/transaction.ts'
import {
  type Codec,
  createCodec,
  firstCells,
  flag,
  parseStored,
  RecordUnreadable,
} from './row-codec.ts'
import { readSpend, type SpendRow, writeSpend } from './spend-codec.ts'
import { readMerchants, readWindowRows } from './window-codec.ts'
import { writeMerchants, writeWindowRows } from './window-text.ts'

export const accountCodec: Codec<Account> = createCodec(
  noAccount,
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
    writeWindowRows(a.windows),
    a.chargesTakenMinor,
    a.chargesPendingMinor,
    a.grantDay,
    a.grantedMinor,
    a.movedMinor,
  ],
  { windows: readWindowRows },
)

/** Whose an account is. Who reads many looks at nothing else of them: what they have counted is long. */
export function ownerIn(account: string): { organizationId: string; currency: string } {
  const cells = firstCells(account, 1, 11)
  const currency = textIn(cells, 2)
  // Nobody can show an amount in it, and whoever follows the log would stop there.
  if (currency !== '' && !isCurrency(currency)) throw new RecordUnreadable('it has no currency')
  return { organizationId: textIn(cells, 10), currency }
}

/** Whose a card is, in the same way. */
export function customerIn(card: string): string {
  return textIn(firstCells(card, 1, 3), 2)
}

function textIn(cells: readonly unknown[], place: number): string {
  const text = cells[place] ?? ''
  if (typeof text !== 'string') throw new RecordUnreadable('it says nobody who owns it')
  return text
}

const writeRecentAsk = (a: RecentAsk) => [a.atMs, a.mid, a.amountMinor]

const readRecentAsks = (json: [number, string, number][]): RecentAsk[] =>
  json.map(([atMs, mid, amountMinor]) => ({ atMs, mid, amountMinor }))

export const cardCodec: Codec<Card> = createCodec(
  noCard,
  (c) => [
    1,
    c.cardId,
    c.customerId,
    c.accountId,
    c.type,
    c.status,
    c.expiry,
    c.lastAskAtMs,
    writeWindowRows(c.windows),
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
    c.issuedAtMs,
    flag(c.contactlessPayment),
    c.customerType,
    c.seenMccs,
    c.seenCurrencies,
    c.declinesInRow,
    c.lastCountry,
    c.lastCity,
    c.lastPlaceAtMs,
    writeMerchants(c.merchantCounts),
    c.issued,
    c.metadata,
    c.lastLocation,
    c.lastLocationAtMs,
    flag(c.endedFrozen),
  ],
  { windows: readWindowRows, recentAsks: readRecentAsks, merchantCounts: readMerchants },
)

const writeAdjustment = (a: HoldAdjustment | null) =>
  a === null ? [] : [a.fixedMinor, a.plusMillionths, a.plusMinor]

function readAdjustment(json: readonly number[]): HoldAdjustment | null {
  if (!Array.isArray(json)) throw new RangeError('no adjustment')
  const [fixedMinor, plusMillionths, plusMinor] = json
  if (fixedMinor === undefined) return null
  if (![0, 1, 2].every((i) => Number.isSafeInteger(json[i]))) throw new RangeError('no adjustment')
  return { fixedMinor, plusMillionths: plusMillionths!, plusMinor: plusMinor! }
}

function writeAsk(a: AskShare): unknown[] {
  const flags = flag(a.reopened) + 2 * flag(a.abroad)
  const row: unknown[] = [a.eventKey, a.addedMinor, flag(a.preauthorized), a.unblockedMid, flags]
  const { adjustment, expiresAtMs, totalMinor, cash } = a
  const isTold = totalMinor !== null || cash !== null
  if (adjustment === null && expiresAtMs === null && !isTold) return row
  // Without an adjustment one of nothing stands there, which 0.2.0 reads as none.
  row.push(...(adjustment === null ? [0, 0, 0] : writeAdjustment(adjustment)))
  if (expiresAtMs !== null || isTold) row.push(expiresAtMs)
  if (isTold) row.push(totalMinor)
  if (cash !== null) row.push(cash)
  return row
}

type AskRow = [string, number, number, string, number, ...(number | string | null)[]]

function readAsk(row: AskRow): AskShare {
  const [eventKey, addedMinor, preauthorized, unblockedMid, flags, ...more] = row
  const adjustment = more.slice(0, 3) as number[]
  if (!Number.isFinite(addedMinor)) throw new RangeError('no share')
  return {
    eventKey,
    preauthorized: preauthorized === 1,
    addedMinor,
    unblockedMid,
    reopened: (flags & 1) === 1,
    abroad: (flags & 2) === 2,
    adjustment: adjustment.some((part) => part !== 0) ? readAdjustment(adjustment) : null,
    expiresAtMs: (more[3] ?? null) as number | null,
    totalMinor: (more[4] ?? null) as number | null,
    cash: (more[5] ?? null) as CashKind | null,
  }
}

const plainTransaction: Codec<Transaction> = createCodec(
  newTransaction('', ''),
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
    t.linkedCardId,
  ],
  {
    asks: (json: AskRow[]) => json.map(readAsk),
    spend: (json: SpendRow[]) => json.map(readSpend),
    adjustment: readAdjustment,
  },
)

/** A second name is kept where a transaction would be, marked by its first element. */
export const transactionCodec: Codec<Transaction | Alias> = {
  encode: (record) =>
    isAlias(record)
      ? JSON.stringify(['alias', record.cardId, record.aliasOf])
      : plainTransaction.encode(record),
  decode(text) {
    if (!text.startsWith('["alias"')) return plainTransaction.decode(text)
    const [, cardId, aliasOf] = parseStored(text) as readonly unknown[]
    if (typeof cardId !== 'string' || typeof aliasOf !== 'string') {
      throw new RecordUnreadable('it is no second name')
    }
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

const flatEvent: Codec<FlatEvent> = createCodec(blankEvent, (e) => [
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
])

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
