import { describe, expect, it } from 'vitest'
import { createTrustedClock, followTime, type TrustedClock } from '../src/clock.ts'

const startMs = Date.UTC(2026, 10, 15)
const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** A machine whose clocks the test moves; the trusted clock looks every second, as in the server. */
function openMachine(
  markMs: number | null = null,
  wallMs = startMs,
  newestMs: number | null = null,
) {
  const machine = { wallMs, monoMs: 5_000 }
  const clocks = { nowMs: () => Math.floor(machine.wallMs), monoMs: () => machine.monoMs }
  const clock: TrustedClock = createTrustedClock(markMs, clocks)
  expect(clock.isDoubted()).toBe(true)
  clock.remember(newestMs)
  const pass = (ms: number, rate = 1) => {
    for (let left = ms; left > 0; left -= second) {
      const step = Math.min(left, second)
      machine.monoMs += step
      machine.wallMs += step * rate
      clock.observe()
    }
  }
  const hearRedis = (aheadMs: number) => clock.hear([machine.wallMs + aheadMs - machine.monoMs])
  return { machine, clocks, clock, pass, hearRedis }
}

describe('the trusted clock', () => {
  it('follows the wall clock while it goes with the monotonic one', () => {
    const { clock, machine, pass } = openMachine()
    pass(hour)
    expect(clock.nowMs()).toBe(machine.wallMs)
    expect(clock.doubt).toBe('')
  })

  it('follows a clock that is slewed, however long', () => {
    const { clock, machine, pass } = openMachine()
    pass(3 * day, 1.0005)
    expect(clock.nowMs()).toBe(Math.floor(machine.wallMs))
    expect(clock.doubt).toBe('')
  })

  it('follows a step of some seconds, forward or back', () => {
    const { clock, machine, pass } = openMachine()
    machine.wallMs += 20 * second
    expect(clock.nowMs()).toBe(machine.wallMs)
    pass(second)
    machine.wallMs -= 50 * second
    expect(clock.nowMs()).toBe(machine.wallMs)
    expect(clock.isDoubted()).toBe(false)
  })

  for (const jump of [60 * day, 25 * hour, -25 * hour, -60 * day]) {
    it(`goes on from what it knew when the wall clock jumps by ${jump / hour} hours, and believes it never`, () => {
      const { clock, machine, pass } = openMachine()
      pass(minute)
      machine.wallMs += jump
      // Before anybody has looked.
      expect(clock.nowMs()).toBe(startMs + minute)
      expect(clock.isDoubted()).toBe(true)
      pass(2 * day)
      expect(clock.nowMs()).toBe(startMs + minute + 2 * day)
      expect(clock.doubt).toContain(jump > 0 ? 'ahead of the time' : 'behind the time')
      machine.wallMs -= jump
      pass(second)
      expect(clock.doubt).toBe('')
      expect(clock.nowMs()).toBe(machine.wallMs)
    })
  }

  it('believes a person', () => {
    const { clock, machine } = openMachine()
    machine.wallMs += 60 * day
    clock.observe()
    expect(clock.accept()).toBe(true)
    expect(clock.doubt).toBe('')
    expect(clock.nowMs()).toBe(startMs + 60 * day)
  })

  it('believes what a suspended machine shows once it has gone steadily for ten minutes', () => {
    const { clock, machine, pass } = openMachine()
    machine.wallMs += 8 * hour
    pass(9 * minute)
    expect(clock.isDoubted()).toBe(true)
    pass(2 * minute)
    expect(clock.isDoubted()).toBe(false)
    expect(clock.nowMs()).toBe(machine.wallMs)
  })

  it('does not believe a clock that jumps again and again', () => {
    const { clock, machine, pass } = openMachine()
    for (let i = 0; i < 20; i++) {
      machine.wallMs += (i % 2 === 0 ? 8 : -4) * hour
      pass(5 * minute)
    }
    expect(clock.isDoubted()).toBe(true)
  })

  it('believes it after seconds when Redis agrees with it', () => {
    const { clock, machine, pass, hearRedis } = openMachine()
    hearRedis(0)
    machine.wallMs += 8 * hour
    hearRedis(10)
    pass(11 * second)
    expect(clock.isDoubted()).toBe(false)
    machine.wallMs += 60 * day
    hearRedis(10)
    pass(hour)
    expect(clock.isDoubted()).toBe(true)
  })

  it('starts by the time of Redis when its own machine says otherwise, whatever a person says', () => {
    const { clock, pass, hearRedis, machine } = openMachine(null, startMs + 60 * day)
    hearRedis(-60 * day)
    expect(clock.nowMs()).toBe(startMs)
    expect(clock.doubt).toContain('ahead')
    expect(clock.accept()).toBe(false)
    pass(hour)
    expect(clock.nowMs()).toBe(startMs + hour)
    machine.wallMs -= 60 * day
    hearRedis(0)
    expect(clock.doubt).toBe('')
  })

  it('doubts, and keeps its own time, when the clock of Redis jumps', () => {
    const { clock, pass, hearRedis } = openMachine()
    hearRedis(0)
    pass(second)
    hearRedis(60 * day)
    expect(clock.doubt).toContain('Redis is 60 days ahead')
    expect(clock.nowMs()).toBe(startMs + second)
    hearRedis(0)
    expect(clock.doubt).toBe('')
  })

  it('starts from the last time that was trusted when the wall clock is behind it', () => {
    const { clock, pass, machine } = openMachine(startMs + 60 * day)
    expect(clock.nowMs()).toBe(startMs + 60 * day)
    expect(clock.isDoubted()).toBe(true)
    pass(hour)
    expect(clock.nowMs()).toBe(startMs + 60 * day + hour)
    machine.wallMs += 60 * day
    pass(second)
    expect(clock.doubt).toBe('')
  })

  it('starts without a doubt after a night, and with one after three months, until a person has spoken', () => {
    expect(openMachine(startMs - 9 * hour).clock.doubt).toBe('')
    const { clock, pass } = openMachine(startMs - 90 * day)
    expect(clock.doubt).toContain('90 days ahead')
    expect(clock.nowMs()).toBe(startMs - 90 * day)
    pass(2 * day)
    expect(clock.isDoubted()).toBe(true)
    expect(clock.nowMs()).toBe(startMs - 88 * day)
    expect(clock.accept()).toBe(true)
    expect(clock.isDoubted()).toBe(false)
  })

  it('takes the newest record of the store for a mark when there is none', () => {
    expect(openMachine(null, startMs, startMs - 90 * day).clock.isDoubted()).toBe(true)
    const { clock, machine } = openMachine(startMs - hour, startMs, startMs + 365 * day)
    expect(clock.isDoubted()).toBe(false)
    // Another engine of the same process knows nothing better.
    machine.wallMs += 60 * day
    clock.remember(startMs + 60 * day)
    expect(clock.nowMs()).toBe(startMs)
  })

  it('starts from the mark while the wall clock is wrong, and believes it soon when it is set right', () => {
    const { clock, machine, pass } = openMachine(startMs - hour, startMs + 60 * day)
    expect(clock.isDoubted()).toBe(true)
    expect(clock.nowMs()).toBe(startMs - hour)
    machine.wallMs -= 60 * day
    pass(11 * minute)
    expect(clock.doubt).toBe('')
    expect(clock.nowMs()).toBe(machine.wallMs)
  })

  it('is the same for another thread', () => {
    const { clock, clocks, machine, pass } = openMachine()
    const other = followTime(clock.time, clocks)
    pass(minute)
    machine.wallMs += 60 * day
    expect(other.nowMs()).toBe(clock.nowMs())
    expect(other.isDoubted()).toBe(true)
    clock.accept()
    expect(other.nowMs()).toBe(machine.wallMs)
    expect(other.isDoubted()).toBe(false)
  })
})
