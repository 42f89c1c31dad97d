import type { WindowDefinition } from '../../domain/decide/window.ts'
import { compileTest } from '../condition/closure.ts'
import type { Test } from '../condition/expression.ts'
import type { FactSlots } from '../condition/fact-slots.ts'

/** The conditions of windows that have one, by the name of the window. */
export type WindowFilters = ReadonlyMap<string, Test>

/** Windows that count only where their conditions hold; facts are read once per event for all of them. */
export function withFilters(
  windows: readonly WindowDefinition[],
  filters: WindowFilters,
  slots: FactSlots,
): readonly WindowDefinition[] {
  if (filters.size === 0) return windows
  const tests = new Map([...filters].map(([name, test]) => [name, compileTest(test, slots.codeOf)]))
  const { facts, fill } = slots.createFacts()
  return windows.map((window) => {
    const test = tests.get(window.name)
    if (test === undefined) return window
    const { matches } = window
    return {
      ...window,
      matches(given) {
        if (!matches(given)) return false
        if (facts.ask !== given) fill(given)
        return test(facts)
      },
    }
  })
}
