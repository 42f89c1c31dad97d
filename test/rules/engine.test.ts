import { describe, expect, it } from 'vitest'
import { decodeEntry } from '../../src/engine/format/entry-codec.ts'
import { openCards, startEngine } from '../support/engine-world.ts'
import { createMemoryStore } from '../support/memory-store.ts'
import { packOfFiles } from '../support/rule-world.ts'

/** The sample of the design: what risk teams write. */
const files = {
  'pack.yaml': 'name: example\nzone: Africa/Lagos\ncurrency: USD',
  'lists/gambling_mccs.txt': '7995 # betting\n7801\n',
  'lists/trusted_mids.txt': 'MID-TRUSTED\n',
  'windows.yaml': '- { name: asks_hourly, scope: card, over: asks, period: { trailing: 1h } }',
  'merchant.rules.yaml': `
- id: gambling-cap
  on: [Authorization, PreAuthorization]
  when: merchant.mcc in lists.gambling_mccs && amount > 200
  unless: merchant.mid in lists.trusted_mids
  decline: "127"
  why: Gambling above 200 needs a call first
- id: gambling-watch
  mode: shadow
  when: merchant.mcc in lists.gambling_mccs
  decline: "128"
  why: To see how much there is
- id: bursts
  when: windows.asks_hourly.count >= 5
  decline: "189"
  why: Five asks an hour
- id: no-bank-checks
  when: amount == 0 && merchant.mcc == "6012"
  decline: "119"
  why: Card checks by banks
`,
}

const betting = { mid: 'MID1', mcc: '7995', name: 'Bets', city: 'Lagos', country: 'NG' }

async function startWithRules() {
  const store = createMemoryStore()
  const engine = startEngine(store, { pack: packOfFiles(files) })
  await openCards(engine, 2)
  return { store, engine }
}

describe('an engine with a rule pack', () => {
  it('declines by a rule with its code and id, and holds nothing', async () => {
    const { engine } = await startWithRules()
    const ask = { eventId: 'e1', amountMinor: 20_001, merchant: betting }
    expect(await engine.ask(ask)).toMatchObject({
      code: '127',
      ruleId: 'gambling-cap',
      decidedBy: 'engine',
    })
    expect(await engine.ask({ ...ask, eventId: 'e2', amountMinor: 20_000 })).toMatchObject({
      code: '000',
      ruleId: '',
    })
    const trusted = { ...betting, mid: 'MID-TRUSTED' }
    expect(await engine.ask({ ...ask, eventId: 'e3', merchant: trusted })).toMatchObject({
      code: '000',
    })
    const cash = { ...ask, eventId: 'e4', requestType: 'CashWithdrawal' } as const
    expect(await engine.ask(cash)).toMatchObject({ code: '000' })
    // What was approved is all that is gone: 200.00, 200.01 and 200.01 of 1000.00.
    const rest = { eventId: 'e5', amountMinor: 39_998, merchant: { ...betting, mcc: '5411' } }
    expect(await engine.ask(rest)).toMatchObject({ code: '000' })
  })

  it('counts asks in windows, and declines by them', async () => {
    const { engine } = await startWithRules()
    for (let i = 0; i < 5; i++) {
      expect(await engine.ask({ eventId: `e${i}`, amountMinor: 100 })).toMatchObject({
        code: '000',
      })
    }
    expect(await engine.ask({ eventId: 'e6', amountMinor: 100 })).toMatchObject({
      code: '189',
      ruleId: 'bursts',
    })
    const other = { eventId: 'e7', amountMinor: 100, cardId: 'card-1' }
    expect(await engine.ask(other)).toMatchObject({ code: '000' })
  })

  it('runs rules on an ask of zero', async () => {
    const { engine } = await startWithRules()
    const check = { eventId: 'e1', amountMinor: 0, merchant: { ...betting, mcc: '6012' } }
    expect(await engine.ask(check)).toMatchObject({ code: '119', ruleId: 'no-bank-checks' })
  })

  it('logs enforced and shadow matches apart', async () => {
    const { store, engine } = await startWithRules()
    await engine.ask({ eventId: 'e1', amountMinor: 20_001, merchant: betting })
    await engine.ask({ eventId: 'e2', amountMinor: 100, merchant: betting })
    await engine.ask({ eventId: 'e3', amountMinor: 100 })
    const log = await store.readLog('', 100)
    const entries = log
      .map(({ entry }) => decodeEntry(entry))
      .filter(({ kind }) => kind === 'event')
    expect(entries.map(({ matchedRules, shadowRules }) => [matchedRules, shadowRules])).toEqual([
      [['gambling-cap'], ['gambling-watch']],
      [[], ['gambling-watch']],
      [[], []],
    ])
  })
})
