import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { gather } from '../../../src/domain/change/book.ts'
import { countShared, createSharedTally } from '../../../src/domain/decide/shared-window.ts'
import { createLedger } from '../../../src/domain/ledger/ledger.ts'
import type { Block } from '../../../src/domain/record/block.ts'
import { countAt, moveToSketch, type OpenStates } from '../../../src/domain/record/window-state.ts'
import { createRandom } from '../../../src/relay/traffic.ts'
import { explainDecision } from '../../../src/rules/explain/decision-explanation.ts'
import { type ExplainedPart, explainRules } from '../../../src/rules/explain/explanation.ts'
import { loadPack } from '../../../src/rules/load/compiler.ts'
import type { CompiledPack } from '../../../src/rules/pack/compiled-pack.ts'
import { readCardRow } from '../../../src/wire/card-row.ts'
import { eventOf } from '../../support/event-generator.ts'
import { askOf, noonMs, packOfFiles, rulesText } from '../../support/rule-world.ts'

const pack = packOfFiles({
  'lists/vips.txt': 'K1\nK2',
  'lists/mids.txt': 'M1\nM2',
  'windows.yaml': '- { name: asks_1h, scope: card, over: asks, period: { trailing: 1h } }',
  'a.rules.yaml': rulesText([
    { when: 'amount > 200 && (merchant.mid in lists.mids || foreign)', unless: 'hour < 6' },
    { when: '!(merchant.mid == "M1" || merchant.mid == "M3")', customers: 'vips' },
    { when: 'currency == "EUR" && amount >= 50.5', on: ['CashWithdrawal'] },
    { when: 'windows.asks_1h.count < 3 ? amount > 10 : foreign', expires: '2026-11-16' },
    { when: 'merchantCurrency == "SEK" && merchantAmount > 5', mode: 'shadow' },
    { when: 'has(card.dailyLimit) && amount * 2 > card.dailyLimit' },
    { when: 'amount > 1', mode: 'off' },
  ]),
})

function leavesOf(part: ExplainedPart): ExplainedPart[] {
  return part.parts.length === 0 ? [part] : part.parts.flatMap(leavesOf)
}

function randomAsk(random: ReturnType<typeof createRandom>) {
  const currency = random.pick(['USD', 'USD', 'EUR'])
  return askOf({
    event: {
      requestType: random.pick(['Authorization', 'PreAuthorization', 'CashWithdrawal']),
      amountMinor: random.pick([0, 100, 499, 500, 1001, 5050, 20_000, 20_001, 30_001, 60_000]),
      currency,
      merchantCurrency: random.pick(['', 'SEK']),
      merchantAmountMinor: random.pick([0, 500, 501]),
    },
    merchant: {
      mid: random.pick(['M1', 'M2', 'M3', 'MID-SCAM-1', 'TRANSIT-01']),
      mcc: random.pick(['5411', '7995', '7011']),
      country: random.pick(['US', 'FR', '']),
    },
    account: { currency },
    card: {
      customerId: random.pick(['K1', 'K3']),
      type: random.pick(['retail', 'corporate']),
      dailyLimitMinor: random.pick([null, 0, 10_000]),
    },
    atMs: noonMs + random.below(48) * 3_600_000,
  })
}

