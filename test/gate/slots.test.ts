import { describe, expect, it } from 'vitest'
import { createSlots, type SaidLine, type Slots } from '../../src/gate/slots.ts'
import { testEvent } from '../support/engine-world.ts'

interface Gate {
  readonly slots: Slots
  /** What the engine was told: the slot, the code said, and whether a dead engine may have acted. */
  readonly said: { slot: string; code: string; uncertain: boolean }[]
  readonly dropped: string[]
  readonly handed: string[]
  nowMs: number
  flush(): void
}

/** A gate whose journal waits for `flush`. */
function openGate(defaultDecision: 'approve' | 'decline', maxOpen = 10): Gate {
  const waiting: (() => void)[] = []
  const gate = {
    said: [] as Gate['said'],
    dropped: [] as string[],
    handed: [] as string[],
    nowMs: 0,
    flush: () => waiting.splice(0).forEach((resolve) => void resolve()),
  }
  const slots = createSlots({
    clock: { nowMs: () => gate.nowMs, monoMs: () => gate.nowMs },
    link: {
      alive: true,
      deliver: (_event, slot) => gate.handed.push(slot),
      say: (_event, slot, _atMs, { code }, uncertain) => gate.said.push({ slot, code, uncertain }),
    },
    journal: {
      append: (_line: SaidLine) => new Promise((resolve) => waiting.push(resolve)),
      drop: (slot) => gate.dropped.push(slot),
    },
    incarnation: 'g',
    budgetMs: 250,
    lastCallMs: 260,
    defaultDecision,
    maxOpen,
    trouble: () => '',
    rulesVersion: () => 'test',
  })
  return Object.assign(gate, { slots })
}

describe('slots', () => {
  it('tell the engine that came while they were journaled that a dead one may have acted', async () => {
    const gate = openGate('decline')
    const told = new Promise((reply) => gate.slots.take(testEvent({ eventId: 'e1' }), 0, 0, reply))
    gate.nowMs = 250
    gate.slots.sweep()
    gate.slots.onEngineStart()
    expect(gate.said).toEqual([])
    gate.flush()
    expect(await told).toMatchObject({ code: '176' })
    expect(gate.said).toEqual([{ slot: 'g.0', code: '176', uncertain: true }])
  })

  it('answer at once what would only wait: many are open and the oldest is near its deadline', async () => {
    const gate = openGate('decline', 10_000)
    const take = (eventId: string) =>
      new Promise((reply) => gate.slots.take(testEvent({ eventId }), gate.nowMs, gate.nowMs, reply))
    for (let i = 0; i < 300; i++) void take(`early-${i}`)
    gate.nowMs = 100
    void take('in time')
    expect(gate.handed).toHaveLength(301)
    gate.nowMs = 200
    expect(await take('too many')).toMatchObject({ code: '176', cause: 'overload' })
    expect(gate.handed).toHaveLength(301)
  })

  it('keep no journal line of an advice that could not be acknowledged in time', async () => {
    const gate = openGate('approve')
    const advice = testEvent({ eventId: 'e1', requestType: 'Settlement' })
    const told = new Promise((reply) => gate.slots.take(advice, 0, 0, reply))
    gate.nowMs = 250
    gate.slots.sweep()
    expect(await told).toBeNull()
    expect(gate.dropped).toEqual(['g.0'])
    expect(gate.slots.unbooked).toBe(0)
  })
})
