import { parseMinor } from '../domain/record/money.ts'

export interface AmountRefused {
  readonly refused: string
}

/** An amount in major units, once the currency is known. */
export function minorOf(text: string, currency: string): number | AmountRefused {
  const negative = text.startsWith('-')
  const minor = parseMinor(text.replace(/^[+-]/, '').replace(/^0+(?=\d)/, ''), currency)
  if (typeof minor !== 'number') return { refused: `${text} has ${minor} for ${currency}` }
  return negative ? -minor : minor
}
