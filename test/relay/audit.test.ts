import { describe, expect, it } from 'vitest'
import { newTransaction, type Transaction } from '../../src/domain/record/transaction.ts'
import { audit } from '../../src/relay/audit.ts'
import { believedMoney, possibleMoney, type Told, usualMeaning } from '../../src/relay/belief.ts'

function told(given: Partial<Told>): Told {
  const accepted = given.accepted ?? true
  const amountMinor = given.amountMinor ?? 1000
  return {
    eventId: 'e1',
    requestType: 'Authorization',
    amountMinor,
    final: null,
    accepted,
    approvedMinor: accepted ? amountMinor : 0,
    unanswered: false,
    uncertain: false,
    code: accepted ? '000' : '116',
    ...given,
  }
}

const unheard = { accepted: false, unanswered: true, uncertain: true, code: '' } as const

/** The kinds that an audit of one transaction finds: those that count, then those that are excused. */
async function kinds(events: readonly Told[], found: Partial<Transaction> | null) {
  const transaction = found === null ? null : { ...newTransaction('c1', 't1'), ...found }
  const believed = {
    cardId: 'c1',
    transactionId: 't1',
    originalTransactionId: '',
    told: [...events],
  }
  const result = await audit([believed], usualMeaning, async () => transaction)
  const names = (of: typeof result.differences) => of.map(({ kind, what }) => `${kind} ${what}`)
  return { differences: names(result.differences), excused: names(result.excused) }
}

const none = { differences: [], excused: [] }

describe('the audit', () => {
  it('finds nothing where the ledger has what the network was told', async () => {
    expect(await kinds([told({})], { authorizedMinor: 1000 })).toEqual(none)
    expect(await kinds([told({ accepted: false })], null)).toEqual(none)
  })

  it('names each kind of difference', async () => {
    const settlement = told({ requestType: 'Settlement', eventId: 'e2' })
    const cases = [
      [[told({ accepted: false })], { authorizedMinor: 1000 }, ['phantom hold held']],
      [[told({})], null, ['missing hold held']],
      [[told({})], { authorizedMinor: 999 }, ['wrong amount held']],
      [[settlement], null, ['lost advice settled']],
      [[settlement], { settledMinor: 1001, closed: true }, ['wrong amount settled']],
      [[told({ requestType: 'Refund' })], { refundedMinor: 1 }, ['lost advice refunded']],
    ] as const
    for (const [events, found, differences] of cases) {
      expect(await kinds(events, found)).toEqual({ differences, excused: [] })
    }
  })

  it('tells an advice that waits for a person from one that is lost', async () => {
    const events = [told({}), told({ requestType: 'Settlement', eventId: 'e2' })]
    const believed = { cardId: 'c1', transactionId: 't1', originalTransactionId: '', told: events }
    const found = (given: Partial<Transaction>) => async () => ({
      ...newTransaction('c1', 't1'),
      ...given,
    })
    const isUnmatched = async (cardId: string, eventId: string) =>
      `${cardId} ${eventId}` === 'c1 e2'
    const of = (given: Partial<Transaction>) =>
      audit([believed], usualMeaning, found(given), isUnmatched)
    const kept = await of({ authorizedMinor: 1000 })
    expect(kept.differences).toEqual([])
    expect(kept.excused.map(({ kind }) => kind)).toEqual(['unmatched advice', 'unmatched advice'])
    // It explains nothing else.
    expect((await of({ authorizedMinor: 999 })).differences).toHaveLength(2)
  })

  it('excuses exactly what an unanswered ask explains, and no minor unit more', async () => {
    const events = [told(unheard)]
    expect(await kinds(events, null)).toEqual(none)
    const explained = await kinds(events, { authorizedMinor: 1000 })
    expect(explained).toEqual({ differences: [], excused: ['over-hold held'] })
    for (const authorizedMinor of [999, 1001, 2000]) {
      const { differences } = await kinds(events, { authorizedMinor })
      expect(differences, String(authorizedMinor)).toEqual(['phantom hold held'])
    }
  })

  it('does not let an unanswered ask hide another difference of its transaction', async () => {
    const events = [told(unheard), told({ eventId: 'e2', requestType: 'Settlement', final: false })]
    const { differences } = await kinds(events, { authorizedMinor: 2000, settledMinor: 999 })
    expect(differences).toEqual(['phantom hold held', 'lost advice settled'])
  })

  it('names an ask that the network approved by itself and the server never saw', async () => {
    const events = [told({ unanswered: true, uncertain: true, code: '' })]
    expect(await kinds(events, null)).toEqual({ differences: [], excused: ['unheard ask held'] })
    expect(await kinds(events, { authorizedMinor: 1000 })).toEqual(none)
    expect((await kinds(events, { authorizedMinor: 1 })).differences).toEqual(['wrong amount held'])
  })

  it('names an advice that was booked and never acknowledged', async () => {
    const events = [told({ ...unheard, requestType: 'Settlement' })]
    const found = { settledMinor: 1000, closed: true }
    expect((await kinds(events, found)).excused).toEqual(['unanswered advice settled'])
  })
})

describe('what the network believes', () => {
  const asks = [told({ amountMinor: 100 }), told({ eventId: 'e2', amountMinor: 150 })]

  it('takes a further ask for an addition or for the new total', () => {
    const held = (incrementalAmount: 'delta' | 'cumulative') =>
      believedMoney(asks, { ...usualMeaning, incrementalAmount }).heldMinor
    expect([held('delta'), held('cumulative')]).toEqual([250, 150])
  })

  it('takes a partial reversal for what is given back or for what is left', () => {
    const reversal = told({ eventId: 'e2', requestType: 'PartialReversal', amountMinor: 30 })
    const held = (partialReversalAmount: 'released' | 'remaining') =>
      believedMoney([told({ amountMinor: 100 }), reversal], {
        ...usualMeaning,
        partialReversalAmount,
      }).heldMinor
    expect([held('released'), held('remaining')]).toEqual([70, 30])
  })

  it('looks at each unanswered event both ways, in a bounded number of ways', () => {
    const two = [told({ ...unheard, amountMinor: 1 }), told({ ...unheard, amountMinor: 2 })]
    const held = possibleMoney(two, usualMeaning).map(({ heldMinor }) => heldMinor)
    expect(held).toEqual([0, 1, 2, 3])
    const many = Array.from({ length: 100 }, () => told(unheard))
    expect(possibleMoney(many, usualMeaning).length).toBeLessThanOrEqual(256)
  })
})
