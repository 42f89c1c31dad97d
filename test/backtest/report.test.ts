import { expect, it } from 'vitest'
import {
  amountsText,
  type BacktestReport,
  begunLines,
  begunWith,
  proofLines,
} from '../../src/backtest/report.ts'
import { packOfFiles, rulesText } from '../support/rule-world.ts'

it('says what a server asks the log for, and that it does not for windows over all cards', () => {
  const newPack = packOfFiles({
    'windows.yaml': `
- { name: own, scope: card, over: asks, period: day }
- { name: shop, scope: merchant, over: asks, period: day }
`,
    'a.rules.yaml': rulesText([
      { id: 'first-of-day', when: 'windows.own.count < 1' },
      { id: 'empty-shop', when: 'windows.shop.count < 5' },
    ]),
  })
  const begun = begunWith({}, newPack)
  const tally = { firstMs: 0, cutAccounts: 0 } as BacktestReport['tally']
  const lines = begunLines({ begun, tally, fromMs: 0 } as unknown as BacktestReport)
  expect(lines.filter((line) => line.includes('keeps')).map((line) => line.split('; ')[1])).toEqual(
    [
      'a server keeps first-of-day in shadow until it has asked the same log',
      'a server keeps empty-shop in shadow until it has counted for all that time itself',
    ],
  )
})

it('proves nothing by a log without asks', () => {
  const tally = { asks: 0, disagreements: 0 } as BacktestReport['tally']
  expect(proofLines({ tally } as BacktestReport)).toEqual([expect.stringMatching(/^NOTHING SHOWN/)])
})

it('tells sums of a long log that no number holds exactly', () => {
  expect(amountsText({ IDR: 2 ** 60, JPY: 7 })).toBe('11529215046068469.76 IDR, 7 JPY')
})
