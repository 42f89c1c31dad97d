import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { startScenario } from '../../src/rules/testing/scenario.ts'
import { type Scenario, scenarioFile } from '../../src/rules/testing/scenario-file.ts'
import { permutations, shuffles } from '../support/order.ts'

const folder = join(import.meta.dirname, '..', '..', 'src', 'relay', 'scenarios')

function inWrittenOrder(scenario: Scenario): string[] {
  const run = startScenario(scenario)
  return scenario.steps.flatMap((step, i) =>
    run.run(step, i).map((difference) => `step ${i + 1}: ${difference}`),
  )
}

/** The money at the end, with the steps in some order; each event is named by its written step. */
function moneyInOrder(scenario: Scenario, order: readonly number[]): unknown {
  const run = startScenario(scenario)
  for (const i of order) run.run(scenario.steps[i]!, i)
  return run.money()
}

function ordersOf(scenario: Scenario): number[][] {
  const indices = scenario.steps.map((_, i) => i)
  return indices.length <= 5 ? permutations(indices) : shuffles(indices, 60, 1)
}

for (const file of readdirSync(folder).filter((name) => name.endsWith('.yaml'))) {
  const scenarios = scenarioFile.parse(parse(readFileSync(join(folder, file), 'utf8')))
  describe(file, () => {
    for (const scenario of scenarios) {
      it(scenario.name, () => {
        expect(inWrittenOrder(scenario)).toEqual([])
      })
      if (scenario.order !== 'any') continue
      it(`${scenario.name}: in any order, with duplicates`, () => {
        const written = scenario.steps.map((_, i) => i)
        const money = moneyInOrder(scenario, written)
        for (const order of ordersOf(scenario)) {
          expect(moneyInOrder(scenario, order), `order ${order}`).toEqual(money)
          const twice = [...order, ...order]
          expect(moneyInOrder(scenario, twice), `twice ${order}`).toEqual(money)
        }
      })
    }
  })
}
