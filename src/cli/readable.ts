import { formatMinor } from '../domain/record/money.ts'
import { timeText } from './log/entry-line.ts'

/** A number above this is a time, not a duration: it stands for 1973 or later. */
const leastTimeMs = 100_000_000_000

/** A record with what people read beside what is kept: `held: "12.50 USD"` beside `heldMinor: 1250`. */
export function readable(value: unknown, currency: string): unknown {
  if (Array.isArray(value)) return value.map((inner) => readable(inner, currency))
  if (typeof value !== 'object' || value === null) return value
  const shown: Record<string, unknown> = {}
  for (const [name, inner] of Object.entries(value)) {
    shown[name] = readable(inner, currency)
    if (typeof inner !== 'number') continue
    const [, base, unit] = /^(.+)(Minor|Ms)$/.exec(name) ?? []
    const text = textOf(inner, unit, currency)
    if (base !== undefined && text !== '') shown[base in value ? `${base}Text` : base] = text
  }
  return shown
}

function textOf(number: number, unit: string | undefined, currency: string): string {
  if (unit === 'Ms') return number < leastTimeMs ? '' : timeText(number)
  return currency === '' ? '' : `${formatMinor(number, currency)} ${currency}`
}
