import { describe, expect, it } from 'vitest'
import type { Pack, Switches } from '../../src/domain/decide/pack.ts'
import { createLedger, type Ledger } from '../../src/domain/ledger/ledger.ts'
import type { Card } from '../../src/domain/record/card.ts'
import { type CardEvent, isAsk } from '../../src/domain/record/event.ts'
import type { Transaction } from '../../src/domain/record/transaction.ts'
import { decodeEntry, encodeEntry } from '../../src/engine/format/entry-codec.ts'
import { encodeBook } from '../support/book-text.ts'
import { cardOf, eventOf } from '../support/event-generator.ts'
import { byDefault } from '../support/ledger-walk.ts'
import { accountOf, defaultSwitches, packOf, cardOf as realCard } from '../support/world.ts'

const accountId = 'A1'

/** A card with 1,000 in a country, and what is told of it; the slot is the event where none is given. */
function openWorld(
  switches: Partial<Switches> = {},
  card: Partial<Card> = {},
  openingMinor = 1_000,
) {
  const pack: Pack = packOf({ ...defaultSwitches, ...switches })
  const ledger = createLedger()
  const account = accountOf({ accountId, currency: 'USD', country: 'NG', openingMinor })
  const open = { ...realCard(cardOf({})), ...card }
  ledger.operate(accountId, { type: 'open', account, card: open, givesBalance: true }, pack, 0)
  let nowMs = 1_000
  const deliver = (
    event: Partial<CardEvent> & { eventId: string },
    said: '000' | '176' | null,
    approvedAmountMinor: number | null = null,
  ) => {
    return ledger.deliver(
      {
        event: eventOf({ ...(isAsk(eventOf(event)) ? {} : { final: false }), ...event }),
        slot: event.eventId,
        receivedAtMs: nowMs++,
        said: said === null ? null : { ...byDefault, approvedAmountMinor, code: said },
      },
      pack,
    ).answer
  }
  const book = ledger.book(accountId)
  return {
    pack,
    ledger,
    tell: (event: Partial<CardEvent> & { eventId: string }) => deliver(event, null).code,
    tellPart: (event: Partial<CardEvent> & { eventId: string }) =>
      deliver(event, null).approvedAmountMinor,
    say: deliver,
    adjust(amountMinor: number) {
      const operation = { type: 'adjust', amountMinor, reference: `${nowMs}` } as const
      ledger.operate(accountId, operation, pack, nowMs)
    },
    account: () => book.account()!,
    card: () => book.card('C1')!,
  }
}

/** The log alone, as it is kept, leads to the same records. */
function expectReplayed({ ledger }: { readonly ledger: Ledger }): void {
  const again = createLedger()
  for (const entry of ledger.entries) again.replay(decodeEntry(encodeEntry(entry)))
  expect(encodeBook(again.book(accountId))).toEqual(encodeBook(ledger.book(accountId)))
}

describe('the rest of a total that was approved in part', () => {
  const totals = { incrementalAmount: 'cumulative', partialApproval: true } as const

  it('is held also when a later total, which stood above it, is undone', () => {
    const world = openWorld(totals, {}, 100)
    const first = { eventId: 'E1', amountMinor: 150, partialApprovalSupported: true }
    expect(world.tellPart(first)).toBe(100)
    world.adjust(200)
    const later = { eventId: 'E2', amountMinor: 200 }
    expect(world.tell(later)).toBe('000')
    world.say(first, '000')
    expect(world.account().heldMinor).toBe(200)
    world.say(later, '176')
    expect(world.account().heldMinor).toBe(150)
    world.say(first, '176')
    expect(world.account().heldMinor).toBe(0)
    expectReplayed(world)
  })

  it('is not added to a later total that was taken back in part meanwhile', () => {
    const world = openWorld(totals, {}, 100)
    const first = { eventId: 'E1', amountMinor: 150, partialApprovalSupported: true }
    expect(world.tellPart(first)).toBe(100)
    world.adjust(200)
    expect(world.tell({ eventId: 'E2', amountMinor: 120 })).toBe('000')
    world.tell({ eventId: 'E3', requestType: 'PartialReversal', amountMinor: 30 })
    world.say(first, '000')
    // As if it had been approved whole at once: 150, and 30 of that taken back.
    expect(world.account().heldMinor).toBe(120)
    expectReplayed(world)
  })

  it('is not added where an earlier total stands above the part', () => {
    const world = openWorld(totals)
    world.tell({ eventId: 'E1', amountMinor: 30 })
    const later = { eventId: 'E2', amountMinor: 50 }
    // Told before a failover, when the earlier total was not there.
    world.say(later, '000', 20)
    expect(world.account().heldMinor).toBe(30)
    world.say(later, '000')
    expect(world.account().heldMinor).toBe(50)
    expectReplayed(world)
  })
})

