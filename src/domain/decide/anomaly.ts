import type { View } from '../change/view.ts'
import { type Card, repeatWithinMs } from '../record/card.ts'
import type { CardEvent } from '../record/event.ts'
import {
  heldBeforeVoid,
  isAsked,
  maxSecondNames,
  netAuthorized,
  openHold,
  overReversed,
  type Transaction,
  uncovered,
} from '../record/transaction.ts'
import type { Switches } from './pack.ts'

/** Findings that people should look at: in the log, never in the answer. */
export const anomalies = [
  'no_authorization',
  'after_reversal',
  'after_expiry',
  'after_close',
  'above_authorized',
  'repeated',
  'unsolicited',
  'amount_differs',
  'over_reversal',
  'remaining_above',
  'uncovered',
  'late',
  'total_below',
  'possible_repeat',
  'too_many_names',
] as const

export type Anomaly = (typeof anomalies)[number]

type Finding = readonly [Anomaly, boolean]

function found(findings: readonly Finding[]): Anomaly[] {
  return findings.filter(([, is]) => is).map(([anomaly]) => anomaly)
}

export function settlementAnomalies(before: Transaction, after: Transaction): Anomaly[] {
  return found([
    ['no_authorization', !isAsked(before)],
    ['after_reversal', before.voided],
    ['after_expiry', before.expired],
    ['after_close', before.closed],
    ['above_authorized', after.settledMinor > heldBeforeVoid(before)],
  ])
}

export function reversalAnomalies(event: CardEvent, before: Transaction): Anomaly[] {
  return found([
    ['repeated', before.voided],
    ['unsolicited', openHold(before) === 0],
    ['amount_differs', event.amountMinor !== null && event.amountMinor !== netAuthorized(before)],
  ])
}

export function partialReversalAnomalies(
  event: CardEvent,
  before: Transaction,
  after: Transaction,
  switches: Switches,
): Anomaly[] {
  const remaining = switches.partialReversalAmount === 'remaining'
  return found([
    ['over_reversal', overReversed(after)],
    ['remaining_above', remaining && (event.amountMinor ?? 0) > netAuthorized(before)],
  ])
}

/** `where` is the transaction that the refund's uncovered part stands at. */
export function refundAnomalies(where: Transaction): Anomaly[] {
  return found([['uncovered', uncovered(where) > where.grantedMinor]])
}

export function askAnomalies(
  event: CardEvent,
  before: Transaction,
  card: Card,
  switches: Switches,
  atMs: number,
): Anomaly[] {
  const amountMinor = event.amountMinor ?? 0
  const cumulative = switches.incrementalAmount === 'cumulative'
  return found([
    ['late', before.settledMinor > 0 && !isAsked(before)],
    ['total_below', cumulative && amountMinor < netAuthorized(before)],
    ['possible_repeat', amountMinor > 0 && isRepeat(event, card, amountMinor, atMs)],
  ])
}

function isRepeat(event: CardEvent, card: Card, amountMinor: number, atMs: number): boolean {
  return card.recentAsks.some(
    (ask) =>
      ask.amountMinor === amountMinor &&
      ask.mid === event.merchant.mid &&
      atMs - ask.atMs <= repeatWithinMs,
  )
}

/** Of an event that could not leave its name: its later events must name the original again. */
export function namingAnomalies({ joining, transaction }: View): Anomaly[] {
  return joining !== '' && transaction.names.length >= maxSecondNames ? ['too_many_names'] : []
}
