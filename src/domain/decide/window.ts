import type { Account } from '../record/account.ts'
import type { Bucket } from '../record/bucket.ts'
import type { Card } from '../record/card.ts'
import type { CardEvent } from '../record/event.ts'
import { countsAt } from '../record/merchant-counts.ts'
import type { Transaction } from '../record/transaction.ts'
import { estimateValues, maxDistinct } from '../record/value-sketch.ts'
import {
  type CountedNow,
  noState,
  type WindowState,
  type WindowStates,
} from '../record/window-state.ts'

/**
 * A named spend counter. Spend windows follow W of each transaction, up and down; windows over asks
 * or declines count attempts and never give back.
 */
export interface WindowDefinition {
  readonly name: string
  /** `card-and-merchant` counts each MID of a card apart; the shared ones count over all cards. */
  readonly scope: 'card' | 'account' | 'card-and-merchant' | SharedScope
  readonly over: 'approved' | 'cash' | 'asks' | 'declines'
  /** Also tells how many different values of a field it counts. */
  readonly distinct: boolean
  /** The value that is counted apart: of that field, or the MID of `card-and-merchant`. */
  readonly partOf: (facts: WindowFacts) => string
  /** Also tells the largest amount and how far amounts lie apart. */
  readonly spread: boolean
  readonly matches: (facts: WindowFacts) => boolean
  /** The bucket an instant belongs to for accounts of a country; consecutive in time. */
  readonly bucketOf: (atMs: number, country: string) => number
  /** How many buckets, ending with the present one, make the window. */
  readonly span: number
}

/** What windows over several cards can stand on. */
export const sharedScopes = ['merchant', 'customer', 'organization', 'mcc', 'country'] as const

export type SharedScope = (typeof sharedScopes)[number]

function isSharedScope(scope: WindowDefinition['scope']): scope is SharedScope {
  return scope !== 'card' && scope !== 'account' && scope !== 'card-and-merchant'
}

/** Where a window over several cards adds up amounts in one currency: names of windows have no space. */
export const nameIn = ({ name }: WindowDefinition, currency: string) => `${name} ${currency}`

/** The counts of windows over several cards, by `sharedKey`. They belong to no account. */
export interface SharedCounts {
  statesOf(key: string): WindowStates
  count(places: readonly SharedPlace[], amountMinor: number): void
}

/** A place of a window over several cards where an ask counts. */
export interface SharedPlace {
  readonly key: string
  readonly at: CountedNow
  /** Of the whole window, also where a value of it is counted. */
  readonly windowOldest: number
}

/** The window behind the cards' daily limit; every pack has it. */
export const dailyWindow = 'daily'

export interface WindowSums {
  readonly sumMinor: number
  readonly count: number
  /** How many of these the sum is of, where not of all: amounts of several currencies have no sum. */
  readonly summed?: number
}

/** The reading of a window; `distinct` is 0 for a window that does not keep it. */
export interface WindowValue extends WindowSums {
  readonly distinct: number
}

/** Largest amount and standard deviation; zeros for a window that does not keep them. */
export interface WindowSpread {
  readonly maxMinor: number
  readonly deviationMinor: number
}

/** An event and its records, before it is counted. */
export interface WindowFacts {
  readonly account: Account
  readonly card: Card
  readonly transaction: Transaction
  readonly event: CardEvent
  readonly atMs: number
  /** Absent where the pack has no windows over several cards. */
  readonly shared?: SharedCounts | undefined
  /** What the card has counted at the merchant, where it was looked up once for all windows. */
  readonly atMerchant?: WindowStates
}

/** The reading that an ask finds, before it is counted itself. */
export function windowAt(definition: WindowDefinition, facts: WindowFacts): WindowValue {
  return { ...sumsAt(definition, facts), distinct: distinctAt(definition, facts) }
}

export function sumsAt(definition: WindowDefinition, facts: WindowFacts): WindowSums {
  const states = statesOf(definition, facts)
  const { atMs, account, event } = facts
  const sums = sumsIn(states, definition, atMs, account.country)
  if (!isSharedScope(definition.scope)) return sums
  const name = nameIn(definition, event.currency)
  const { sumMinor, count } = sumsIn(states, definition, atMs, account.country, name)
  return { sumMinor, count: sums.count, summed: count }
}

export function spreadAt(definition: WindowDefinition, facts: WindowFacts): WindowSpread {
  const { atMs, account, event } = facts
  const name = isSharedScope(definition.scope) ? nameIn(definition, event.currency) : undefined
  return spreadIn(statesOf(definition, facts), definition, atMs, account.country, name)
}

/** Every merchant is looked at, so it is apart from the sums, which most rules are about. */
export function distinctAt(definition: WindowDefinition, facts: WindowFacts): number {
  return distinctIn(statesOf(definition, facts), definition, facts.atMs, facts.account.country)
}

