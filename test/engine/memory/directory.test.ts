import { describe, expect, it } from 'vitest'
import { openCards, startEngine } from '../../support/engine-world.ts'
import { createMemoryStore } from '../../support/memory-store.ts'

describe('the directory', () => {
  it('finds the accounts of more cards at once than memory keeps', async () => {
    const store = createMemoryStore()
    await openCards(startEngine(store), 5)
    const engine = startEngine(store, { cacheCards: 2 })
    const asked = [0, 1, 2, 3, 4].map((i) =>
      engine.ask({ eventId: `e${i}`, cardId: `card-${i}`, amountMinor: 500 }),
    )
    for (const { code } of await Promise.all(asked)) expect(code).toBe('000')
  })

  it('enters more cards at once than memory keeps', async () => {
    const engine = startEngine(createMemoryStore(), { cacheCards: 2 })
    await openCards(engine, 5)
    expect(await engine.ask({ eventId: 'e1', cardId: 'card-0' })).toMatchObject({ code: '000' })
  })
})
