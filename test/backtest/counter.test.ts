import { describe, expect, it } from 'vitest'
import { createCounter } from '../../src/backtest/counter.ts'
import type { Changed, Compared } from '../../src/backtest/replay/account-replay.ts'
import { eventOf } from '../support/event-generator.ts'

const dayMs = 86_400_000
const startMs = Date.UTC(2026, 8, 1)

/** An answer by its code and the rule that gave it. */
function answer(code: string, ruleId = '', rulesVersion = 'v1') {
  return { code, ruleId, approvedAmountMinor: null, rulesVersion }
}

function entryOf(atMs: number, cardId = 'card-1', mid = 'M1') {
  const merchant = { mid, mcc: '5411', name: '', city: '', country: 'US' }
  const event = eventOf({ eventId: `at-${atMs}`, cardId, amountMinor: 700, merchant })
  return { atMs, accountId: 'account-1', cardId, transaction: [cardId, 't1'], event }
}

/** What an ask was answered: in the log, by the old pack and by the new one. */
function compared(
  atMs: number,
  [logged, old, next]: readonly [string, string, string],
  exact = true,
): Compared {
  const decided = (code: string, rules: readonly string[]) => {
    return { step: { answer: answer(code), matchedRules: rules, shadowRules: ['quiet'] } }
  }
  const sides = { old: decided(old, ['a']), next: decided(next, ['a', 'b']) }
  return { entry: entryOf(atMs), logged: answer(logged), ...sides, exact } as unknown as Compared
}

function changed(
  was: ReturnType<typeof answer>,
  is: ReturnType<typeof answer>,
  fate: Partial<Changed['fate']> = {},
  entry = entryOf(startMs),
): Changed {
  const ended = { settled: false, refunded: false, reversed: false, ...fate }
  return { entry, was, is, fate: ended } as unknown as Changed
}

describe('what a backtest counts', () => {
  it('of asks: by day and rule, and what the old pack answers otherwise than the log', () => {
    const { compare, tally } = createCounter()
    compare(compared(startMs, ['000', '000', '129']))
    compare(compared(startMs + dayMs - 1, ['000', '129', '129']))
    compare(compared(startMs + dayMs, ['129', '000', '000'], false))
    compare(compared(startMs, ['000', '000', '000']))
    expect(tally).toMatchObject({ asks: 4, inexactAsks: 1 })
    expect(tally).toMatchObject({ disagreements: 1, inexactDisagreements: 1 })
    expect(tally.versions).toEqual({ v1: { asks: 4, disagreements: 1 } })
    expect(tally.disagreementRows).toMatchObject([
      { atMs: startMs + dayMs - 1, logged: { code: '000' }, replayed: { code: '129' } },
    ])
    expect(tally.days).toEqual({
      '2026-09-01': { asks: 3, oldDeclined: 1, newDeclined: 2 },
      '2026-09-02': { asks: 1, oldDeclined: 0, newDeclined: 0 },
    })
    expect(tally.rules.a).toMatchObject({ oldMatched: 4, newMatched: 4, oldShadow: 0 })
    expect(tally.rules.b).toMatchObject({ oldMatched: 0, newMatched: 4 })
    expect(tally.rules.quiet).toMatchObject({ oldShadow: 4, newShadow: 4, newMatched: 0 })
  })

  it('of asks that change: who is good among them, which rule it is, and each card and merchant once', () => {
    const counter = createCounter()
    const [approved, declined] = [answer('000'), answer('129', 'b')]
    const nobody = entryOf(startMs, 'card-2', '')
    counter.change(changed(approved, declined, { settled: true }))
    counter.change(changed(approved, declined, { settled: true, refunded: true }))
    counter.change(changed(approved, declined, { settled: true, reversed: true }))
    counter.change(changed(approved, declined, {}, nobody))
    counter.change(changed(answer('129', 'a'), approved, { settled: true }, nobody))
    counter.change(changed(answer('116'), answer('129')))
    const { changes, rules, cards, merchants, rows } = counter.tally
    expect(changes.newlyDeclined).toEqual({
      asks: 4,
      amounts: { USD: 2_800 },
      good: 1,
      goodAmounts: { USD: 700 },
    })
    expect(changes.newlyApproved).toMatchObject({ asks: 1, good: 0 })
    expect(changes.otherCode).toMatchObject({ asks: 1, amounts: { USD: 700 } })
    expect(rules.b).toMatchObject({ newlyDeclined: 4, newlyApproved: 0, good: 1 })
    expect(rules.b).toMatchObject({ cards: ['card-1', 'card-2'], merchants: ['M1'] })
    expect(rules.a).toMatchObject({ newlyDeclined: 0, newlyApproved: 1, amounts: { USD: 700 } })
    expect(Object.keys(rules).sort()).toEqual(['(balance or limit)', 'a', 'b'])
    expect([cards, merchants]).toEqual([['card-1', 'card-2'], ['M1']])
    expect(rows.map(({ good }) => good)).toEqual([true, false, false, false, false, false])
  })
})
