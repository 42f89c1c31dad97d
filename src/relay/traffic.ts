import type { CardEvent, Merchant, RequestType } from '../domain/record/event.ts'
import type { AmountMeaning } from './belief.ts'

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

/** Merchants that the rules of the sample pack decline. */
const dubious: readonly Merchant[] = [
  { mid: 'BETS-04', mcc: '7995', name: 'Lucky Bets', city: 'Malta', country: 'MT' },
  { mid: 'QUICKCOIN-01', mcc: '6051', name: 'Quickcoin', city: 'Vilnius', country: 'LT' },
]
const dubiousShare = 0.03

export function merchantOf(random: Random): Merchant {
  return random.pick(random.next() < dubiousShare ? dubious : merchants)
}

function step(requestType: RequestType, afterMs: number, amountMinor: number | null): Planned {
  const ask = ['Authorization', 'PreAuthorization', 'CashWithdrawal'].includes(requestType)
  return { afterMs, requestType, amountMinor, final: null, ifApproved: !ask, refunds: false }
}

/** What a plan is made from; `increment` and `release` give later amounts the network's meaning. */
interface Planning {
  readonly amountMinor: number
  wait(): number
  /** The amount of a second ask of `secondMinor` after a first. */
  increment(firstMinor: number, secondMinor: number): number
  /** The amount of a reversal of `releasedMinor` out of a total. */
  release(totalMinor: number, releasedMinor: number): number
}

type Plan = (planning: Planning) => readonly Planned[]

const third = (minor: number) => Math.floor(minor / 3)
const half = (minor: number) => Math.ceil(minor / 2)

function incremented({ amountMinor: a, wait, increment }: Planning): readonly Planned[] {
  return [step('PreAuthorization', 0, a), step('PreAuthorization', wait(), increment(a, half(a)))]
}

/** A thief tries a stolen number with small amounts until one is declined, and for a while after. */
function triedOut({ increment }: Planning): readonly Planned[] {
  const trial = 100
  return Array.from({ length: 8 }, (_, i) =>
    step('Authorization', i === 0 ? 0 : 40, i === 0 ? trial : increment(trial * i, trial)),
  )
}

function partlyReversed({ amountMinor: a, wait, release }: Planning): readonly Planned[] {
  return [step('Authorization', 0, a), step('PartialReversal', wait(), release(a, third(a)))]
}

/** The lifecycles of card payments, each with how often it happens. */
const plans: readonly (readonly [weight: number, name: string, plan: Plan])[] = [
  [
    36,
    'purchase',
    ({ amountMinor: a, wait }) => [step('Authorization', 0, a), step('Settlement', wait(), a)],
  ],
  [8, 'purchase not yet settled', ({ amountMinor: a }) => [step('Authorization', 0, a)]],
  [
    8,
    'reversed',
    ({ amountMinor: a, wait }) => [step('Authorization', 0, a), step('Reversal', wait(), a)],
  ],
  [
    6,
    'settled below',
    ({ amountMinor: a, wait }) => [
      step('Authorization', 0, a),
      step('Settlement', wait(), Math.ceil(a * 0.8)),
    ],
  ],
  [
    6,
    'settled above',
    ({ amountMinor: a, wait }) => [
      step('Authorization', 0, a),
      step('Settlement', wait(), Math.ceil(a * 1.15)),
    ],
  ],
  [
    5,
    'partly reversed',
    (p) => [
      ...partlyReversed(p),
      step('Settlement', p.wait(), p.amountMinor - third(p.amountMinor)),
    ],
  ],
  [3, 'partly reversed, not yet settled', partlyReversed],
  [
    5,
    'incremented',
    (p) => [...incremented(p), step('Settlement', p.wait(), p.amountMinor + half(p.amountMinor))],
  ],
  [3, 'incremented, not yet settled', incremented],
  [
    3,
    'estimate confirmed',
    ({ amountMinor: a, wait }) => [
      step('PreAuthorization', 0, a),
      step('Authorization', wait(), Math.ceil(a * 0.9)),
    ],
  ],
  [
    6,
    'settled in parts',
    ({ amountMinor: a, wait }) => [
      step('PreAuthorization', 0, a * 2),
      { ...step('Settlement', wait(), a), final: false },
      { ...step('Settlement', wait(), a), final: true },
    ],
  ],
  [
    6,
    'refunded',
    ({ amountMinor: a, wait }) => [
      step('Authorization', 0, a),
      step('Settlement', wait(), a),
      { ...step('Refund', wait(), half(a)), refunds: true },
    ],
  ],
  [
    4,
    'cash',
    ({ amountMinor: a, wait }) => [
      step('CashWithdrawal', 0, a * 2),
      { ...step('Settlement', wait(), a * 2), final: true },
    ],
  ],
  [2, 'cash not yet settled', ({ amountMinor: a }) => [step('CashWithdrawal', 0, a * 2)]],
  [1, 'tried out', triedOut],
  [4, 'force post', ({ amountMinor: a }) => [{ ...step('Settlement', 0, a), ifApproved: false }]],
]

const totalWeight = plans.reduce((sum, [weight]) => sum + weight, 0)

export function planLifecycle(
  random: Random,
  meanWaitMs: number,
  meaning: AmountMeaning,
): Lifecycle {
  let at = random.below(totalWeight)
  const found = plans.find(([weight]) => {
    at -= weight
    return at < 0
  })!
  const [, name, plan] = found
  const delta = meaning.incrementalAmount === 'delta'
  const released = meaning.partialReversalAmount === 'released'
  const events = plan({
    amountMinor: 100 + random.below(random.next() < 0.1 ? 50_000 : 4_000),
    wait: () => Math.round(-Math.log(1 - random.next()) * meanWaitMs),
    increment: (first, second) => (delta ? second : first + second),
    release: (total, part) => (released ? part : total - part),
  })
  return { name, events }
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
