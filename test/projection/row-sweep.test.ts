import { describe, expect, it } from 'vitest'
import { dayMs } from '../../src/clock.ts'
import { indexes } from '../../src/engine/format/layout.ts'
import { newestFirst } from '../../src/engine/format/newest-first.ts'
import { blankRow, type TransactionRow } from '../../src/projection/row.ts'
import { createRowDesk } from '../../src/projection/row-desk.ts'
import { facetPrefix } from '../../src/projection/row-place.ts'
import { createRowSweep } from '../../src/projection/row-sweep.ts'
import { rowsIn } from '../support/row-check.ts'
import { openSweptWorld, retentionDays, startMs, sweepRound } from '../support/swept-world.ts'

async function openWorld() {
  const world = await openSweptWorld(['org-0', 'org-1', 'org-2'])
  const { time, state, clock, aggregates, swept } = world
  const desk = createRowDesk({ aggregates, retentionDays, nowMs: clock.nowMs })
  /** Rows of one a day, the oldest first. */
  async function write(organizationId: string, days: number): Promise<void> {
    for (let day = 0; day < days; day++) {
      time.ms = startMs + day * dayMs
      const row: TransactionRow = {
        ...blankRow,
        accountId: `${organizationId}-account`,
        organizationId,
        n: day,
        revision: day,
        bookedAtMs: time.ms,
        type: 'Refund',
        cardId: `${organizationId}-card`,
        customerId: 'customer',
        transactionId: `t${day}`,
        currency: 'USD',
      }
      const projected = { entry: {} as never, writtenMs: time.ms, organizationId, currency: 'USD' }
      await desk.take([{ ...projected, rows: [row] }])
    }
  }
  const turn = createRowSweep(swept)
  const sweep = () => sweepRound(turn)
  const entries = () => state.indexes.get(indexes.rows)?.size ?? 0
  return { ...world, write, sweep, entries }
}

describe('rows whose time is over', () => {
  it('leave every list that they stand in, of every organization, and no others', async () => {
    const { time, store, write, sweep, entries } = await openWorld()
    await write('org-1', 40)
    await write('org-2', 40)
    expect(entries()).toBe(2 * 40 * 6)
    await store.sweep(time.ms, 0, 1_000)
    await sweep()
    const kept = (await rowsIn(store, 'org-1')).map(({ n }) => n)
    expect(kept).toEqual(Array.from({ length: 31 }, (_, i) => 39 - i))
    expect(entries()).toBe(2 * 31 * 6)
    expect(await rowsIn(store, 'org-2', { cardId: 'org-2-card' })).toHaveLength(31)
    time.ms += 100 * dayMs
    await store.sweep(time.ms, 0, 1_000)
    await sweep()
    expect(entries()).toBe(0)
  })

  it('leave in the next round, too, after one that had more than a portion to take out', async () => {
    const { time, write, sweep, entries } = await openWorld()
    await write('org-1', 250)
    await sweep()
    expect(entries()).toBe(31 * 6)
    time.ms += 5 * dayMs
    await sweep()
    expect(entries()).toBe(26 * 6)
  })

  it('stay while the clock is doubted', async () => {
    const { time, write, sweep, entries } = await openWorld()
    await write('org-1', 3)
    time.ms += 400 * dayMs
    time.doubted = true
    await sweep()
    expect(entries()).toBe(18)
  })

  it('leave though the record of an organization cannot be read, its own too', async () => {
    const { time, write, sweep, entries, damage } = await openWorld()
    await write('org-1', 3)
    await write('org-2', 3)
    time.ms += 400 * dayMs
    damage('org-1')
    await sweep()
    expect(entries()).toBe(0)
  })

  it('leave though they stand behind hundreds of entries that cannot be read', async () => {
    const { time, state, write, sweep, entries } = await openWorld()
    await write('org-1', 3)
    const rows = state.indexes.get(indexes.rows)!
    const newest = facetPrefix('org-1', ['all', '']) + newestFirst(time.ms + dayMs)
    for (let i = 0; i < 450; i++) rows.set(`${newest}\naccount\n${newestFirst(i)}\n0`, 'damaged')
    time.ms += 400 * dayMs
    await sweep()
    expect(entries()).toBe(450)
  })

  it('leave though sort keys are damaged, and a round comes to its end', async () => {
    const { time, state, swept, write, entries } = await openWorld()
    await write('org-1', 3)
    await write('org-2', 3)
    const rows = state.indexes.get(indexes.rows)!
    rows.set('org-1\n\u007f\nbeyond all letters', '[1]')
    const oldest = facetPrefix('org-1', ['all', '']) + newestFirst(startMs - dayMs)
    const stays = `${oldest}\naccount\n${newestFirst(0)}\n0`
    rows.set(stays, '[1]')
    time.ms += 400 * dayMs
    const { range } = swept.store
    // In Redis bytes that are no UTF-8 stand behind all text, are read as other ones, and cannot be taken out by these.
    const broken = { sortKey: '\ufffd\na\n', value: '[1]' }
    const store = {
      ...swept.store,
      range: async (index: string, after: string, limit: number) =>
        [...(await range(index, after, limit)), broken].slice(0, limit),
    }
    const change: typeof swept.aggregates.change = async (given) => {
      const changed = await swept.aggregates.change(given)
      rows.set(stays, '[1]')
      return changed
    }
    const turn = createRowSweep({ ...swept, store, aggregates: { ...swept.aggregates, change } })
    for (let turns = 0; (await turn()) && turns < 10; ) expect(++turns).toBeLessThan(10)
    expect(entries()).toBe(2)
  })
})
