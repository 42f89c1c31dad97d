import { expect, it, onTestFinished } from 'vitest'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { projectionAggregate } from '../../src/engine/format/layout.ts'
import { startProjection } from '../../src/projection/projection.ts'
import type { ProjectionFigures } from '../../src/projection/projector.ts'
import { createMemoryStore } from '../support/memory-store.ts'

it('whose place in the log a newer release has written is told as late, and where to look', async () => {
  const store = createMemoryStore()
  const time = { ms: Date.UTC(2026, 10, 15, 10) }
  const clock = { nowMs: () => time.ms, monoMs: () => time.ms, isDoubted: () => false }
  let versions = 0
  const newVersion = () => `v${versions++}`
  const aggregates = createAggregates({ store, newVersion })
  const write = { root: '{"format":2}' }
  await aggregates.change({
    aggregate: projectionAggregate,
    decide: () => ({ result: null, write }),
  })
  const troubles: string[] = []
  const told: ProjectionFigures[] = []
  const projection = startProjection({
    store,
    clock,
    newVersion,
    instance: null,
    retentionDays: 30,
    consumers: [],
    onFigures: (figures) => told.push(figures),
    onTrouble: (message) => troubles.push(message),
  })
  onTestFinished(() => projection.stop())
  await expect.poll(() => troubles).toHaveLength(1)
  expect(troubles[0]).toBe(
    'the lists do not follow the log: a record cannot be read, the progress of the projection was written by a newer release: see arbiter damaged',
  )
  time.ms += 90_000
  await expect.poll(() => told.at(-1)?.lagMs, { timeout: 5_000 }).toBe(90_000)
})
