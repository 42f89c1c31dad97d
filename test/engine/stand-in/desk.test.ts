import { expect, it } from 'vitest'
import type { Pack } from '../../../src/domain/decide/pack.ts'
import { noAccount } from '../../../src/domain/record/account.ts'
import { noCard } from '../../../src/domain/record/card.ts'
import { accountCodec, cardCodec } from '../../../src/engine/format/codec.ts'
import { newDeliveryItem } from '../../../src/engine/item.ts'
import { type CachedAccount, createCache } from '../../../src/engine/memory/cache.ts'
import { createStandInDesk } from '../../../src/engine/stand-in/desk.ts'
import { handed, testEvent } from '../../support/engine-world.ts'
import { defaultSwitches, packOf } from '../../support/world.ts'

const money = { USD: 1_000_000 }
const pack: Pack = packOf({
  ...defaultSwitches,
  standIn: { maxMinor: money, perCardCount: 5, perCardTotalMinor: money },
})

const account = { ...noAccount, accountId: 'A1', currency: 'USD', postedMinor: 100_000 }
const card = { ...noCard, cardId: 'card-0', accountId: 'A1', status: 'Active' } as const

/** An account with one card in an engine's memory. */
function memoryOf(aggregate: string): CachedAccount {
  const cached = createCache(1).open(aggregate)
  cached.loaded = true
  cached.root = accountCodec.encode(account)
  cached.cards.set('card-0', cardCodec.encode(card))
  return cached
}

/** Whether an ask is approved of an account that the cache has forgotten, with so many others kept before. */
function isStoodIn(others: number): boolean {
  const desk = createStandInDesk({ nowMs: () => 0, monoMs: () => 0 })
  for (let i = 0; i < others; i++) desk.keep({ ...memoryOf('a:x'), aggregate: `a:x${i}` })
  desk.keep(memoryOf('a:A1'))
  const item = newDeliveryItem(handed(testEvent({ eventId: 'e1' }), 's1', 0), 0)
  const forgotten = createCache(1).open('a:A1')
  return desk.approves(item, forgotten, pack)
}

it('memory of 10,000 accounts is kept while the store is away, and others are not stood in for', () => {
  expect(isStoodIn(9_999)).toBe(true)
  expect(isStoodIn(10_000)).toBe(false)
})
