import { suggestion } from '../../document/spelling.ts'
import type { FactTable } from './fact.ts'

/** Why some operations of CEL are refused. */
export const refusals: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '/': '/ is not allowed: multiply the other side instead',
    '%': '% is not allowed',
    '[]': '[ ] after a value is not allowed',
    map: 'maps are not allowed',
  }),
)

/** The fault of an unknown name, with the name that was probably meant. */
export function explainUnknown(
  name: string,
  facts: FactTable,
  lists: ReadonlyMap<string, ReadonlySet<string>>,
): string {
  const [root = '', second = ''] = name.split('.')
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
  const parts = names.filter((one) => one.startsWith(`${name}.`))
  if (parts.length > 0) return `${name} is no value: name one of ${parts.join(', ')}`
  return `${name} is not known${suggestion(name, names)}`
}