describe('a part of an ask', () => {
  it('is not approved where a ceiling would take back what that part leaves', () => {
    const switches = { partialApproval: true, partialReversalAmount: 'remaining' } as const
    const world = openWorld(switches, {}, 30)
    world.tell({ eventId: 'E1', requestType: 'PartialReversal', amountMinor: 100 })
    const ask = { amountMinor: 300, partialApprovalSupported: true }
    expect(world.tell({ ...ask, eventId: 'E2' })).toBe('116')
    world.adjust(70)
    expect(world.tellPart({ ...ask, eventId: 'E3' })).toBeNull()
    expect(world.account().heldMinor).toBe(100)
  })

  it('takes the charge on cash abroad back with it, also where a second delivery did not say its country', () => {
    const crossBorder = { fixedMinor: {}, percentMillionths: 100_000 }
    const world = openWorld({ partialApproval: true, crossBorder }, {}, 100)
    const cash = { eventId: 'E1', requestType: 'CashWithdrawal' } as const
    const { merchant } = eventOf({ eventId: '' })
    const first = { ...cash, amountMinor: 150, partialApprovalSupported: true }
    expect(world.tellPart({ ...first, merchant: { ...merchant, country: 'GB' } })).toBe(100)
    world.adjust(500)
    world.say({ ...first, merchant: { ...merchant, country: '' } }, '000')
    expect(world.tell({ ...cash, eventId: 'E2', amountMinor: 40 })).toBe('000')
    world.say(first, '176')
    const { postedMinor, chargesTakenMinor, chargesPendingMinor } = world.account()
    expect([postedMinor, chargesTakenMinor, chargesPendingMinor]).toEqual([560, 0, 0])
    expectReplayed(world)
  })
})

describe('an ask that its reversal came before', () => {
  const lite = { type: 'lite', swipesLeft: 1 } as const
  const reversal = { eventId: 'E1', requestType: 'PartialReversal', amountMinor: 100 } as const
  const ask = { eventId: 'E2', amountMinor: 100 }

  it('uses a swipe when the default approves it all the same', () => {
    const world = openWorld({}, lite)
    world.tell(reversal)
    expect(world.tell(ask)).toBe('175')
    world.say(ask, '000')
    expect(world.card()).toMatchObject({ swipesLeft: 0, status: 'Terminated' })
    expectReplayed(world)
  })

  it('is in the sums when the default approves, declines and approves it', () => {
    const world = openWorld()
    world.tell(reversal)
    world.tell(ask)
    for (const said of ['000', '176', '000'] as const) world.say(ask, said)
    expect(world.tell({ eventId: 'E3', amountMinor: 50 })).toBe('000')
    expect(world.account().heldMinor).toBe(50)
    expectReplayed(world)
  })

  it('is held where the default approves it and a PreAuthorization would leave it uncovered', () => {
    const world = openWorld()
    world.tell({ eventId: 'E0', requestType: 'PreAuthorization', amountMinor: 50 })
    world.tell(reversal)
    expect(world.tell(ask)).toBe('175')
    // As when the default alone had spoken: 50 of the reversal came before this ask.
    world.say(ask, '000')
    expect(world.account().heldMinor).toBe(50)
    expectReplayed(world)
  })

  it('keeps no swipe of another that is undone', () => {
    const world = openWorld({}, lite)
    world.tell(reversal)
    world.tell(ask)
    const other = { eventId: 'E3', amountMinor: 30 }
    expect(world.tell(other)).toBe('000')
    expect(world.card().status).toBe('Terminated')
    world.say(other, '176')
    expect(world.card()).toMatchObject({ swipesLeft: 1, status: 'Active' })
    expectReplayed(world)
  })
})