describe('the explanation of a pack', () => {
  const sample = loadPack(join(import.meta.dirname, '..', '..', '..', 'rules'), 45)

  it.each([
    ['a pack of all kinds', pack],
    ['the sample pack', sample],
  ] as [string, CompiledPack][])('says of each rule what the decision says, for %s', (_, pack) => {
    const seed = 20_261_115
    const random = createRandom(seed)
    let matches = 0
    for (let i = 0; i < 300; i++) {
      const ask = randomAsk(random)
      const { matched, shadow } = pack.evaluate(ask)
      const explained = explainRules(pack, ask).filter((one) => one.matched)
      const ids = explained.map(({ rule }) => rule.id).sort()
      expect(ids, `seed ${seed}, ask ${i}`).toEqual([...matched, ...shadow].sort())
      matches += ids.length
    }
    expect(matches).toBeGreaterThan(100)
  })

  it('shows each part of a condition with the values that it named', () => {
    const ask = askOf({
      event: { amountMinor: 25_000 },
      merchant: { mid: 'M9', country: 'FR' },
    })
    const [first] = explainRules(pack, ask)
    const shown = first!.parts.flatMap(leavesOf).map(({ text, holds, values }) => {
      return [text, holds, values.map(({ name, value }) => `${name} ${value}`).join()]
    })
    expect(shown).toEqual([
      ['amount > 200', true, 'amount 250.00 USD'],
      ['merchant.mid in lists.mids', false, 'merchant.mid "M9",lists.mids 2 values'],
      ['foreign', true, 'foreign yes'],
    ])
    expect(first!.unless).toMatchObject({ text: 'hour < 6', holds: false })
    expect(first!.matched).toBe(true)
  })

  it('shows the brackets at the ends of a part, and those in texts are none', () => {
    const parts = [
      '!(merchant.mid in ["M(1", "M2"])',
      '(amount + 5) * 2 > 10',
      '!((foreign))',
      'merchant.name.contains(")")',
      'hour * (2 + (3))  < 9',
    ]
    const when = parts.join(' && ')
    const rules = JSON.stringify([{ id: 'r', when, decline: '127', why: 'w' }])
    const [only] = explainRules(packOfFiles({ 'a.rules.yaml': rules }), askOf())
    const shown = only!.parts.flatMap(leavesOf).map(({ text }) => text)
    expect(shown).toEqual(parts.map((part) => part.replace('  ', ' ')))
  })

  it('says of a number that it is an estimate', () => {
    const shops = packOfFiles({
      'windows.yaml': '- { name: shops, scope: card, over: asks, distinct: true, period: day }',
      'a.rules.yaml': rulesText([{ when: 'windows.shops.distinct > 60' }]),
    })
    const shownAt = (values: number) => {
      const index = shops.zone.dayOf(noonMs)
      const states: OpenStates = {}
      for (let i = 0; i < values; i++) {
        countAt(states, 'shops', `M${i}`, 0, { index, sumMinor: 1, count: 1 })
        if (i >= 64) moveToSketch(states, 'shops', `M${i - 64}`, 0)
      }
      const [rule] = explainRules(shops, askOf({ card: { windows: states } }))
      return rule!.parts.flatMap(leavesOf).flatMap(({ values }) => values)
    }
    expect(shownAt(64)).toEqual([{ name: 'windows.shops.distinct', value: '64' }])
    expect(shownAt(65)).toEqual([{ name: 'windows.shops.distinct', value: 'about 65' }])
  })

  it('says why a rule does not look at an ask', () => {
    const later = askOf({ atMs: noonMs + 86_400_000, event: { currency: 'EUR' } })
    const asleep = explainRules(pack, later).map((one) => one.asleep)
    expect(asleep).toEqual([
      '',
      '',
      'it looks at CashWithdrawal',
      'it expired on 2026-11-16',
      '',
      '',
      'it is off',
    ])
    const [first] = explainRules(pack, later)
    expect(first!.parts[0]).toMatchObject({ text: `currency == "USD", the pack's`, holds: false })
  })
})

describe('the explanation of a decision', () => {
  function explain(given: Parameters<typeof eventOf>[0], row: Record<string, unknown> = {}) {
    const read = readCardRow({
      cardId: 'C1',
      customerId: 'K9',
      type: 'retail',
      currency: 'USD',
      country: 'US',
      balance: '100.00',
      ...row,
    })
    if (Array.isArray(read)) throw new Error(JSON.stringify(read))
    const ledger = createLedger()
    const { account, card } = read
    const open = { type: 'open', account, card, givesBalance: false } as const
    ledger.operate(account.accountId, open, pack, noonMs)
    const event = eventOf({ cardId: 'C1', ...given })
    const book = ledger.book(account.accountId)
    const explained = explainDecision(event, gather(event, book), pack, noonMs)
    const { answer } = ledger.deliver({ event, slot: 's', receivedAtMs: noonMs, said: null }, pack)
    expect([explained.code, explained.ruleId]).toEqual([answer.code, answer.ruleId])
    return explained
  }
  const m3 = { mid: 'M3', mcc: '5411', name: '', city: '', country: 'US' }

  it('names the check that failed, and asks none after it', () => {
    const explained = explain({ eventId: 'a', amountMinor: 500 }, { status: 'Frozen' })
    expect(explained).toMatchObject({ code: '117', check: 'card active', ruleId: '' })
    const at = explained.checks.findIndex(({ name }) => name === 'card active')
    const outcomes = explained.checks.map(({ outcome }) => outcome)
    expect(at).toBeGreaterThan(0)
    expect(outcomes).toEqual([
      ...Array(at).fill('passed'),
      'failed',
      ...Array(outcomes.length - at - 1).fill('not asked'),
    ])
  })

  it('names the rule, and leaves the funds unasked', () => {
    const explained = explain({ eventId: 'a', amountMinor: 50_000 })
    expect(explained).toMatchObject({ check: '', ruleId: expect.stringMatching(/^r/) })
    expect(explained.checks.at(-1)).toMatchObject({ name: 'funds', outcome: 'not asked' })
  })

  it('names the funds, with what it would hold and what there is', () => {
    const given = { eventId: 'a', amountMinor: 900, merchant: m3 }
    const explained = explain(given, { balance: '8.99' })
    expect(explained).toMatchObject({
      code: '116',
      check: 'funds',
      funds: { holds: '9.00', available: '8.99' },
    })
  })

  it('passes an ask of zero by the checks that a card is checked with', () => {
    const explained = explain({ eventId: 'a', amountMinor: 0, merchant: m3 })
    const unasked = explained.checks.filter(({ outcome }) => outcome === 'not asked')
    expect(explained.code).toBe('000')
    expect(unasked.map(({ name }) => name)).toEqual([
      'not absorbed',
      'covered',
      'transaction limit',
      'daily limit',
      'funds',
    ])
  })

  it('acknowledges an advice without any check', () => {
    const explained = explain({ eventId: 'a', requestType: 'Settlement', amountMinor: 500 })
    expect(explained).toMatchObject({ code: '000', checks: [], rules: [], funds: null })
  })
})

