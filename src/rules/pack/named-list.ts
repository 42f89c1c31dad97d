import { z } from 'zod'
import { suggestion } from '../../document/spelling.ts'

/** The lists of a pack by name: lists/gambling_mccs.txt is gambling_mccs. */
export type Lists = ReadonlyMap<string, ReadonlySet<string>>

export const listName = z
  .string()
  .regex(
    /^[a-z][a-z0-9_]{0,39}$/,
    'must be the name of a list, of lower case letters, digits and _',
  )

/** A fault that the schema does not find, named by its field. */
export interface PackProblem {
  readonly field: string
  readonly message: string
}

/** The values that are given, or those of the list that is named. */
export function valuesOf(
  given: string | readonly string[],
  field: string,
  lists: Lists,
  problems: PackProblem[],
): ReadonlySet<string> {
  if (typeof given !== 'string') return new Set(given)
  const list = lists.get(given)
  if (list !== undefined) return list
  problems.push({
    field,
    message: `names the list ${given}, and there is no lists/${given}.txt${suggestion(given, lists.keys())}`,
  })
  return new Set()
}
