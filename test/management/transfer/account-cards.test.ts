import { expect, it } from 'vitest'
import { accountPlaceKey, indexes } from '../../../src/engine/format/layout.ts'
import { cardsOfAccount } from '../../../src/management/transfer/account-cards.ts'
import { createMemoryState, createMemoryStore } from '../../support/memory-store.ts'

it('of an account 5,000 cards are looked at, and the one that is asked about in any case', async () => {
  const state = createMemoryState()
  const names = Array.from({ length: 6_000 }, (_, i) => `card-${String(i).padStart(5, '0')}`)
  const places = names.map((cardId) => accountPlaceKey({ accountId: 'A1', cardId }))
  const others = ['A0', 'A10', 'A2'].map((accountId) => accountPlaceKey({ accountId, cardId: 'x' }))
  state.indexes.set(indexes.accounts, new Map([...places, ...others].map((key) => [key, ''])))
  const cardsFor = (cardId: string) => {
    const whole = { account: { accountId: 'A1' }, card: { cardId } }
    return cardsOfAccount(createMemoryStore(state), whole as never)
  }
  expect(await cardsFor(names[0]!)).toEqual(names.slice(0, 5_000))
  expect(new Set(await cardsFor(names.at(-1)!))).toEqual(
    new Set([names.at(-1), ...names.slice(0, 5_000)]),
  )
})
