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
})
