import { expect, it } from 'vitest'
import { verifyStore } from '../../../src/backoffice/verify.ts'
import { handed, openCards, startEngine, testEvent } from '../../support/engine-world.ts'
import { createMemoryState, createMemoryStore } from '../../support/memory-store.ts'

const day = 86_400_000

it('what was read with a root that could not be is forgotten: another writer may have mended it since', async () => {
  const state = createMemoryState()
  const store = createMemoryStore(state)
  const one = startEngine(store)
  await openCards(one, 1)
  const aside: string[] = []
  const other = startEngine(store, { onSetAside: (slot) => void aside.push(slot) })
  await one.ask({ eventId: 'ask', transactionId: 't', amountMinor: 10_000 })
  state.aggregates.get('a:account-0')!.root = 'garbage'
  const settled = { transactionId: 't', requestType: 'Settlement', final: false } as const
  other.deliver(handed(testEvent({ ...settled, eventId: 's0', amountMinor: 1_000 }), 'slot'))
  await expect.poll(() => aside).toEqual(['slot'])
  // The first has it in memory, as it was, and writes it anew.
  await one.ask({ ...settled, eventId: 's1', amountMinor: 3_000 })
  await other.ask({ ...settled, eventId: 's2', amountMinor: 2_000 })
  const { differences } = await verifyStore(store, 45 * day)
  expect(differences).toEqual([])
  for (const engine of [one, other]) engine.stop()
})
