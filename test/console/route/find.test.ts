import { expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { findRoutes } from '../../../src/console/route/find.ts'
import type { FoundThings } from '../../../src/console/shape/record.ts'
import { customerCardsPrefix, indexes } from '../../../src/engine/format/layout.ts'
import { commandOf } from '../../store/conformance.ts'
import { createMemoryStore } from '../../support/memory-store.ts'

const card = (organizationId: string, customerId: string, cardId: string) => ({
  index: indexes.customerCards,
  sortKey: `${customerCardsPrefix(organizationId, customerId)}1\n${cardId}`,
  value: '',
})

it('lets a viewer find a customer by the whole id only, of which the page shows the ends', async () => {
  const store = createMemoryStore()
  await store.commit([
    commandOf({ aggregate: 'a', index: [card('org-1', 'customer-1', 'card-1')] }),
  ])
  const [find] = findRoutes({ store, clock: systemClock })
  const found = async (q: string, role: 'operator' | 'viewer') => {
    const { things } = (await find!.handle({ q }, { name: 'ada', role })) as FoundThings
    return things.filter(({ kind }) => kind === 'customer').map(({ id }) => id)
  }
  expect(await found('customer-', 'operator')).toEqual(['customer-1'])
  expect(await found('customer-', 'viewer')).toEqual([])
  expect(await found('customer-1', 'viewer')).toEqual(['cu…-1'])
})

it('finds the cards of a customer by its id where many others have ids that begin so', async () => {
  const store = createMemoryStore()
  const others = Array.from({ length: 12 }, (_, i) => card('org-0', `customer-1${i}`, `other-${i}`))
  const index = [...others, card('org-1', 'customer-1', 'card-1')]
  await store.commit([commandOf({ aggregate: 'a', index })])
  const [find] = findRoutes({ store, clock: systemClock })
  const who = { name: 'ada', role: 'operator' } as const
  const { things, more } = (await find!.handle({ q: 'customer-1' }, who)) as FoundThings
  const abouts = things.map(({ kind, id, about }) => `${kind} ${id} ${about}`)
  expect(abouts[0]).toBe('customer customer-1 has card card-1')
  expect(abouts).toHaveLength(10)
  expect(more).toEqual(['customer'])
})

it('finds the cards of a customer in each of a thousand organizations', async () => {
  const store = createMemoryStore()
  const last = card('org-999', 'customer-1', 'card-1')
  const others = Array.from({ length: 1_000 }, (_, i) => card(`org-${i}`, 'somebody', `other-${i}`))
  await store.commit([commandOf({ aggregate: 'a', index: [...others, last] })])
  const [find] = findRoutes({ store, clock: systemClock })
  const who = { name: 'ada', role: 'operator' } as const
  const { things, more } = (await find!.handle({ q: 'customer-1' }, who)) as FoundThings
  expect(things).toMatchObject([{ kind: 'customer', about: 'has card card-1' }])
  expect(more).toEqual([])
})
