import { expect, it } from 'vitest'
import { createStoreProblem } from '../../src/telemetry/store-problem.ts'

it('a problem of the store is shown with so many characters, however many a store says', () => {
  const lines: unknown[] = []
  const logger = { info() {}, error: (fields: unknown) => lines.push(fields) } as never
  const problem = createStoreProblem(logger)
  problem.note('away')
  expect(problem.text).toBe('away')
  problem.note('x'.repeat(100_000))
  expect(problem.text).toBe(`${'x'.repeat(299)}…`)
  problem.note('')
  expect(problem.text).toBe('')
  expect(JSON.stringify(lines).length).toBeLessThan(1_000)
})
