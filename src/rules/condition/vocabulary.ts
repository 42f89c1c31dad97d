import { suggestion } from '../../document/spelling.ts'
import type { Definitions } from './definition.ts'
import type { FactTable } from './fact.ts'
import type { FactSlots } from './fact-slots.ts'
import type { Rates } from './worth.ts'

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
  /** What other currencies are worth in it. */
  readonly rates: Rates
}

/** Why some operations of CEL are refused. */
export const refusals: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '/': '/ is not allowed: multiply the other side instead',
    '%': '% is not allowed',
    '[]': '[ ] after a value is not allowed',
    map: 'maps are not allowed',
  }),
)

/** What a window must say so that it tells more than its sum and count. */
const partsKept: Readonly<Record<string, string>> = {
  distinct: 'distinct: true, or the name of a text,',
  deviation: 'spread: true',
  max: 'spread: true',
}

/** The fault of an unknown name, with the name that was probably meant. */
export function explainUnknown(
  name: string,
  facts: FactTable,
  lists: ReadonlyMap<string, ReadonlySet<string>>,
): string {
  const [root = '', second = ''] = name.split('.')
  if (lists.has(second) && root === 'lists') {
    return `${name} is not known: a list is named lists.${second}, and only after in or in size()`
  }
  if (root === 'lists' && second !== '') {
    return `there is no list ${second}, lists/${second}.txt${suggestion(second, lists.keys())}`
  }
  const names = [...facts.keys()]
  if (root === 'windows' && second !== '') {
    const known = new Set(names.flatMap((one) => one.match(/^windows\.([^.]+)/)?.[1] ?? []))
    if (!known.has(second)) {
      return `there is no window ${second} in windows.yaml${suggestion(second, known)}`
    }
  }
  const [, , part = ''] = name.split('.')
  const kept = partsKept[part]
  if (root === 'windows' && kept !== undefined) {
    return `the window ${second} keeps no ${part}: give it ${kept} in windows.yaml`
  }
  const parts = names.filter((one) => one.startsWith(`${name}.`))
  if (parts.length > 0) return `${name} is no value: name one of ${parts.join(', ')}`
  return `${name} is not known${suggestion(name, names)}`
}
