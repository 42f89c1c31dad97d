import { expect, it } from 'vitest'
import type { Test } from '../../../src/rules/condition/expression.ts'
import type { NumberSlot } from '../../../src/rules/condition/fact-slots.ts'
import { guardCondition } from '../../../src/rules/evaluate/guard.ts'

const slot: NumberSlot = { index: 0, compute: null }
const facts = { slots: {} as never, currencyIndex: 0, alwaysRead: new Set<NumberSlot>() }

function guardOf(by: '<' | '>', value: number) {
  const [left, right] = [
    { op: 'fact', slot },
    { op: 'number', value },
  ]
  const [guarded, ...others] = guardCondition({ op: 'compare', by, left, right } as Test, facts)
  expect([guarded!.rest, others]).toEqual([null, []])
  return guarded!.guard
}

it.each([0, -0, 1, -1, 100.5, -100.5, 1e12, Number.MIN_VALUE])(
  'what is more or less than %d is all that is, to the nearest number that there is',
  (value) => {
    const [above, below] = [guardOf('>', value), guardOf('<', value)]
    expect(above.most).toBe(Infinity)
    expect(above.least).toBeGreaterThan(value)
    expect((above.least + value) / 2 === above.least || (above.least + value) / 2 === value).toBe(
      true,
    )
    expect(below.least).toBe(-Infinity)
    expect(below.most).toBeLessThan(value)
    expect((below.most + value) / 2 === below.most || (below.most + value) / 2 === value).toBe(true)
  },
)
