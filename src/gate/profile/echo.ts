import type { CardEvent } from '../../domain/record/event.ts'
import { isJsonNumber, type JsonValue } from '../../wire/json.ts'
import { quote } from '../../wire/quote.ts'
import type { Refusal } from '../../wire/refusal.ts'
import type { Found } from './pointer.ts'

/** What the answer repeats of the body, as JSON. A symbol keeps it out of journal and log. */
export const echoes: unique symbol = Symbol('echoes')

export interface MappedEvent extends CardEvent {
  readonly [echoes]?: readonly string[]
}

export interface MappedRefusal extends Refusal {
  readonly [echoes]?: readonly string[]
}

export interface EchoingEvent extends CardEvent {
  [echoes]: readonly string[]
}

export function repeat(found: Found, echoed: readonly number[]): readonly string[] {
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
