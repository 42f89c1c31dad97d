import type { BlockKind } from '../domain/record/block.ts'
import { isCountry } from './country.ts'

/** The value of a block as events have it: one of another form would block nothing. */
export function blockValueOf(kind: BlockKind, text: string): string | { readonly refused: string } {
  if (kind === 'country') {
    const country = text.toUpperCase()
    return isCountry(country) ? country : { refused: 'must be an ISO 3166 alpha-2 country' }
  }
  if (kind === 'mcc') return /^\d{4}$/.test(text) ? text : { refused: 'must be four digits' }
  const isId = /^[\x20-\x7e]{1,64}$/.test(text)
  return isId ? text : { refused: 'must be 1 to 64 printable ASCII characters' }
}
