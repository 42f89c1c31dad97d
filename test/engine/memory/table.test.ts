import { expect, test } from 'vitest'
import { createTable } from '../../../src/engine/memory/table.ts'
import { seeded } from '../../support/order.ts'

test('a table holds what a map holds, also with more names than it has chains', () => {
  const random = seeded(20261115)
  const table = createTable<number>()
  const map = new Map<string, number>()
  let unlike = 0
  for (let i = 0; i < 60_000; i++) {
    // Names come and go among 12,000, so that chains grow, shrink and lose their middle.
    const name = `slot.${Math.floor(random() * 12_000).toString(36)}`
    if (random() < 0.6) {
      table.set(name, i)
      map.set(name, i)
    } else {
      table.delete(name)
      map.delete(name)
    }
    if (table.get(name) !== map.get(name) || table.has(name) !== map.has(name)) unlike++
  }
  expect(unlike).toBe(0)
  expect(map.size).toBeGreaterThan(4_096)
  expect(table.size).toBe(map.size)
  expect([...table.values()].sort()).toEqual([...map.values()].sort())
})
