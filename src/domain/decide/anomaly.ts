import type { View } from '../change/view.ts'
import { repeatWithinMs } from '../record/card.ts'
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
import type { Ask } from './ask.ts'
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
  'review',
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

export function askAnomalies(ask: Ask): Anomaly[] {
  const { amountMinor, transaction } = ask
  const cumulative = ask.pack.switches.incrementalAmount === 'cumulative'
  return found([
    ['late', transaction.settledMinor > 0 && !isAsked(transaction)],
    ['total_below', cumulative && amountMinor < netAuthorized(transaction)],
    ['possible_repeat', amountMinor > 0 && isRepeat(ask)],
  ])
}

function isRepeat({ event, card, amountMinor, atMs }: Ask): boolean {
  return card.recentAsks.some(
    (recent) =>
      recent.amountMinor === amountMinor &&
      recent.mid === event.merchant.mid &&
      atMs - recent.atMs <= repeatWithinMs,
  )
}

/** Of an event that could not leave its name: its later events must name the original again. */
export function namingAnomalies({ joining, transaction }: View): Anomaly[] {
  return joining !== '' && transaction.names.length >= maxSecondNames ? ['too_many_names'] : []
}
