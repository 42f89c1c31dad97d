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
      { id: 'large', when: 'amount > 500' },
      { id: 'usual', when: 'windows.own.count > 5', decline: undefined, allow: ['large'] },
    ]),
  })
  const begun = begunWith({}, newPack, 0)
  const tally = { firstMs: 0, cutAccounts: 0 } as BacktestReport['tally']
  const lines = begunLines({ begun, tally, fromMs: 0 } as unknown as BacktestReport)
  expect(lines.flatMap((line) => line.split('; ').slice(1))).toEqual([
    'a server keeps first-of-day in shadow until it has asked the same log',
    'a server keeps large in shadow until it has asked the same log',
    'a server keeps empty-shop in shadow until it has counted for all that time itself',
  ])
})

it('proves nothing by a log without asks', () => {
  const tally = { asks: 0, disagreements: 0 } as BacktestReport['tally']
  expect(proofLines({ tally } as BacktestReport)).toEqual([expect.stringMatching(/^NOTHING SHOWN/)])
})

it('says of how many asks it is a proof, and what came of the others', () => {
  const said = (inexactAsks: number, inexactDisagreements: number) => {
    const tally = { asks: 12, disagreements: 0, inexactAsks, inexactDisagreements }
    return proofLines({ tally } as BacktestReport)
  }
  expect(said(0, 0)).toEqual(['proof: the old pack gives the answer of the log to all 12 asks'])
  expect(said(5, 1)).toEqual([
    'proof: the old pack gives the answer of the log to all 7 asks that can be compared exactly, and to 4 of 5 others',
  ])
  expect(said(12, 2)).toEqual([
    'NO PROOF: no ask can be compared exactly; the old pack gives the answer of the log to 10 of 12; accounts older than the log are exact where LOG_RETENTION_DAYS is longer than EVENT_RETENTION_DAYS',
  ])
})

it('tells sums of a long log that no number holds exactly', () => {
  expect(amountsText({ IDR: 2 ** 60, JPY: 7 })).toBe('11529215046068469.76 IDR, 7 JPY')
})
