import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { createReplayedAccount } from '../../src/backtest/replay/replayed-account.ts'
import { testCaseOf } from '../../src/backtest/test-case.ts'
import { whyNoPack } from '../../src/backtest/told-past.ts'
import type { Pack } from '../../src/domain/decide/pack.ts'
import type { Entry } from '../../src/domain/ledger/entry.ts'
import { createLedger } from '../../src/domain/ledger/ledger.ts'
import type { Operation } from '../../src/domain/operation/operation.ts'
import { isAsk, type RequestType } from '../../src/domain/record/event.ts'
import type { Answer } from '../../src/domain/record/event-record.ts'
import { defaultCodes } from '../../src/domain/record/response-code.ts'
import type { Transaction } from '../../src/domain/record/transaction.ts'
import { compilePack } from '../../src/rules/load/compiler.ts'
import { runPackTests } from '../../src/rules/testing/pack-test.ts'
import { readRow } from '../../src/rules/testing/scenario-card.ts'
import { eventOf } from '../support/event-generator.ts'
import { seeded } from '../support/order.ts'

const pack = compilePack(
  new Map([
    ['pack.yaml', 'name: told\ncurrency: USD\nuncoveredRefundPerDay: "20"\n'],
    [
      'windows.yaml',
      `- { name: asks, scope: card, over: asks, period: { trailing: 1h } }
- { name: declines, scope: card, over: declines, period: { trailing: 1h } }
- { name: day, scope: account, over: approved, period: day }`,
    ],
    [
      'a.rules.yaml',
      `- { id: large, when: amount > 60, decline: "129", why: w, owner: o }
- { id: often, when: windows.asks.count >= 9, decline: "189", why: w, owner: o }
- { id: again, when: windows.declines.count >= 4, decline: "189", why: w, owner: o }
- { id: cap, when: windows.day.sum + amount > 300, decline: "130", why: w, owner: o }`,
    ],
  ]),
  45,
  { tested: false },
)

const blockedBy = { ruleId: 'block:mcc:6011', code: '127' } as const
const blocked: Pack = {
  ...pack,
  evaluate: () => ({ matched: [], shadow: [], decline: blockedBy }),
}

const saidBy: Answer = {
  code: '000',
  decidedBy: 'default',
  cause: 'deadline',
  ruleId: '',
  approvedAmountMinor: null,
  rulesVersion: pack.version,
}

/** Two cards of one account, with what the relay, the watchdog and people do to them. */
function walk(seed: number): readonly Entry[] {
  const random = seeded(seed)
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)]!
  const ledger = createLedger()
  let nowMs = Date.UTC(2026, 3, 1, 8)
  const operate = (operation: Operation) => void ledger.operate('A1', operation, pack, nowMs)
  for (const cardId of ['C1', 'C2']) {
    const { account, card } = readRow({ cardId, accountId: 'A1', balance: '200.00' })
    operate({ type: 'open', account, card, givesBalance: cardId === 'C1' })
  }
  const acts: readonly (() => Operation)[] = [
    () => ({ type: 'adjust', amountMinor: pick([-5000, 3000, 9000]), reference: String(nowMs) }),
    () => ({ type: 'changeCard', cardId: pick(['C1', 'C2']), set: { status: 'Frozen' } }),
    () => ({ type: 'unfreeze', cardId: pick(['C1', 'C2']) }),
    () => ({
      type: 'changeCard',
      cardId: 'C1',
      set: { transactionLimitMinor: pick([2000, 6000]) },
    }),
    () => ({ type: 'changeCard', cardId: 'C2', set: { blockedMccs: pick([['6011'], []]) } }),
  ]
  const types = ['Authorization', 'Authorization', 'Settlement', 'Reversal', 'Refund'] as const
  for (let i = 0; i < 55; i++) {
    nowMs += pick([1_000, 60_000, 1_200_000])
    if (random() < 0.15) operate(pick(acts)())
    const requestType: RequestType = pick(types)
    const id = `T${Math.floor(random() * 20)}`
    const refers = requestType === 'Refund' && random() < 0.5 ? { originalTransactionId: id } : {}
    const event = eventOf({
      eventId: `E${i}`,
      requestType,
      transactionId: refers.originalTransactionId === undefined ? id : `R${i}`,
      ...refers,
      cardId: Number(id.slice(1)) % 2 === 0 ? 'C1' : 'C2',
      amountMinor: Math.ceil(random() * 7000),
      currency: 'USD',
      merchant: { mid: 'M1', mcc: pick(['5411', '6011']), name: '', city: '', country: 'US' },
    })
    const code = isAsk(event) ? defaultCodes.decline : defaultCodes.approve
    const said: Answer | null = random() < 0.1 ? { ...saidBy, code } : null
    const asked = said === null && random() < 0.1 ? blocked : pack
    ledger.deliver({ event, slot: `s/${i}`, receivedAtMs: nowMs, said }, asked)
  }
  return ledger.entries
}

it.each([1, 2, 3, 4, 5, 6])('every decision of a pack makes a case that it passes, %i', (seed) => {
  const entries = walk(seed)
  let made = 0
  for (const entry of entries) {
    const isFirst = entry.changes.some(({ type }) => type === 'recorded')
    if (entry.event === null || !isFirst || whyNoPack(entry) !== '') continue
    made++
    const told = testCaseOf(entry, entries, createReplayedAccount())
    const faults = runPackTests(new Map([['told.test.yaml', stringify([told])]]), pack)
    expect(faults.map(({ line, message }) => `${line} ${message}`)).toEqual([])
  }
  expect(made).toBeGreaterThan(30)
})

it('a case has what came before a server was told its windows by the log', () => {
  const ledger = createLedger()
  let nowMs = Date.UTC(2026, 3, 1, 8)
  const operate = (operation: Operation) => void ledger.operate('A1', operation, pack, nowMs)
  const { account, card } = readRow({ cardId: 'C1', accountId: 'A1', balance: '900.00' })
  operate({ type: 'open', account, card, givesBalance: true })
  const ask = (i: number) => {
    nowMs += 60_000
    const shop = { mid: 'M1', mcc: '5411', name: '', city: '', country: 'US' }
    const event = eventOf({
      eventId: `E${i}`,
      transactionId: `T${i}`,
      cardId: 'C1',
      amountMinor: 5000,
    })
    ledger.deliver(
      {
        event: { ...event, currency: 'USD', merchant: shop },
        slot: `s/${i}`,
        receivedAtMs: nowMs,
        said: null,
      },
      pack,
    )
  }
  for (let i = 0; i < 6; i++) ask(i)
  const { spend } = ledger.book('A1').transaction('C1', 'T0') as Transaction
  const seed = { account: {}, card: {}, remembered: {}, spend }
  operate({ type: 'seed', cardId: 'C1', transactionId: 'T0', seed })
  ask(6)
  const entry = ledger.entries.at(-1)!
  expect(entry.answer?.ruleId).toBe('cap')
  const told = testCaseOf(entry, ledger.entries, createReplayedAccount())
  expect(runPackTests(new Map([['told.test.yaml', stringify([told])]]), pack)).toEqual([])
})

it('a decision that is none of a pack makes no case, and says why', () => {
  const reasons = new Set(Array.from({ length: 6 }, (_, seed) => walk(seed).map(whyNoPack)).flat())
  expect(reasons).toContain('it was answered by default (deadline)')
  expect(reasons).toContain('it was declined by the emergency block:mcc:6011')
})
