import type { Definitions } from './definition.ts'
import type { FactTable } from './fact.ts'
import type { FactSlots } from './fact-slots.ts'

/** The names that a condition can use. */
export interface Vocabulary {
  readonly facts: FactTable
  readonly lists: ReadonlyMap<string, ReadonlySet<string>>
  /** The line of a value in the file of a list. */
  readonly lineInList: (list: string, value: string) => number
  /** Conditions of the pack that others name. */
  readonly defined: Definitions
  readonly slots: FactSlots
  /** The pack's currency: amounts are in it where a rule names no other. */
  readonly currency: string
}
