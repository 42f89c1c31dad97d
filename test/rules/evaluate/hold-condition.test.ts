import { describe, expect, it } from 'vitest'
import { likenessOf } from '../../../src/backtest/counting.ts'
import { openAsk } from '../../../src/domain/decide/ask.ts'
import { bytesOfPack, readPackBytes } from '../../../src/rules/pack/bytes.ts'
import { finish } from '../../../src/rules/pack/step.ts'
import { askOf, packOfFiles, reportOf } from '../../support/rule-world.ts'

const packFile = `
define: { rental: 'lower(merchant.name).contains("rent")' }
holdAdjustments:
  - { when: 'rental && card.type == "corporate"', plusAmount: 50 }
  - { mccs: ["5542", "7011"], when: 'foreign', fixed: 300 }
  - { mccs: ["5542"], fixed: 100 }
  - { when: 'merchant.mid in lists.pumps && !merchant_seen', plusPercent: 10 }
`
const files = { 'pack.yaml': packFile, 'lists/pumps.txt': 'P1\n' }

describe('a hold adjustment with a condition', () => {
  it.each([
    ['the first that holds', { mcc: '5542', name: 'Rent a car' }, 'corporate', { plusMinor: 5000 }],
    ['not for another card', { mcc: '7512', name: 'Rent a car' }, 'retail', null],
    ['both MCC and condition', { mcc: '5542', country: 'FR' }, 'retail', { fixedMinor: 30_000 }],
    ['a later one by MCC only', { mcc: '5542' }, 'retail', { fixedMinor: 10_000 }],
    ['a MCC whose condition fails', { mcc: '7011' }, 'retail', null],
    ['a list, and what the card knows', { mid: 'P1' }, 'retail', { plusMillionths: 100_000 }],
  ] as const)('counts: %s', (_name, merchant, type, due) => {
    const pack = packOfFiles(files)
    expect(pack.remembers.merchants).toBe(true)
    const { event, account, card, transaction, atMs } = askOf({
      merchant: { country: 'US', ...merchant },
      card: { type },
    })
    const view = { account, card, transaction, linked: null, event: null, eventKey: 'e' } as never
    for (const used of [pack, finish(readPackBytes(bytesOfPack(pack)))]) {
      const { adjustment } = openAsk(event, view, used, atMs)
      if (due === null) expect(adjustment).toBeNull()
      else expect(adjustment).toMatchObject(due)
      const cash = { ...event, requestType: 'CashWithdrawal' } as const
      expect(openAsk(cash, view, used, atMs).adjustment).toBeNull()
    }
  })

  it('holds what it says in a test of the pack', () => {
    const test = `
- name: a rental holds 50 more
  cards: [{ type: corporate }]
  steps:
    - { send: Authorization, amount: 100, name: City Rent, expect: approve, held: 150, spent: 100 }
`
    expect(reportOf({ ...files, 'a.test.yaml': test })).toEqual([])
  })

  it.each([
    ['{ when: "amuont > 5", fixed: 1 }', 'amuont is not known'],
    ['{ when: "windows.daily.sum > 5", fixed: 1 }', 'there is no window daily'],
    ['{ fixed: 1 }', 'says what it is about by mccs, when or both'],
  ])('%s is refused', (one, says) => {
    expect(reportOf({ 'pack.yaml': `holdAdjustments: [${one}]` }).join('\n')).toContain(says)
  })

  it('is another way of counting, for a backtest', () => {
    const packWith = (when: string) =>
      packOfFiles({ 'pack.yaml': `holdAdjustments: [{ when: '${when}', fixed: 9 }]` })
    expect(likenessOf(packWith('foreign'), packWith('foreign'))).toBe('same')
    expect(likenessOf(packWith('foreign'), packWith('final'))).toBe('apart')
    const windowOf = (where: string) =>
      packOfFiles({ 'windows.yaml': `- { name: w, scope: card, period: day, where: ${where} }` })
    expect(likenessOf(windowOf('foreign'), windowOf('final'))).toBe('apart')
    expect(likenessOf(windowOf('foreign'), packOfFiles({}))).toBe('windows')
    expect(likenessOf(packOfFiles({}), windowOf('foreign'))).toBe('windows')
  })
})