describe('a total that was undone', () => {
  const totals = { incrementalAmount: 'cumulative' } as const

  /** What is held after each, with the asks named that the default declines by then. */
  function heldAfter(world: ReturnType<typeof openWorld>, told: readonly [string, number?][]) {
    return told.map(([eventId, amountMinor]) => {
      const ask = { eventId, amountMinor: amountMinor ?? amounts.get(eventId)! }
      if (amountMinor === undefined) world.say(ask, '176')
      else expect(world.tell(ask)).toBe('000')
      amounts.set(eventId, ask.amountMinor)
      return world.account().heldMinor
    })
  }
  const amounts = new Map<string, number>()

  it('leaves what a later and lower one says', () => {
    const world = openWorld(totals)
    expect(heldAfter(world, [['E1', 150], ['E2', 80], ['E1'], ['E2']])).toEqual([150, 150, 80, 0])
    expectReplayed(world)
  })

  it('leaves the largest that is left, whichever is undone next', () => {
    const world = openWorld(totals)
    const asked = [
      ['E1', 30],
      ['E2', 150],
      ['E3', 80],
      ['E4', 100],
    ] as [string, number][]
    heldAfter(world, asked)
    expect(heldAfter(world, [['E2'], ['E4'], ['E3'], ['E1']])).toEqual([100, 80, 30, 0])
    expectReplayed(world)
  })

  it('leaves what a later one says of what was reversed before it', () => {
    const world = openWorld(totals)
    heldAfter(world, [
      ['E1', 100],
      ['E2', 150],
    ])
    world.tell({ eventId: 'E3', requestType: 'PartialReversal', amountMinor: 60 })
    expect(heldAfter(world, [['E4', 70], ['E2'], ['E1'], ['E4']])).toEqual([90, 70, 70, 0])
    expectReplayed(world)
  })

  it('is left to the next whole where earlier releases did not keep what that one says', () => {
    const world = openWorld(totals)
    heldAfter(world, [
      ['E1', 150],
      ['E2', 80],
    ])
    const t = world.ledger.book(accountId).transaction('C1', 'T1') as Transaction
    const asks = t.asks.map((ask) => ({ ...ask, totalMinor: null }))
    world.ledger.book(accountId).put({
      ...{ account: world.account(), cards: [], aliases: [], forgotten: null, event: null },
      transactions: [{ ...t, asks }],
    })
    expect(heldAfter(world, [['E1'], ['E2']])).toEqual([150, 0])
  })

  it('leaves what a later one was told after more of it was approved', () => {
    const world = openWorld({ ...totals, partialApproval: true }, {}, 100)
    const first = { eventId: 'E1', amountMinor: 150, partialApprovalSupported: true }
    expect(world.tellPart(first)).toBe(100)
    world.adjust(200)
    expect(world.tell({ eventId: 'E2', amountMinor: 120 })).toBe('000')
    world.say(first, '000')
    expect(world.account().heldMinor).toBe(150)
    world.say(first, '176')
    expect(world.account().heldMinor).toBe(120)
    expectReplayed(world)
  })
})

it('a part that was told before a failover holds as much as was said to remain of it', () => {
  const world = openWorld({ partialReversalAmount: 'remaining', partialApproval: true })
  world.tell({ eventId: 'E1', requestType: 'PartialReversal', amountMinor: 30 })
  world.say({ eventId: 'E2', amountMinor: 50, partialApprovalSupported: true }, '000', 40)
  expect(world.account().heldMinor).toBe(30)
  expectReplayed(world)
})

