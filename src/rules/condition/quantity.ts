import { decimalsOf } from '../../domain/record/currency.ts'
import { arithmetic, type Quantity } from './expression.ts'

/** A number of so many decimals, kept as an integer: 1.5 is 15 with a scale of 1. */
export interface Decimal {
  readonly quantity: Quantity
  readonly scale: number
}

/** The most decimals that a product of literals may have. */
export const maxScale = 9
const maxDigits = 15
const powersOfTen = [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9] as const

/** Reads a literal exactly; a text is the fault that it has. */
export function literal(source: string): Decimal | string {
  const match = /^(\d+)(?:\.(\d+))?$/.exec(source)
  if (match === null) return 'is no number here: write digits, such as 200 or 12.50'
  const [, whole = '', fraction = ''] = match
  const decimals = fraction.replace(/0+$/, '')
  if (decimals.length > maxScale) return 'has too many decimals'
  const digits = `${whole}${decimals}`.replace(/^0+/, '')
  if (digits.length > maxDigits) return 'has too many digits'
  return { quantity: { op: 'number', value: Number(digits) }, scale: decimals.length }
}

/** The same number with more decimals; null when a constant would no longer be exact. */
export function align({ quantity, scale }: Decimal, to: number): Decimal | null {
  if (scale === to) return { quantity, scale }
  const factor: Quantity = { op: 'number', value: powersOfTen[to - scale]! }
  const aligned = arithmetic('*', quantity, factor)
  if (aligned.op === 'number' && !Number.isSafeInteger(aligned.value)) return null
  return { quantity: aligned, scale: to }
}

/**
 * Converts a number of major units to minor units; null when the number depends on the ask, a text
 * when it is not the same amount in all of these currencies.
 */
export function convert(
  { quantity, scale }: Decimal,
  currencies: readonly string[],
): Quantity | null | string {
  if (quantity.op === 'choose') {
    const yes = convert({ quantity: quantity.yes, scale }, currencies)
    const no = convert({ quantity: quantity.no, scale }, currencies)
    if (yes === null || no === null) return null
    if (typeof yes === 'string') return yes
    return typeof no === 'string' ? no : { ...quantity, yes, no }
  }
  if (quantity.op !== 'number') return null
  const amounts = currencies.map((currency) => minorOf(quantity.value, scale, currency))
  const [first] = amounts
  for (const [i, amount] of amounts.entries()) {
    if (amount === null) return `has too many decimals for an amount in ${currencies[i]}`
    if (!Number.isSafeInteger(amount)) return 'has too many digits'
    if (amount !== first && quantity.value !== 0) {
      return `is not the same in ${currencies[0]} and ${currencies[i]}: name one currency`
    }
  }
  return { op: 'number', value: first! }
}

function minorOf(value: number, scale: number, currency: string): number | null {
  const shift = decimalsOf(currency) - scale
  if (shift >= 0) return value * powersOfTen[shift]!
  const divisor = powersOfTen[-shift]!
  return value % divisor === 0 ? value / divisor : null
}
