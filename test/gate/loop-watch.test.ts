import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createLoopWatch, type LoopWatch } from '../../src/gate/loop-watch.ts'

const endings: (() => void)[] = []
afterEach(() => {
  for (const end of endings.splice(0)) end()
})

/** A machine whose clocks stand, but when the test moves them; the timer of the watch is the real one. */
async function openWatch(): Promise<{
  watch: LoopWatch
  machine: { monoMs: number; atMs: number }
}> {
  const machine = { monoMs: 1_000, atMs: 1_700_000_000_000 }
  const watch = createLoopWatch({ nowMs: () => machine.atMs, monoMs: () => machine.monoMs })
  endings.push(watch.stop)
  await looks()
  return { watch, machine }
}

/** The same, whose timer looks when the test says so. */
function openWatchByHand() {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  endings.push(() => void vi.useRealTimers())
  const machine = { monoMs: 1_000, atMs: 1_700_000_000_000 }
  const watch = createLoopWatch({ nowMs: () => machine.atMs, monoMs: () => machine.monoMs })
  const look = () => void vi.advanceTimersByTime(5)
  look()
  look()
  return { watch, machine, look }
}

const turn = () => new Promise(setImmediate)

/** Long enough for two looks, also where the loop stood: one timer that is late looks once. */
async function looks(): Promise<void> {
  for (let i = 0; i < 4; i++) await sleep(10)
}

describe('the watch over the loop', () => {
  it('dates what is read from now while the loop turns', async () => {
    const { watch, machine } = await openWatch()
    machine.monoMs += 10
    machine.atMs += 10
    expect(watch.readSinceMonoMs()).toBe(machine.monoMs)
    expect(watch.acceptedSinceMonoMs()).toBeNull()
  })

  it('dates what is read after a pause from its start, and what comes later from now', async () => {
    const { watch, machine } = await openWatch()
    machine.monoMs += 700
    machine.atMs += 700
    expect(watch.readSinceMonoMs()).toBe(1_000)
    await looks()
    machine.monoMs += 5
    expect(watch.readSinceMonoMs()).toBe(1_705)
  })

  it('knows a suspended machine, whose monotonic clock stood, by the wall clock', async () => {
    const { watch, machine } = await openWatch()
    machine.monoMs += 2
    machine.atMs += 7_000
    expect(watch.readSinceMonoMs()).toBe(1_002 - 7_000)
  })

  it('does not take a wall clock that was set back for a pause', async () => {
    const { watch, machine } = await openWatch()
    machine.monoMs += 2
    machine.atMs -= 7_000
    expect(watch.readSinceMonoMs()).toBe(1_002)
  })

  it('dates what is read from the start of a pause also where its own timer was first after it', () => {
    const { watch, machine, look } = openWatchByHand()
    machine.monoMs += 700
    look()
    expect(watch.readSinceMonoMs()).toBe(1_000)
    look()
    expect(watch.readSinceMonoMs()).toBe(1_700)
  })

  it('dates connections that are accepted turn by turn after a pause from its start', async () => {
    const { watch, machine, look } = openWatchByHand()
    machine.monoMs += 700
    for (let i = 0; i < 40; i++) {
      expect(watch.acceptedSinceMonoMs()).toBe(1_000)
      await turn()
      look()
    }
    await turn()
    await turn()
    // A turn without any: none waits any more.
    expect(watch.acceptedSinceMonoMs()).toBeNull()
  })

  it('takes no more connections for those of the pause than can wait to be accepted', async () => {
    const { watch, machine, look } = openWatchByHand()
    machine.monoMs += 700
    for (let i = 0; i < 4_096; i++) {
      expect(watch.acceptedSinceMonoMs()).toBe(1_000)
      if (i % 64 === 63) {
        await turn()
        look()
      }
    }
    expect(watch.acceptedSinceMonoMs()).toBeNull()
  })
})
