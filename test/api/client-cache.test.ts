import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createClientCache } from '../../src/api/client-cache.ts'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { addClient } from '../../src/management/client.ts'
import { createSecretBox } from '../../src/management/secret-box.ts'
import { createMemoryState, createMemoryStore } from '../support/memory-store.ts'

describe('a client that calls', () => {
  it('is told of when no key opens what it must prove, as after a restore without secrets.key', async () => {
    const store = createMemoryStore(createMemoryState())
    const aggregates = createAggregates({ store, newVersion: () => 'v1' })
    const [sealing, made] = [randomBytes(32), randomBytes(32)]
    const given = { organizationId: 'org-1', name: 'back office', scopes: [] }
    const { clientId } = await addClient(aggregates, createSecretBox([sealing]), given, 0)
    const told: string[] = []
    const find = (keys: readonly [Buffer, ...Buffer[]]) =>
      createClientCache(store, createSecretBox(keys), (line) => told.push(line)).find(clientId, 1)
    expect((await find([made, sealing]))?.secrets).toHaveLength(1)
    expect(told).toEqual([])
    expect((await find([made]))?.secrets).toEqual([])
    expect(told).toEqual([
      `no key opens the secrets of client ${clientId}: give the one that sealed them as SECRETS_KEY_OLD, then run arbiter secrets rewrap`,
    ])
  })

  it('is remembered for a second among 10,000, known or not, and the one asked longest ago goes', async () => {
    const store = createMemoryStore(createMemoryState())
    let loads = 0
    const load: typeof store.load = (keys) => {
      loads++
      return store.load(keys)
    }
    const box = createSecretBox([randomBytes(32)])
    const cache = createClientCache({ ...store, load }, box, () => {})
    const ask = async (i: number, nowMs: number) => {
      const before = loads
      expect(await cache.find(`cli_${i}`, nowMs)).toBe(null)
      return loads - before
    }
    for (let i = 0; i < 10_000; i++) expect(await ask(i, 0)).toBe(1)
    expect(await ask(0, 999)).toBe(0)
    expect(await ask(10_000, 999)).toBe(1)
    expect([await ask(1, 999), await ask(0, 999)]).toEqual([0, 1])
    expect(await ask(2, 1_000)).toBe(1)
  })
})
