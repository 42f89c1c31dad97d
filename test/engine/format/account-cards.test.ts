import { describe, expect, it } from 'vitest'
import { negativePrefix } from '../../../src/engine/format/account-cards.ts'
import { accountCodec } from '../../../src/engine/format/codec.ts'
import { accountAggregate, accountCardsKey, indexes } from '../../../src/engine/format/layout.ts'
import { importRows } from '../../../src/engine/import.ts'
import { isNegative } from '../../../src/management/customer.ts'
import { cardPlaces, indexCards } from '../../../src/projection/reindex.ts'
import { startEngine } from '../../support/engine-world.ts'
import { createMemoryState, createMemoryStore } from '../../support/memory-store.ts'
import { createRandom } from '../../support/traffic.ts'

const organizationId = 'org-1'

/** Two instances on one store: each moves accounts that the other may have in memory. */
function openWorld() {
  const state = createMemoryState()
  const store = createMemoryStore(state)
  const engines = [startEngine(store), startEngine(createMemoryStore(state))]
  const holders = new Map<string, { readonly cardId: string; readonly customerId: string }[]>()
  let references = 0

  return {
    state,
    store,
    engines,
    holders,
    async issue(accountId: string, customerId: string, cards = 1, by = engines[0]!) {
      const held = holders.get(accountId) ?? []
      const made = Array.from({ length: cards }, (_, i) => ({
        cardId: `${accountId}-${held.length + i}`,
        customerId,
      }))
      holders.set(accountId, [...held, ...made])
      const row = { accountId, organizationId, type: 'retail', currency: 'USD', country: 'US' }
      const { problems } = await importRows(
        made.map((one) => ({ ...row, ...one })),
        by,
      )
      expect(problems).toEqual([])
    },
    async move(accountId: string, amountMinor: number, by = engines[0]!) {
      const reference = `r${references++}`
      const adjusting = { type: 'adjust', amountMinor, reference } as const
      expect((await by.operate(accountId, adjusting, 'x')).refused).toBe('')
    },
    /** What the records say, against what the indexes say. */
    async compare(about = '') {
      const named: string[] = []
      const owing = new Set<string>()
      for (const [accountId, cards] of holders) {
        const [root] = await store.load([
          { aggregate: accountAggregate(accountId), group: '', id: '' },
        ])
        if (accountCodec.decode(root!.value).postedMinor >= 0) continue
        for (const { cardId, customerId } of cards) {
          named.push(cardId)
          owing.add(customerId)
        }
      }
      const crowded = await store.count(indexes.negative, negativePrefix(organizationId, ''))
      const listed = await store.range(indexes.organizationCards, 'org-1\nnegative\n', 10_000)
      const cardIds = listed
        .filter(({ sortKey }) => sortKey.startsWith('org-1\nnegative\n'))
        .map(({ sortKey }) => sortKey.split('\n')[3]!)
      if (crowded === 0) expect(cardIds.sort(), about).toEqual(named.sort())
      else expect(named, about).toEqual(expect.arrayContaining(cardIds))
      const customers = new Set([...holders.values()].flat().map(({ customerId }) => customerId))
      for (const customerId of customers) {
        const is = await isNegative(store, { organizationId, customerId })
        expect(is, `${about} ${customerId}`).toBe(owing.has(customerId))
      }
      return { named, crowded }
    },
  }
}

describe('the lists of what is negative', () => {
  it('name every card and customer of an account while it is below zero, whoever moves it', async () => {
    const world = openWorld()
    await world.issue('a', 'ada')
    await world.issue('a', 'bob')
    await world.move('a', -1, world.engines[1])
    expect((await world.compare()).named).toEqual(['a-0', 'a-1'])
    await world.issue('a', 'cyd')
    expect((await world.compare()).named).toHaveLength(3)
    await world.move('a', 1)
    expect((await world.compare()).named).toEqual([])
  })

  it('agree with the records after a random walk of two instances', async () => {
    const world = openWorld()
    const random = createRandom(18)
    for (let i = 0; i < 150; i++) {
      const accountId = `a${Math.floor(random() * 6)}`
      const by = world.engines[Math.floor(random() * 2)]
      if (!world.holders.has(accountId) || random() < 0.15) {
        await world.issue(accountId, `c${Math.floor(random() * 4)}`, 1, by)
      } else await world.move(accountId, Math.floor(random() * 21) - 10, by)
      await world.compare(`step ${i}`)
    }
  })

  it('read the cards of an account with more than a hundred', async () => {
    const world = openWorld()
    await world.issue('big', 'ada', 100)
    await world.issue('big', 'late', 3)
    await world.issue('other', 'bob')
    await world.move('big', -1)
    expect(await world.compare()).toMatchObject({ crowded: 1 })
    await world.move('big', 1)
    expect(await world.compare()).toMatchObject({ crowded: 0 })
  })

  it('are made anew for accounts of before, which are exact once they move', async () => {
    const world = openWorld()
    await world.issue('a', 'ada', 2)
    await world.issue('b', 'bob', 2)
    await world.move('a', -1)
    const { aggregates } = world.state
    for (const accountId of ['a', 'b']) {
      aggregates.get(accountAggregate(accountId))!.groups.delete(accountCardsKey.group)
    }
    world.state.indexes.delete(indexes.negative)
    world.state.indexes.delete(indexes.organizationCards)
    await world.move('b', -1, world.engines[1])
    expect(await isNegative(world.store, { organizationId, customerId: 'bob' })).toBe(true)
    for await (const places of cardPlaces(world.store)) await indexCards(world.engines[0]!, places)
    expect(await world.compare()).toMatchObject({ crowded: 0 })
    await world.move('a', 5, world.engines[1])
    await world.move('b', 5)
    expect((await world.compare()).named).toEqual([])
  })
})
