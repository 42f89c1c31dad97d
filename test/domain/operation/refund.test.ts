import { expect, it } from 'vitest'
import { createLedger, type Ledger } from '../../../src/domain/ledger/ledger.ts'
import { noAccount } from '../../../src/domain/record/account.ts'
import { noCard } from '../../../src/domain/record/card.ts'
import type { CardEvent } from '../../../src/domain/record/event.ts'
import { eventOf } from '../../support/event-generator.ts'
import { defaultSwitches, packOf } from '../../support/world.ts'

const pack = packOf(defaultSwitches)

/** An account with 1.00 whose card had a refund of 50.00 for T1, of which no settlement is known. */
function refunded(originalTransactionId: string): Ledger {
  const ledger = createLedger()
  const whose = { accountId: 'A1', currency: 'USD', openingMinor: 100, postedMinor: 100 }
  const card = { ...noCard, cardId: 'C1', accountId: 'A1' }
  const account = { ...noAccount, ...whose }
  ledger.operate('A1', { type: 'open', account, card, givesBalance: true }, pack, 0)
  const amountMinor = 5_000
  send(ledger, { eventId: 'R', requestType: 'Refund', originalTransactionId, amountMinor })
  return ledger
}

function send(ledger: Ledger, event: Partial<CardEvent> & { eventId: string }): string {
  const sent = eventOf({ transactionId: event.eventId, ...event })
  const delivery = { event: sent, slot: event.eventId, receivedAtMs: 0, said: null }
  return ledger.deliver(delivery, pack).answer.code
}

const grant = (transactionId: string) =>
  ({ type: 'grantRefund', cardId: 'C1', transactionId }) as const

it.each([
  ['', 'R'],
  ['T1', 'R'],
  ['T1', 'T1'],
])(
  'a refund for "%s" that no settlement covers can be spent once a person grants %s',
  (original, named) => {
    const ledger = refunded(original)
    expect(send(ledger, { eventId: 'E1', amountMinor: 5_100 })).toBe('116')
    expect(ledger.operate('A1', grant(named), pack, 0)).toBeNull()
    expect(ledger.book('A1').account()).toMatchObject({ postedMinor: 5_100, withheldMinor: 0 })
    expect(send(ledger, { eventId: 'E2', amountMinor: 5_100 })).toBe('000')
    const again = ledger.operate('A1', grant(named), pack, 0)
    expect(again).toEqual({ refused: `nothing of transaction ${named} is withheld` })
    const replayed = createLedger()
    for (const entry of ledger.entries) replayed.replay(entry)
    expect(replayed.book('A1').account()).toEqual(ledger.book('A1').account())
  },
)