describe('what was said to remain of an ask that was undone', () => {
  const remaining = { partialReversalAmount: 'remaining' } as const
  const ask = { eventId: 'E1', amountMinor: 150 }
  const reversal = { eventId: 'E2', requestType: 'PartialReversal', amountMinor: 80 } as const

  it('is what remains of the next, whichever of both came first', () => {
    for (const said of [
      [ask, reversal],
      [reversal, ask],
    ]) {
      const world = openWorld(remaining)
      for (const event of said) expect(world.tell(event)).toBe('000')
      expect(world.account().heldMinor).toBe(80)
      world.say(ask, '176')
      expect(world.account().heldMinor).toBe(0)
      expect(world.tell({ eventId: 'E3', amountMinor: 60 })).toBe('000')
      expect(world.account().heldMinor).toBe(60)
      expectReplayed(world)
    }
  })
})

describe('cash and a purchase in one transaction', () => {
  const cash = { eventId: 'E1', requestType: 'CashWithdrawal', amountMinor: 40 } as const
  const purchase = { eventId: 'E2', amountMinor: 30 }

  it('are a purchase once the cash, which came first, is undone', () => {
    const world = openWorld()
    expect(world.tell(cash)).toBe('000')
    expect(world.tell(purchase)).toBe('133')
    world.say({ ...purchase, eventId: 'E3' }, '000')
    expect(world.account()).toMatchObject({ postedMinor: 930, heldMinor: 0 })
    world.say(cash, '176')
    expect(world.account()).toMatchObject({ postedMinor: 1_000, heldMinor: 30 })
    expect(world.tell({ ...purchase, eventId: 'E4' })).toBe('000')
    expectReplayed(world)
  })

  it('are cash once the purchase, which came first, is undone', () => {
    const world = openWorld()
    expect(world.tell(purchase)).toBe('000')
    world.say(cash, '000')
    world.say({ eventId: 'E3', amountMinor: 20 }, '000')
    world.say(purchase, '176')
    expect(world.account()).toMatchObject({ postedMinor: 940, heldMinor: 0 })
    world.say(cash, '176')
    expect(world.account()).toMatchObject({ postedMinor: 1_000, heldMinor: 20 })
    expectReplayed(world)
  })
})

describe('a one-time unblock', () => {
  const blocked = { blockedMids: ['M1'], unblockedMids: ['M1'] }
  const { merchant } = eventOf({ eventId: '' })
  const at = { merchant: { ...merchant, mid: 'M1' } }
  const first = { ...at, eventId: 'E1' }
  const second = { ...at, eventId: 'E2' }
  const elsewhere = { ...at, eventId: 'E3', transactionId: 'T2' }

  it('is not given back by an ask on which another of its transaction stands', () => {
    const world = openWorld({}, blocked)
    expect([world.tell(first), world.tell(second)]).toEqual(['000', '000'])
    world.say(first, '176')
    expect(world.card().unblockedMids).toEqual([])
    expect(world.tell(elsewhere)).toBe('186')
    expect(world.tell({ ...at, eventId: 'E4' })).toBe('000')
    expectReplayed(world)
  })

  it('is given back by the last ask that stands on it, in any order', () => {
    for (const undone of [
      [first, second],
      [second, first],
    ] as const) {
      const world = openWorld({}, blocked)
      expect([world.tell(first), world.tell(second)]).toEqual(['000', '000'])
      for (const ask of undone) world.say(ask, '176')
      expect(world.card().unblockedMids).toEqual(['M1'])
      expect(world.tell(elsewhere)).toBe('000')
      expectReplayed(world)
    }
  })

  it('is given back where what stands needs none', () => {
    const world = openWorld({}, blocked)
    const other = { eventId: 'E2', merchant: { ...merchant, mid: 'M2' } }
    expect([world.tell(first), world.tell(other)]).toEqual(['000', '000'])
    world.say(first, '176')
    expect(world.card().unblockedMids).toEqual(['M1'])
  })
})
