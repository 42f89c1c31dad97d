import { describe, expect, it } from 'vitest'
import { copyStore } from '../../src/backoffice/transfer.ts'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { claimStore } from '../../src/engine/format/meta.ts'
import { importRows } from '../../src/engine/import.ts'
import type { Consumer } from '../../src/projection/consumer.ts'
import { createProjector } from '../../src/projection/projector.ts'
import { createRowDesk } from '../../src/projection/row-desk.ts'
import type { Store } from '../../src/store/port.ts'
import { startEngine } from '../support/engine-world.ts'
import { createMemoryState, createMemoryStore } from '../support/memory-store.ts'
import { checkRows } from '../support/row-check.ts'

const time = { ms: Date.now() }
const clock = { nowMs: () => time.ms, monoMs: () => time.ms }

/** Follows the log of a store to its end, and tells which entries it looked at. */
async function project(store: Store, instance: string): Promise<string[]> {
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `${instance}.${versions++}` })
  const desk = createRowDesk({ aggregates, retentionDays: 400, nowMs: clock.nowMs })
  const seen: string[] = []
  const watcher: Consumer = {
    name: 'watcher',
    async take(entries) {
      for (const { entry } of entries) if (entry.eventKey !== '') seen.push(entry.eventKey)
    },
  }
  const consumers = [desk, watcher]
  const onTrouble = (message: string) => expect(message).toBe('')
  const projector = createProjector({ store, aggregates, clock, instance, consumers, onTrouble })
  for (let i = 0; i < 20; i++) {
    time.ms += 1_000
    while (await projector.step()) {}
  }
  await projector.stop()
  return seen
}

describe('a copy of a store', () => {
  it('has the transactions list, and goes on with it where the source was', async () => {
    const { nowMs } = clock
    const source = createMemoryStore(createMemoryState(), { nowMs })
    await claimStore(source, { eventRetentionDays: 45 })
    const engine = startEngine(source, { clock })
    const row = {
      cardId: 'card-0',
      customerId: 'customer-0',
      accountId: 'account-0',
      organizationId: 'org-1',
      type: 'retail',
      currency: 'USD',
      country: 'US',
      balance: '1000.00',
    }
    expect((await importRows([row], engine)).problems).toEqual([])
    for (const eventId of ['e1', 'e2']) {
      await engine.ask({ eventId, amountMinor: 100 })
      time.ms += 1_000
    }
    expect(await project(source, 'a')).toEqual(['e1', 'e2'])
    await engine.ask({ eventId: 'e3', amountMinor: 100 })
    engine.stop()

    const target = createMemoryStore(createMemoryState(), { nowMs })
    await copyStore(source, target, { onProgress() {}, nowMs })
    const after = startEngine(target, { clock })
    await after.ask({ eventId: 'e4', amountMinor: 100 })
    const seen = await project(target, 'b')
    expect(seen).not.toContain('e1')
    expect(seen.slice(-2)).toEqual(['e3', 'e4'])
    expect(await checkRows(target, 'org-1')).toEqual({ rows: 4, wrong: [], strayEntries: 0 })
  })
})
