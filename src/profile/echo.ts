import type { CardEvent } from '../domain/record/event.ts'
import { isJsonNumber, type JsonValue } from '../wire/json.ts'
import { quote } from '../wire/quote.ts'
import type { Refusal } from '../wire/refusal.ts'
import type { Found } from './pointer.ts'

/** What the answer repeats of the body, as JSON, in the order of its places. */
export type Echoes = readonly string[]

/** A body, read: an event or why it is none, and what the answer needs of it that is in neither. */
export interface ReadBody {
  readonly event: CardEvent | Refusal
  readonly echoes: Echoes
}

export const noEchoes: Echoes = []

export function repeat(found: Found, echoed: readonly number[]): Echoes {
  const repeated: string[] = []
  for (let i = 0; i < echoed.length; i++) repeated.push(jsonOf(found.at(echoed[i] as number)))
  return repeated
}

/** '' when nothing is there: objects and arrays are not repeated. */
function jsonOf(value: JsonValue | undefined): string {
  if (typeof value === 'string') return quote(value)
  if (isJsonNumber(value)) return value.decimal
  return typeof value === 'boolean' ? String(value) : ''
}
