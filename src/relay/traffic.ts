import type { CardEvent, Merchant, RequestType } from '../domain/event.ts'

/** One event of a lifecycle, some time after the one before it. */
export interface Planned {
  readonly afterMs: number
  readonly requestType: RequestType
  readonly amountMinor: number | null
  readonly final: boolean | null
  /** Sent only if the ask before it was approved. */
  readonly ifApproved: boolean
  /** A refund under an id of its own. */
  readonly refunds: boolean
}

export interface Lifecycle {
  readonly name: string
  readonly events: readonly Planned[]
}

export interface Random {
  /** From 0 to below 1. */
  next(): number
  below(limit: number): number
  pick<T>(values: readonly T[]): T
}

/** The same seed gives the same numbers on every machine. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return { next, below, pick: (values) => values[below(values.length)]! }
}

const merchants: readonly Merchant[] = [
  { mid: 'GROCER-01', mcc: '5411', name: 'Corner Grocer', city: 'Lagos', country: 'NG' },
  { mid: 'FUEL-07', mcc: '5541', name: 'Ring Road Fuel', city: 'Accra', country: 'GH' },
  { mid: 'HOTEL-02', mcc: '7011', name: 'Harbour Hotel', city: 'London', country: 'GB' },
  { mid: 'STREAM-01', mcc: '4899', name: 'Streaming', city: 'Dublin', country: 'IE' },
  { mid: 'SHOP-11', mcc: '5999', name: 'Market Stall', city: 'Austin', country: 'US' },
]

export function merchantOf(random: Random): Merchant {
  return random.pick(merchants)
}

function step(requestType: RequestType, afterMs: number, amountMinor: number | null): Planned {
  const ask = ['Authorization', 'PreAuthorization', 'CashWithdrawal'].includes(requestType)
  return { afterMs, requestType, amountMinor, final: null, ifApproved: !ask, refunds: false }
}

type Plan = (amountMinor: number, wait: () => number) => readonly Planned[]

/** What happens to card payments, each with how often it does. */
const plans: readonly (readonly [weight: number, name: string, plan: Plan])[] = [
  [40, 'purchase', (a, w) => [step('Authorization', 0, a), step('Settlement', w(), a)]],
  [8, 'purchase not yet settled', (a) => [step('Authorization', 0, a)]],
  [8, 'reversed', (a, w) => [step('Authorization', 0, a), step('Reversal', w(), a)]],
  [
    6,
    'settled below',
    (a, w) => [step('Authorization', 0, a), step('Settlement', w(), Math.ceil(a * 0.8))],
  ],
  [
    6,
    'settled above',
    (a, w) => [step('Authorization', 0, a), step('Settlement', w(), Math.ceil(a * 1.15))],
  ],
  [
    6,
    'partly reversed',
    (a, w) => [
      step('Authorization', 0, a),
      step('PartialReversal', w(), Math.floor(a / 3)),
      step('Settlement', w(), a - Math.floor(a / 3)),
    ],
  ],
  [
    6,
    'incremented',
    (a, w) => [
      step('PreAuthorization', 0, a),
      step('PreAuthorization', w(), Math.ceil(a / 2)),
      step('Settlement', w(), a + Math.ceil(a / 2)),
    ],
  ],
  [
    6,
    'settled in parts',
    (a, w) => [
      step('PreAuthorization', 0, a * 2),
      { ...step('Settlement', w(), a), final: false },
      { ...step('Settlement', w(), a), final: true },
    ],
  ],
  [
    6,
    'refunded',
    (a, w) => [
      step('Authorization', 0, a),
      step('Settlement', w(), a),
      { ...step('Refund', w(), Math.ceil(a / 2)), refunds: true },
    ],
  ],
  [
    4,
    'cash',
    (a, w) => [
      step('CashWithdrawal', 0, a * 2),
      { ...step('Settlement', w(), a * 2), final: true },
    ],
  ],
  [4, 'force post', (a) => [{ ...step('Settlement', 0, a), ifApproved: false }]],
]

const totalWeight = plans.reduce((sum, [weight]) => sum + weight, 0)

export function planLifecycle(random: Random, meanWaitMs: number): Lifecycle {
  let at = random.below(totalWeight)
  const found = plans.find(([weight]) => {
    at -= weight
    return at < 0
  })!
  const [, name, plan] = found
  const amountMinor = 100 + random.below(random.next() < 0.1 ? 50_000 : 4_000)
  const wait = () => Math.round(-Math.log(1 - random.next()) * meanWaitMs)
  return { name, events: plan(amountMinor, wait) }
}

export function eventOf(
  planned: Planned,
  ids: { eventId: string; transactionId: string; originalTransactionId: string; cardId: string },
  merchant: Merchant,
  occurredAtMs: number,
): CardEvent {
  return {
    ...ids,
    requestType: planned.requestType,
    amountMinor: planned.amountMinor,
    currency: 'USD',
    final: planned.final,
    partialApprovalSupported: false,
    merchant,
    channel: '',
    entryMode: '',
    merchantAmountMinor: 0,
    merchantCurrency: '',
    occurredAtMs,
  }
}
