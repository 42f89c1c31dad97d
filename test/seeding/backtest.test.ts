import { expect, it } from 'vitest'
import { runBacktest } from '../../src/backtest/run.ts'
import { compilePack } from '../../src/rules/load/compiler.ts'
import type { PackFiles } from '../../src/rules/pack/folder.ts'
import { filesOf, retentionDays, runLive, sourceOf, traffic } from '../support/backtest-world.ts'
import { rulesText } from '../support/rule-world.ts'
import { seedOn } from '../support/seed-world.ts'

const seed = Number(process.env.SEED ?? 411)
const cards = 6
const arrivals = traffic(seed, 400, cards)
const fromMs = arrivals[200]!.atMs
const metBeforeTold = 40

const cap = { id: 'cap', when: 'windows.spent.sum + amount > 900', decline: '130' }
const gambling = { id: 'gambling', when: 'merchant.mcc == "7995"' }
const spent = '- { name: spent, scope: account, over: approved, period: { trailing: 30d } }\n'
const other = '- { name: other, scope: account, over: asks, period: day }\n'

function packOf(windows: string, rules: Record<string, unknown>[]): PackFiles {
  return filesOf({ 'windows.yaml': windows, 'a.rules.yaml': rulesText(rules) })
}

it(`counts in a backtest what a server was told by the log after its packs have differed (SEED=${seed})`, async () => {
  const capped = packOf(spent, [cap])
  const { store } = await runLive(filesOf({}), arrivals, cards, {
    atMs: fromMs,
    files: capped,
    async after(store, pack, clock, meetNext) {
      for (let i = 0; i < metBeforeTold; i++) await meetNext()
      await seedOn(store, pack, clock)
    },
  })
  const backtest = (files: PackFiles) =>
    runBacktest({
      oldPack: compilePack(capped, retentionDays),
      newPack: compilePack(files, retentionDays),
      fromMs,
      toMs: Number.POSITIVE_INFINITY,
      source: sourceOf(store),
      threads: 0,
    })
  const { rows, disagreements } = await backtest(packOf(spent, [gambling, cap]))
  expect(disagreements).toBe(0)
  // One that counts more has a book of its own from the log's beginning.
  const apart = await backtest(packOf(spent + other, [gambling, cap]))
  expect(rows.length).toBeGreaterThan(10)
  expect(rows).toEqual(apart.rows)
})
