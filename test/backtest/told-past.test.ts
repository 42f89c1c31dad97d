import { expect, it } from 'vitest'
import { toldBefore, whyNoPack } from '../../src/backtest/told-past.ts'
import type { Entry } from '../../src/domain/ledger/entry.ts'
import { eventOf } from '../support/event-generator.ts'

const dayMs = 86_400_000
const t0 = Date.UTC(2026, 10, 15)

interface Told {
  readonly txn: string
  readonly day?: number
  readonly linked?: string
  readonly code?: string
  readonly ruleId?: string
  readonly kind?: Entry['kind']
  readonly changes?: readonly string[]
}

function entryOf(told: Told, n: number): Entry {
  const { txn, day = 0, linked, code = '000', ruleId = '', kind = 'event' } = told
  const decidedBy = kind === 'said' ? 'default' : 'engine'
  return {
    kind,
    n,
    atMs: t0 + day * dayMs,
    transaction: ['card-1', txn],
    linked: linked === undefined ? null : ['card-1', linked],
    event: eventOf({ eventId: `e${n}`, transactionId: txn, requestType: 'Authorization' }),
    answer: { code, ruleId, decidedBy, cause: kind === 'said' ? 'deadline' : '' },
    changes: (told.changes ?? ['recorded']).map((type) => ({ type })),
  } as unknown as Entry
}

/** The numbers of what is told of the entries before the last one. */
function numbersTold(all: readonly Told[], most: number, alone: readonly string[] = []): number[] {
  const entries = all.map(entryOf)
  const told = toldBefore(entries.at(-1)!, entries, new Set(alone), most)
  return [...told].map(({ n }) => n).sort((a, b) => a - b)
}

it('what an organization that was disabled was declined by is none of a pack, and the same code of a rule is', () => {
  const declined = { txn: 'a', code: '115' }
  expect(whyNoPack(entryOf(declined, 0))).toBe('its organization was disabled then')
  expect(whyNoPack(entryOf({ ...declined, ruleId: 'kyc' }, 0))).toBe('')
})

it('only what came before a decision is told of it', () => {
  const entries = [{ txn: 'a' }, { txn: 'b' }, { txn: 'c' }].map(entryOf)
  expect([...toldBefore(entries[1]!, entries, new Set(), 9)]).toEqual([entries[0]])
})

it('its own transaction is told first, and with the others no more than a case may have', () => {
  const all = [{ txn: 'own' }, { txn: 'a' }, { txn: 'own' }, { txn: 'b' }, { txn: 'own' }]
  expect(numbersTold(all, 9)).toEqual([0, 1, 2, 3])
  expect(numbersTold(all, 3)).toEqual([0, 2, 3])
  expect(numbersTold(all, 1)).toEqual([2])
  expect(numbersTold(all, 0)).toEqual([])
})

it('what no window counts any more is told of its own transaction only', () => {
  const all = [{ txn: 'old' }, { txn: 'own' }, { txn: 'new', day: 300 }, { txn: 'own', day: 367 }]
  expect(numbersTold(all, 9)).toEqual([1, 2])
})

it('a transaction is told whole or not at all, and with it what is linked to it', () => {
  // Where `a` does not fit, what is linked to it means nothing without it, however far.
  const cut = [
    ...[{ txn: 'a' }, { txn: 'd', linked: 'c' }, { txn: 'c', linked: 'b' }],
    ...[{ txn: 'b', linked: 'a' }, { txn: 'own' }],
  ]
  expect(numbersTold(cut, 3)).toEqual([])
  expect(numbersTold(cut, 4)).toEqual([0, 1, 2, 3])
})

it('what a case cannot do again is left out with its transaction, unless it booked nothing', () => {
  const after = (first: Told) => numbersTold([first, { txn: 'a' }, { txn: 'own' }], 9)
  expect(after({ txn: 'a', kind: 'said' })).toEqual([])
  expect(after({ txn: 'a', kind: 'said', code: '176' })).toEqual([1])
  expect(after({ txn: 'a', kind: 'said', code: '176', changes: ['unclaimed'] })).toEqual([])
  expect(after({ txn: 'a', changes: ['claimed'] })).toEqual([1])
  expect(after({ txn: 'a', kind: 'operated', changes: ['holdReleased'] })).toEqual([])
  expect(after({ txn: 'a', kind: 'operated', changes: ['seeded'] })).toEqual([1])
  expect(after({ txn: 'a', kind: 'booked', changes: ['handled'] })).toEqual([1])
  expect(after({ txn: 'a', kind: 'tended', changes: ['expired'] })).toEqual([1])
  const alone = [{ txn: 'a', code: '141', ruleId: 'crowd' }, { txn: 'a' }, { txn: 'own' }]
  expect(numbersTold(alone, 9, ['crowd'])).toEqual([1])
})
