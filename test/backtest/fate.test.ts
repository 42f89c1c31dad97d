import { expect, it } from 'vitest'
import { createFates } from '../../src/backtest/replay/fate.ts'
import { createReplayBook } from '../../src/backtest/replay/replay-book.ts'
import type { Change } from '../../src/domain/change/change.ts'
import type { RequestType } from '../../src/domain/record/event.ts'
import type { OpenEntry } from '../../src/engine/format/entry-codec.ts'
import { eventOf } from '../support/event-generator.ts'

type Place = readonly [cardId: string, transactionId: string]
const bought: Place = ['card-1', 'bought']
const back: Place = ['card-1', 'back']

function entryOf(
  requestType: RequestType,
  [transaction, linked]: readonly [Place, Place | null],
  ...changes: Partial<Change>[]
): OpenEntry {
  const head = { transaction, linked, event: eventOf({ eventId: 'e', requestType }) }
  return { head, whole: () => ({ ...head, changes }) } as unknown as OpenEntry
}

it('a transaction ends as what comes after says, a refund under an id of its own among it', () => {
  const fates = createFates(createReplayBook())
  const fate = fates.of(bought)
  expect(fate).toEqual({ settled: false, refunded: false, reversed: false })
  fates.note(entryOf('Settlement', [bought, null], { type: 'captured', amountMinor: 0 }))
  expect(fate.settled).toBe(false)
  fates.note(entryOf('Settlement', [bought, null], { type: 'captured', amountMinor: 700 }))
  fates.note(entryOf('Settlement', [bought, null], { type: 'captured', amountMinor: 0 }))
  fates.note(entryOf('Refund', [back, null], { type: 'refunded' }))
  expect(fate).toEqual({ settled: true, refunded: false, reversed: false })
  fates.note(entryOf('Refund', [back, bought], { type: 'refunded' }))
  expect(fate).toEqual({ settled: true, refunded: true, reversed: false })
  fates.note(entryOf('PartialReversal', [bought, null], { type: 'reduced' }))
  expect(fates.of(bought)).toEqual({ settled: true, refunded: true, reversed: true })
})
