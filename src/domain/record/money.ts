import { decimalsOf } from './currency.ts'

const moneyProblems = ['malformed', 'negative', 'too many digits', 'too many decimals'] as const

export type MoneyProblem = (typeof moneyProblems)[number]

const maxTextChars = 64
const maxSignificantDigits = 15

/** Far beyond what a significand of 64 characters could bring back into range. */
const exponentCap = 1000

/** Literals, because `10 ** n` is not promised to be exact. */
const powersOfTen = [
  1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
  1e18, 1e19,
] as const satisfies readonly number[]

const minus = 45
const plus = 43
const point = 46
const zero = 48
const upperE = 69
const lowerE = 101

/**
 * Reads an amount in major units from its decimal text (the grammar of a JSON number) into minor
 * units. Only integers are ever computed with, and none that could have been rounded is returned.
 */
export function parseMinor(decimalText: string, currency: string): number | MoneyProblem {
  const length = decimalText.length
  if (length === 0 || length > maxTextChars) return 'malformed'
  const negative = decimalText.charCodeAt(0) === minus
  const first = negative ? 1 : 0

  let significand = 0
  let digits = 0
  // Zeros wait here until a digit follows, so trailing ones never count as digits.
  let zeros = 0
  let pointAt = -1
  let i = first
  for (; i < length; i++) {
    const code = decimalText.charCodeAt(i)
    const digit = code - zero
    if (digit === 0) {
      if (digits > 0) zeros++
    } else if (digit > 0 && digit <= 9) {
      digits += zeros + 1
      if (digits <= maxSignificantDigits) {
        significand = significand * (powersOfTen[zeros + 1] as number) + digit
      }
      zeros = 0
    } else if (code === point && pointAt < 0) {
      pointAt = i
    } else {
      break
    }
  }
  const integerEnd = pointAt < 0 ? i : pointAt
  if (integerEnd === first) return 'malformed'
  if (decimalText.charCodeAt(first) === zero && integerEnd > first + 1) return 'malformed'
  const decimals = pointAt < 0 ? 0 : i - pointAt - 1
  if (pointAt >= 0 && decimals === 0) return 'malformed'

  const exponent = i === length ? 0 : readExponent(decimalText, i)
  if (exponent === null) return 'malformed'
  if (negative) return 'negative'
  if (digits === 0) return 0

  // The amount is now significand × 10^power, and the last digit of the significand is not zero.
  const power = zeros - decimals + exponent
  if (digits + Math.max(power, 0) > maxSignificantDigits) return 'too many digits'
  const shift = power + decimalsOf(currency)
  if (shift < 0) return 'too many decimals'
  // Both factors are exact, so a product that is not is at least 2^53 and shows.
  const minor = significand * (powersOfTen[shift] as number)
  return Number.isSafeInteger(minor) ? minor : 'too many digits'
}

function readExponent(text: string, at: number): number | null {
  const mark = text.charCodeAt(at)
  if (mark !== lowerE && mark !== upperE) return null
  const sign = text.charCodeAt(at + 1)
  const first = sign === plus || sign === minus ? at + 2 : at + 1
  if (first >= text.length) return null
  let exponent = 0
  for (let i = first; i < text.length; i++) {
    const digit = text.charCodeAt(i) - zero
    if (digit < 0 || digit > 9) return null
    if (exponent < exponentCap) exponent = exponent * 10 + digit
  }
  return sign === minus ? -exponent : exponent
}

/** The amount in major units with all the decimals of its currency: '12.50', '-3.00', '5'. */
export function formatMinor(minor: number | bigint, currency: string): string {
  if (typeof minor === 'number') assertSafeInteger(minor)
  const decimals = decimalsOf(currency)
  const sign = minor < 0 ? '-' : ''
  const digits = String(minor).slice(sign.length)
  if (decimals === 0) return sign + digits
  const padded = digits.padStart(decimals + 1, '0')
  const split = padded.length - decimals
  return `${sign}${padded.slice(0, split)}.${padded.slice(split)}`
}

/** The same as a number, for what is only shown. */
export function majorOf(minor: number | bigint, currency: string): number {
  return Number(formatMinor(minor, currency))
}

const million = 1_000_000
const bigMillion = 1_000_000n

/**
 * A share of an amount, in millionths (2.5 % is 25000); exact halves go up. What cannot be exact is
 * Infinity, which no sum can take in: whoever books it refuses it.
 */
export function percentOf(amountMinor: number, millionths: number): number {
  assertSafeInteger(millionths)
  if (!Number.isSafeInteger(amountMinor)) return Infinity
  const product = amountMinor * millionths
  if (Number.isSafeInteger(product)) {
    // The remainder of integers is exact, a quotient with a fraction is not.
    const rest = product % million
    return roundHalfUp((product - rest) / million, rest)
  }
  const exact = BigInt(amountMinor) * BigInt(millionths)
  const share = roundHalfUp(Number(exact / bigMillion), Number(exact % bigMillion))
  return Number.isSafeInteger(share) ? share : Infinity
}

function roundHalfUp(quotient: number, rest: number): number {
  if (rest >= million / 2) return quotient + 1
  if (rest < -million / 2) return quotient - 1
  return quotient
}

function assertSafeInteger(value: number): void {
  if (!Number.isSafeInteger(value)) throw new RangeError(`not a safe integer: ${value}`)
}
