import { describe, expect, it } from 'vitest'
import { showAccount } from '../../../src/backoffice/show.ts'
import {
  createCache,
  keepCard,
  keepRoot,
  keepTransaction,
  maxTransactionsPerAccount,
} from '../../../src/engine/memory/cache.ts'
import { openCards, startEngine } from '../../support/engine-world.ts'
import { createMemoryStore } from '../../support/memory-store.ts'

const never = () => false

describe('the cache', () => {
  it('counts what it holds, and nothing when all of it has gone', () => {
    const cache = createCache(1000, 1_000_000)
    for (let i = 0; i < 10; i++) {
      const cached = cache.open(`a:${i}`)
      keepRoot(cached, 'x'.repeat(100))
      keepCard(cached, 'C1', 'x'.repeat(900))
      keepCard(cached, 'C1', 'x'.repeat(400))
      keepTransaction(cached, 't', 'y'.repeat(500))
      cache.settle(cached)
    }
    expect(cache.bytes).toBe(10 * (1000 + 800 + 600))
    cache.settle(cache.open('a:3'))
    expect(cache.bytes).toBe(10 * 2400)
    for (let i = 0; i < 10; i++) cache.drop(`a:${i}`)
    expect([cache.size, cache.bytes]).toEqual([0, 0])
  })

  it('makes room down to its bytes, those used longest ago first, and never of a busy account', () => {
    const cache = createCache(1000, 20_000)
    for (let i = 0; i < 10; i++) {
      const cached = cache.open(`a:${i}`)
      keepRoot(cached, 'x'.repeat(4000))
      cache.settle(cached)
    }
    cache.open('a:0')
    cache.trim((aggregate) => aggregate === 'a:1')
    expect(cache.bytes).toBeLessThanOrEqual(20_000)
    const kept = Array.from({ length: 10 }, (_, i) => cache.find(`a:${i}`) !== undefined)
    expect(kept.map((is, i) => (is ? i : -1)).filter((i) => i >= 0)).toEqual([0, 1, 8, 9])
    cache.trim(never)
    expect(cache.size).toBe(4)
  })

  it('holds one account that is larger than all of it only while it is in use', () => {
    const cache = createCache(1000, 20_000)
    const cached = cache.open('a:big')
    keepRoot(cached, 'x'.repeat(1_000_000))
    cache.settle(cached)
    cache.trim(() => true)
    expect(cache.size).toBe(1)
    cache.trim(never)
    expect([cache.size, cache.bytes]).toEqual([0, 0])
  })
})

describe('an engine at the bound of its memory', () => {
  it('decides on what it reads again, and stays within its bytes', async () => {
    const store = createMemoryStore()
    const cards = 6
    const cacheBytes = 150_000
    const engine = startEngine(store, { cacheBytes })
    await openCards(engine, cards)
    const each = maxTransactionsPerAccount + 2
    let most = 0
    for (let i = 0; i < each; i++) {
      const asks = Array.from({ length: cards }, (_, c) =>
        engine.ask({ eventId: `e${c}-${i}`, cardId: `card-${c}`, amountMinor: 1 }),
      )
      for (const { code } of await Promise.all(asks)) expect(code).toBe('000')
      await engine.idle()
      most = Math.max(most, engine.stats().cachedBytes)
    }
    expect(most).toBeGreaterThan(cacheBytes / 2)
    expect(engine.stats().cachedBytes).toBeLessThanOrEqual(cacheBytes)
    expect(engine.stats().cacheMisses).toBeGreaterThan(cards)
    for (let c = 0; c < cards; c++) {
      expect(await showAccount(store, `account-${c}`)).toMatchObject({ heldMinor: each })
    }
  })
})