const noStates: WindowStates = {}

/** The card's, the account's, or those of what a shared window stands on. */
function statesOf({ scope }: WindowDefinition, facts: WindowFacts): WindowStates {
  if (scope === 'account') return facts.account.windows
  if (scope === 'card') return facts.card.windows
  if (scope === 'card-and-merchant') {
    return facts.atMerchant ?? countsAt(facts.card.merchantCounts, facts.event.merchant.mid)
  }
  return facts.shared?.statesOf(sharedKey(scope, facts)) ?? noStates
}

const sharedValues: Record<SharedScope, (facts: WindowFacts) => string> = {
  merchant: ({ event }) => event.merchant.mid,
  customer: ({ card }) => card.customerId,
  organization: ({ account }) => account.organizationId,
  mcc: ({ event }) => event.merchant.mcc,
  country: ({ event }) => event.merchant.country,
}

/** What all windows of a shared scope stand on, for one ask; '' when the ask does not say it. */
export function sharedKey(scope: SharedScope, facts: WindowFacts): string {
  const value = sharedValues[scope](facts)
  return value === '' ? '' : `${scope} ${value}`
}

/** The states are those of the card, account or merchant that the window stands on. */
export function windowValue(
  states: WindowStates,
  definition: WindowDefinition,
  atMs: number,
  country = '',
): WindowValue {
  const distinct = distinctIn(states, definition, atMs, country)
  return { ...sumsIn(states, definition, atMs, country), distinct }
}

const noSums: WindowSums = { sumMinor: 0, count: 0 }

export function sumsIn(
  states: WindowStates,
  definition: WindowDefinition,
  atMs: number,
  country: string,
  name = definition.name,
): WindowSums {
  const { buckets } = states[name] ?? noState
  if (buckets.length === 0) return noSums
  const newest = definition.bucketOf(atMs, country)
  const oldest = newest - definition.span + 1
  let sumMinor = 0
  let count = 0
  for (let i = buckets.length - 1; i >= 0; i--) {
    const bucket = buckets[i]!
    if (bucket.index < oldest) break
    if (bucket.index > newest) continue
    sumMinor += bucket.sumMinor
    count += bucket.count
  }
  return { sumMinor, count }
}

/** The buckets that count now, newest first. */
function* bucketsNow(
  states: WindowStates,
  { span, bucketOf }: WindowDefinition,
  atMs: number,
  country: string,
  name: string,
): Generator<Bucket, void, void> {
  const { buckets } = states[name] ?? noState
  const newest = bucketOf(atMs, country)
  for (let i = buckets.length - 1; i >= 0; i--) {
    const bucket = buckets[i]!
    if (bucket.index <= newest - span) break
    if (bucket.index <= newest) yield bucket
  }
}

/** The deviation is that of a whole population, in whole minor units. */
export function spreadIn(
  states: WindowStates,
  definition: WindowDefinition,
  atMs: number,
  country = '',
  name = definition.name,
): WindowSpread {
  let [squares, maxMinor] = [0, 0]
  for (const { spread } of bucketsNow(states, definition, atMs, country, name)) {
    if (spread === undefined) continue
    squares += spread.squares
    maxMinor = Math.max(maxMinor, spread.maxMinor)
  }
  const { sumMinor, count } = sumsIn(states, definition, atMs, country, name)
  const variance = count === 0 ? 0 : squares / count - (sumMinor / count) ** 2
  return { maxMinor, deviationMinor: Math.round(Math.sqrt(Math.max(0, variance))) }
}

/** The mean of what a window counts, in whole minor units; 0 when it counts nothing. */
export function averageOf({ sumMinor, count, summed = count }: WindowSums): number {
  return summed === 0 ? 0 : Math.round(sumMinor / summed)
}

function distinctIn(
  states: WindowStates,
  definition: WindowDefinition,
  atMs: number,
  country: string,
): number {
  const { name, distinct, span, bucketOf } = definition
  if (!distinct || states[name] === undefined) return 0
  const newest = bucketOf(atMs, country)
  const oldest = newest - span + 1
  const { merchants, sketch } = states[name]
  const toldApart = merchantsIn(states[name], oldest, newest)
  if (sketch === undefined) return toldApart
  return Math.min(maxDistinct, toldApart + estimateValues(sketch, oldest, newest, merchants.length))
}

function merchantsIn({ merchants }: WindowState, oldest: number, newest: number): number {
  let counting = 0
  for (let i = 0; i < merchants.length; i++) {
    if (countsWithin(merchants[i]!.buckets, oldest, newest)) counting++
  }
  return counting
}

function countsWithin(buckets: readonly Bucket[], oldest: number, newest: number): boolean {
  for (let i = buckets.length - 1; i >= 0; i--) {
    const { index, count } = buckets[i]!
    if (index < oldest) return false
    if (count > 0 && index <= newest) return true
  }
  return false
}