describe('what counts beside the pack', () => {
  const rules = rulesText([
    { id: 'large', when: 'amount > 10', decline: '129' },
    { id: 'some', when: 'amount > 10', decline: '130', rollout: '0.01%' },
    { id: 'watched', when: 'amount > 10', mode: 'shadow' },
  ])
  const standIn = 'standIn: { maxAmount: 50, perCard: { count: 2, total: 80 } }'
  const small = packOfFiles({ 'pack.yaml': standIn, 'a.rules.yaml': rules })
  const around = { spared: new Map<string, string>(), blocks: [] as Block[] }

  function explain(amountMinor: number, given: Partial<typeof around>) {
    const event = eventOf({ eventId: 'a', amountMinor })
    const ask = askOf({ account: { postedMinor: 100_000 }, card: { cardId: event.cardId } })
    const blank = gather(event, createLedger().book('A1'))
    const view = { ...blank, account: ask.account, card: ask.card }
    return explainDecision(event, view, small, noonMs, { ...around, ...given })
  }

  it('spares who is outside a rollout, and says so; a tripped rule says since when', () => {
    const spared = ({ rules }: ReturnType<typeof explain>) =>
      rules.map((one) => (one.matched ? one.spared : 'no match'))
    expect(explain(2000, {})).toMatchObject({ code: '129', ruleId: 'large', standsIn: false })
    expect(spared(explain(2000, {}))).toEqual([
      '',
      'the card is outside its rollout of 0.01%',
      'it is in shadow',
    ])
    const recording = new Map([['large', 'its breaker tripped, since noon: it declined 51']])
    const explained = explain(2000, { spared: recording })
    expect(explained).toMatchObject({ code: '000', shadowRules: ['large', 'some', 'watched'] })
    expect(spared(explained)[0]).toBe('its breaker tripped, since noon: it declined 51')
    expect(explained.standsIn).toBe(true)
  })

  it('counts what other cards asked, also while a rule only records', () => {
    const busy = packOfFiles({
      'windows.yaml': '- { name: shop, scope: merchant, over: asks, period: day }',
      'a.rules.yaml': rulesText([
        { id: 'other', when: 'amount > 9000' },
        { id: 'attacked', when: 'windows.shop.count >= 1', decline: '302' },
      ]),
    })
    const counting = { ...busy, shared: createSharedTally() }
    const ledger = createLedger()
    const { account, card } = readCardRow({
      cardId: 'C1',
      customerId: 'K1',
      accountId: 'A1',
      type: 'retail',
      currency: 'USD',
      balance: '100.00',
    }) as Exclude<ReturnType<typeof readCardRow>, readonly unknown[]>
    ledger.operate('A1', { type: 'open', account, card, givesBalance: true }, counting, noonMs)
    const first = eventOf({ eventId: 'a', transactionId: 'a', cardId: 'C1', amountMinor: 500 })
    const delivery = { event: first, slot: 'a', receivedAtMs: noonMs, said: null }
    countShared(counting, first, ledger.deliver(delivery, counting))
    const event = { ...first, eventId: 'b', transactionId: 'b' }
    const view = gather(event, ledger.book('A1'))
    const spared = new Map([['other', 'its breaker tripped']])
    for (const given of [around, { ...around, spared }]) {
      const explained = explainDecision(event, view, counting, noonMs, given)
      expect(explained).toMatchObject({ code: '302', ruleId: 'attacked' })
    }
  })

  it('names the emergency block that declines', () => {
    const untilMs = noonMs + 1
    const block = { kind: 'mid', value: 'M1', sinceMs: 0, untilMs, reason: 'leak' } as const
    const other = { ...block, kind: 'card', value: 'another' } as const
    const explained = explain(500, { blocks: [block, other] })
    expect(explained).toMatchObject({ code: '186', ruleId: 'block:mid:M1', blocks: [block] })
    expect(explain(500, {})).toMatchObject({ code: '000', blocks: [], standsIn: true })
  })
})
