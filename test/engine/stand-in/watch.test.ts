import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { newDeliveryItem } from '../../../src/engine/item.ts'
import { createTable } from '../../../src/engine/memory/table.ts'
import { createStandInDesk } from '../../../src/engine/stand-in/desk.ts'
import { createStandInWatch } from '../../../src/engine/stand-in/watch.ts'
import { handed, testEvent, testPack } from '../../support/engine-world.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** How long an ask waits until memory has approved it, at most one budget. */
function approvedAfterMs(isAway: boolean): number {
  const clock = systemClock
  const open = createTable<ReturnType<typeof newDeliveryItem>>()
  const sentMonoMs = clock.monoMs()
  open.set('s1', newDeliveryItem(handed(testEvent({ eventId: 'e1' }), 's1'), sentMonoMs))
  const switches = { ...testPack.switches, standIn: noBound }
  let approvedMonoMs = Number.POSITIVE_INFINITY
  const watch = createStandInWatch({
    clock,
    open,
    desk: { ...createStandInDesk(clock), isAway, approves: () => true },
    memoryOf: () => undefined,
    pack: () => ({ ...testPack, switches }),
    isOver: () => false,
    onStandIn: () => {
      approvedMonoMs = Math.min(approvedMonoMs, clock.monoMs())
    },
  })
  watch.begin()
  vi.advanceTimersByTime(250)
  watch.stop()
  return approvedMonoMs - sentMonoMs
}

const noBound = { maxMinor: {}, perCardCount: 1, perCardTotalMinor: {} }

it('asks memory early while the store is away, so that a stall of the machine leaves time to say it', () => {
  expect(approvedAfterMs(true)).toBeLessThanOrEqual(60)
})

it('leaves a store that is there the time to commit', () => {
  const afterMs = approvedAfterMs(false)
  expect(afterMs).toBeGreaterThanOrEqual(120)
  expect(afterMs).toBeLessThanOrEqual(140)
})
