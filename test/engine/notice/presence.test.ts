import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { createAggregates } from '../../../src/engine/aggregates.ts'
import { instancesAggregate } from '../../../src/engine/format/layout.ts'
import { readInstances, startPresence } from '../../../src/engine/notice/presence.ts'
import { createMemoryState, createMemoryStore } from '../../support/memory-store.ts'
import { until } from '../../support/server.ts'

/** A store that so many instances have told of themselves in, and what one more finds there. */
async function joined(others: number, atMs = systemClock.nowMs()) {
  const store = createMemoryStore(createMemoryState())
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
  const told = { version: 'another', atMs, release: '1' }
  const root = JSON.stringify(
    Object.fromEntries(Array.from({ length: others }, (_, i) => [`i${i}`, told])),
  )
  await aggregates.change({
    aggregate: instancesAggregate,
    decide: () => ({ result: null, write: { root } }),
  })
  const presence = startPresence({
    aggregates,
    clock: systemClock,
    instance: 'own',
    rulesVersion: () => 'mine',
    release: '1',
  })
  const shown = () => readInstances(store, systemClock.nowMs())
  const isThere = async () => (await shown()).some(({ name }) => name === 'own')
  return { presence, shown, isThere }
}

describe('instances that share a store', () => {
  it('count those that decide by another pack, until they are silent for 35 s', async () => {
    const near = await joined(3)
    await until(near.isThere)
    expect(near.presence.skew).toBe(3)
    await near.presence.stop()
    expect(await near.isThere()).toBe(false)
    const gone = await joined(3, systemClock.nowMs() - 35_000)
    await until(gone.isThere)
    expect(gone.presence.skew).toBe(0)
    await gone.presence.stop()
  })

  it('hear of a thousand others, and not of more', async () => {
    const { presence, shown } = await joined(1_001)
    await until(async () => presence.skew > 0)
    expect(presence.skew).toBe(1_000)
    expect((await shown()).length).toBeLessThanOrEqual(1_001)
    await presence.stop()
  })
})
