import type { AskFacts, Pack } from '../../domain/decide/pack.ts'
import type { WindowDefinition } from '../../domain/decide/window.ts'
import { compileTest } from '../condition/closure.ts'
import type { Test } from '../condition/expression.ts'
import type { FactSlots } from '../condition/fact-slots.ts'

/** The conditions of windows that have one, by the name of the window, and those of holds. */
export type WindowFilters = ReadonlyMap<string, Test>

/** The conditions of hold adjustments stand among those of windows; no window can have such a name. */
export const holdFilterPrefix = 'holdAdjustments.'

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

/** The tests of hold adjustments, by their order in the file. */
export function holdTestsOf(
  filters: WindowFilters,
  slots: FactSlots,
): Pick<Pack, 'holdTests'> | undefined {
  const holds = [...filters].filter(([name]) => name.startsWith(holdFilterPrefix))
  if (holds.length === 0) return undefined
  const tests = holds.map(([name, test]) => {
    const order = Number(name.slice(holdFilterPrefix.length))
    return [order, compileTest(test, slots.codeOf)] as const
  })
  const { facts, fill } = slots.createFacts()
  const asking = tests.map(([order, test]) => {
    const holdsFor = (given: AskFacts) => {
      if (facts.ask !== given) fill(given)
      return test(facts)
    }
    return [order, holdsFor] as const
  })
  return { holdTests: new Map(asking) }
}
