import { stringify } from 'yaml'
import type { TestCase } from './test-case.ts'

/** Texts that may say anything; an id must stay one. */
const freeTexts: ReadonlySet<string> = new Set(['name', 'city'])

/**
 * The case as a *.test.yaml has it, without card numbers: an id that would be masked gets another, the same wherever
 * it stands; so do those of the fields that are `hidden`.
 */
export function caseText(
  made: TestCase,
  mask: (text: string) => string,
  hidden: readonly string[] = [],
): string {
  const ids = new Map<string, string>()
  const masked = JSON.parse(JSON.stringify(made), (name, value: unknown) => {
    if (typeof value !== 'string') return value
    const shown = mask(value)
    if (freeTexts.has(name) || (shown === value && !hidden.includes(name))) return shown
    const id = ids.get(value) ?? `masked-${ids.size + 1}`
    ids.set(value, id)
    return id
  }) as TestCase
  return stringify([masked], { lineWidth: 0 })
}
