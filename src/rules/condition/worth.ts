import { decimalsOf } from '../../domain/record/currency.ts'
import { compare, type Test } from './expression.ts'
import type { Fact, FactTable } from './fact.ts'
import type { FactSlots } from './fact-slots.ts'
import type { Checked, CurrencyUse, Operand } from './operand.ts'
import { literal } from './quantity.ts'
import type { ConditionFault } from './syntax.ts'

/** What one minor unit of each currency is in minor units of the pack's, in billionths. */
export type Rates = Readonly<Record<string, number>>

const billion = 1_000_000_000
const rateDecimals = 9

/** Reads a rate, such as 1.08 of EUR in a pack of USD; a text is the fault that it has. */
export function rateOf(text: string, of: string, packCurrency: string): number | string {
  const read = literal(text)
  if (typeof read === 'string') return read
  if (read.quantity.op !== 'number' || read.quantity.value === 0) return 'must be above 0'
  const shift = rateDecimals - read.scale + decimalsOf(packCurrency) - decimalsOf(of)
  const billionths = shift < 0 ? Number.NaN : read.quantity.value * Number(`1e${shift}`)
  if (Number.isSafeInteger(billionths)) return billionths
  return shift < 0 ? 'has too many decimals' : 'has too many digits'
}

/** With a space in its name no condition can name it. */
const rateName = 'rate of currency'

/** The rate of the ask's currency, 0 where the pack has none. */
export function rateFact(rates: Rates): Fact {
  const read: Extract<Fact, { type: 'number' }>['read'] = ({ event }) => rates[event.currency] ?? 0
  return { name: rateName, type: 'number', says: 'Rate of the currency of the ask', read }
}

/** Rates of a pack that says some, with its own currency among them. */
export function ratesOf(given: Rates, packCurrency: string): Rates {
  return { [packCurrency]: billion, ...given }
}

export function hasRates(rates: Rates): boolean {
  return Object.keys(rates).length > 0
}

/** An amount in minor units of the pack's currency, exact halves up; infinite beyond what is exact. */
export function worthAt(minor: number, billionths: number): number {
  const beyond = minor < 0 ? -Infinity : Infinity
  if (!Number.isSafeInteger(minor)) return beyond
  const product = minor * billionths
  if (Number.isSafeInteger(product)) {
    const rest = ((product % billion) + billion) % billion
    return (product - rest) / billion + (rest >= billion / 2 ? 1 : 0)
  }
  const exact = BigInt(minor) * BigInt(billionths)
  const rest = ((exact % BigInt(billion)) + BigInt(billion)) % BigInt(billion)
  const worth = Number((exact - rest) / BigInt(billion)) + (rest >= BigInt(billion / 2) ? 1 : 0)
  return Number.isSafeInteger(worth) ? worth : beyond
}

interface WorthContext {
  readonly facts: FactTable
  readonly slots: FactSlots
  readonly use: CurrencyUse
  readonly fault: ConditionFault
}

/** `worth(x)`: an amount of the account's currency in the pack's. */
export function checkWorth(of: Operand | null, context: WorthContext): Checked | null {
  const { facts, slots, use, fault } = context
  if (of === null) return null
  const { node, checked } = of
  const rate = facts.get(rateName)
  const wrong =
    rate === undefined
      ? 'worth() needs rates in pack.yaml, such as rates: { EUR: 1.08 }'
      : checked.type !== 'money' || checked.unit !== 'currency'
        ? 'worth() takes an amount in the currency of the account'
        : checked.scale > 0
          ? 'worth() takes an amount as it is: multiply what it gives'
          : ''
  if (wrong !== '' || rate?.type !== 'number' || checked.type !== 'money') {
    fault(node.start, wrong)
    return null
  }
  use.converted = true
  const quantity = { op: 'worth', of: checked.quantity, slot: slots.numberOf(rate) } as const
  return { type: 'money', unit: 'pack', quantity, scale: 0 }
}

/** Holds for asks in a currency that the pack has a rate for. */
export function hasRate(facts: FactTable, slots: FactSlots): Test {
  const rate = facts.get(rateName) as Extract<Fact, { type: 'number' }>
  const known = { op: 'fact', slot: slots.numberOf(rate) } as const
  return compare('>', known, { op: 'number', value: 0 })
}
