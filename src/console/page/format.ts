import { decimalsOf, isCurrency } from '../../domain/record/currency.ts'
import type { Money } from '../shape/decision.ts'
import { isCutOff } from './counted.ts'

const numbers = new Intl.NumberFormat('en-GB')
const formats = new Map<number, Intl.NumberFormat>()

/** An amount in the currency's own decimals, which ISO gives and browsers do not. */
export function moneyText({ minor, currency }: Money): string {
  if (!isCurrency(currency)) return numbers.format(minor)
  const decimals = decimalsOf(currency)
  let format = formats.get(decimals)
  if (format === undefined) {
    format = new Intl.NumberFormat('en-GB', {
      minimumFractionDigits: decimals,
      maximumFractionDigits: decimals,
    })
    formats.set(decimals, format)
  }
  return `${format.format(minor / 10 ** decimals)} ${currency}`
}

export function countText(count: number): string {
  return numbers.format(count)
}

/** The sum of what is counted no further than a bound. */
export function countedText(counts: Parameters<typeof isCutOff>[0]): string {
  const sum = Object.values(counts).reduce((sum, count) => sum + count, 0)
  return `${countText(sum)}${isCutOff(counts) ? '+' : ''}`
}

/** Milliseconds with as many digits as tell something. */
export function msText(ms: number): string {
  if (ms >= 100) return `${Math.round(ms)} ms`
  return ms >= 10 ? `${ms.toFixed(1)} ms` : `${ms.toFixed(2)} ms`
}

const clockFormat = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
})
const dayFormat = new Intl.DateTimeFormat('en-GB', {
  day: '2-digit',
  month: 'short',
  year: 'numeric',
})
const minuteFormat = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })

export function clockText(atMs: number): string {
  return clockFormat.format(atMs)
}

export function dayTimeText(atMs: number): string {
  return `${dayFormat.format(atMs)}, ${minuteFormat.format(atMs)}`
}

export function utcText(atMs: number): string {
  return new Date(atMs).toISOString().replace('T', ' ').replace('Z', ' UTC')
}

/** How long ago, or in how long, in the largest unit that fits. */
export function spanText(ms: number): string {
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
  ] as const
  for (const [unit, unitMs] of units) {
    if (ms >= unitMs) return `${Math.floor(ms / unitMs)} ${unit}`
  }
  return `${Math.max(0, Math.round(ms / 1000))} s`
}

export function bytesText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  if (bytes < 1_048_576) return `${(bytes / 1024).toFixed(1)} KB`
  return `${(bytes / 1_048_576).toFixed(1)} MB`
}

/**
 * Text of strangers, such as a merchant's name, with what a screen would obey or hide made visible:
 * control characters, and marks that turn the direction of what follows.
 */
export function plainText(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (mark) => {
    return `\\u{${mark.codePointAt(0)!.toString(16)}}`
  })
}
