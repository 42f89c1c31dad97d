import { expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { findRoutes } from '../../../src/console/route/find.ts'
import type { FoundThings } from '../../../src/console/shape/record.ts'
import { customerCardsPrefix, indexes } from '../../../src/engine/format/layout.ts'
import { commandOf } from '../../store/conformance.ts'
import { createMemoryStore } from '../../support/memory-store.ts'

it('finds the cards of a customer by its id where many others have ids that begin so', async () => {
  const store = createMemoryStore()
  const card = (organizationId: string, customerId: string, cardId: string) => ({
    index: indexes.customerCards,
    sortKey: `${customerCardsPrefix(organizationId, customerId)}1\n${cardId}`,
    value: '',
  })
  const others = Array.from({ length: 12 }, (_, i) => card('org-0', `customer-1${i}`, `other-${i}`))
  const index = [...others, card('org-1', 'customer-1', 'card-1')]
  await store.commit([commandOf({ aggregate: 'a', index })])
  const [find] = findRoutes({ store, clock: systemClock })
  const who = { name: 'ada', role: 'operator' } as const
  const { things } = (await find!.handle({ q: 'customer-1' }, who)) as FoundThings
  const abouts = things.map(({ kind, id, about }) => `${kind} ${id} ${about}`)
  expect(abouts[0]).toBe('customer customer-1 has card card-1')
  expect(abouts).toHaveLength(10)
})
