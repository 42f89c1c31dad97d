import * as nodeFs from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { CardEvent } from '../../src/domain/record/event.ts'
import type { Answer } from '../../src/domain/record/event-record.ts'
import { createDeclines, maxDeclines } from '../../src/gate/declines.ts'
import { isJournalProblem } from '../../src/gate/journal/error.ts'
import type { JournalFile, JournalFs } from '../../src/gate/journal/file.ts'
import { openJournal } from '../../src/gate/journal/journal.ts'
import type { JournalLine } from '../../src/gate/journal/record.ts'
import type { Backlog } from '../../src/gate/overload.ts'
import { createSlots, type Slots } from '../../src/gate/slots.ts'
import { testEvent } from '../support/engine-world.ts'
import { collectGarbage } from '../support/garbage.ts'
import { fastFolder } from '../support/server.ts'

interface Gate {
  readonly slots: Slots
  /** What the engine was told: the slot, the code said, and whether a dead engine may have acted. */
  readonly said: { slot: string; code: string; mayStillCommit: boolean }[]
  /** Lines that were given to the journal. */
  readonly journaled: { slot: string; code: string }[]
  readonly dropped: string[]
  readonly handed: string[]
  nowMs: number
  /** Whether there is an engine. */
  alive: boolean
  /** All lines that wait, or the first of them. */
  flush(lines?: number): void
  /** The disk does not take those that wait. */
  fail(): void
  take(event: CardEvent, isThere?: boolean): Promise<Answer | null>
}

/** A gate whose journal waits for `flush`. */
function openGate(
  defaultDecision: 'approve' | 'decline',
  maxOpen = 10,
  maxDamaged = 10,
  maxUnbooked = 10_000,
): Gate {
  const waiting: ((problem?: Error) => void)[] = []
  const gate = {
    said: [] as Gate['said'],
    journaled: [] as Gate['journaled'],
    dropped: [] as string[],
    handed: [] as string[],
    nowMs: 0,
    alive: true,
    flush: (lines = waiting.length) => {
      for (const end of waiting.splice(0, lines)) end()
    },
    fail: () => {
      for (const end of waiting.splice(0)) end(new Error('the disk is full'))
    },
  }
  const slots = createSlots({
    clock: { nowMs: () => gate.nowMs, monoMs: () => gate.nowMs },
    link: {
      get alive() {
        return gate.alive
      },
      deliver: ({ slot }) => void gate.handed.push(slot),
      say: ({ slot, said: { code }, mayStillCommit }) =>
        void gate.said.push({ slot, code, mayStillCommit }),
    },
    journal: {
      append: ({ slot, said: { code } }: JournalLine) =>
        new Promise((resolve, reject) => {
          gate.journaled.push({ slot, code })
          waiting.push((problem) => (problem === undefined ? resolve() : reject(problem)))
        }),
      drop: (slot) => gate.dropped.push(slot),
    },
    incarnation: 'g',
    budgetMs: 250,
    lastCallMs: 260,
    defaultDecisionOf: () => defaultDecision,
    contractMs: 400,
    maxOpen,
    maxDamaged,
    maxUnbooked,
    trouble: () => '',
    rulesVersion: () => 'test',
  })
  const take = (event: CardEvent, isThere = true): Promise<Answer | null> =>
    new Promise((resolve) => {
      slots.open(event, gate.nowMs, gate.nowMs, (answer) => {
        resolve(answer)
        return isThere
      })
    })
  return Object.assign(gate, { slots, take })
}

/** A gate without an engine that has declined for want of its journal. */
async function openDeclining(): Promise<Gate> {
  const gate = openGate('approve')
  gate.alive = false
  const told = gate.take(testEvent({ eventId: 'e1' }))
  gate.nowMs = 250
  gate.slots.sweep()
  expect(await told).toMatchObject({ code: '176' })
  return gate
}

const approval: Answer = {
  code: '000',
  decidedBy: 'engine',
  cause: '',
  ruleId: '',
  approvedAmountMinor: null,
  rulesVersion: 'test',
}

/** A disk of which each flush of a journal takes so long. */
function slowDisk(flushMs: number): JournalFs {
  async function open(path: string, flags: string, mode?: number): Promise<JournalFile> {
    const file = await nodeFs.open(path, flags, mode)
    return {
      write: (...of) => file.write(...of),
      async datasync() {
        await sleep(flushMs)
        await file.datasync()
      },
      sync: () => file.sync(),
      truncate: (lengthBytes) => file.truncate(lengthBytes),
      stat: () => file.stat(),
      close: () => file.close(),
    }
  }
  return { ...nodeFs, open }
}

/** In a function of its own, so that nothing here refers to the request any more. */
function takeAndAnswer({ slots, nowMs }: Gate, i: number): WeakRef<object> {
  const request = { body: Buffer.alloc(1_000) }
  slots.open(testEvent({ eventId: `e${i}` }), nowMs, nowMs, () => request.body.length > 0)
  slots.onAnswer(`g.${i.toString(36)}`, approval)
  return new WeakRef(request)
}

/** Lines of an earlier process that were never booked. */
function saidEarlier(count: number): JournalLine[] {
  const line = { receivedAtMs: 0, said: approval, handed: true }
  const event = testEvent({ eventId: 'said' })
  return Array.from({ length: count }, (_, i) => ({ ...line, event, slot: `earlier.${i}` }))
}

function slotsOf(told: readonly { readonly slot: string }[]): string[] {
  return told.map(({ slot }) => slot)
}

describe('slots', () => {
  it('let go of a request once it was answered, long before its deadline', async () => {
    const gate = openGate('decline')
    const requests = Array.from({ length: 2_000 }, (_, i) => takeAndAnswer(gate, i))
    gate.slots.sweep()
    // A WeakRef holds on to the end of the turn in which it was made.
    await new Promise((resolve) => setImmediate(resolve))
    collectGarbage()
    expect(gate.slots.size).toBe(0)
    expect(requests.filter((request) => request.deref() !== undefined)).toHaveLength(0)
    void gate.take(testEvent({ eventId: 'after many' }))
    gate.nowMs = 250
    gate.slots.sweep()
    expect(gate.journaled).toHaveLength(1)
  })

  it('are joined by 64 deliveries of their event, and the next has one of its own', async () => {
    const gate = openGate('decline')
    const told = Array.from({ length: 65 }, () => gate.take(testEvent({ eventId: 'e1' })))
    expect([gate.slots.size, gate.handed]).toEqual([2, ['g.0', 'g.1']])
    expect(gate.slots.shown[0]).toBe(2)
    gate.slots.onAnswer('g.0', approval)
    expect(await Promise.all(told.slice(0, 64))).toEqual(Array(64).fill(approval))
    expect([gate.slots.size, gate.slots.shown[0]]).toEqual([1, 1])
    gate.slots.onAnswer('g.1', approval)
    expect(await told[64]).toEqual(approval)
  })

  it('tell the first of those that joined the answer, and the others that it was given before', () => {
    const gate = openGate('decline')
    const timing = { queueMs: 0, decideMs: 0, commitMs: 0 }
    const origin = { ...timing, duplicate: false, matchedRules: [], shadowRules: [] }
    const told: (boolean | undefined)[] = []
    for (let i = 0; i < 3; i++) {
      gate.slots.open(testEvent({ eventId: 'e1' }), 0, 0, (_answer, _slot, from) => {
        // Only the first is still there to hear it.
        return told.push(from?.duplicate) === 1
      })
    }
    expect(gate.slots.onAnswer('g.0', approval, origin)).toBe(true)
    expect(told).toEqual([false, true, true])
  })

  it('tell the engine that came while they were journaled that a dead one may have acted', async () => {
    const gate = openGate('decline')
    const told = gate.take(testEvent({ eventId: 'e1' }))
    gate.nowMs = 250
    gate.slots.sweep()
    gate.slots.onEngineStart()
    expect(gate.said).toEqual([])
    gate.flush()
    expect(await told).toMatchObject({ code: '176' })
    expect(gate.said).toEqual([{ slot: 'g.0', code: '176', mayStillCommit: true }])
  })

  it('tell every engine that an earlier process may have acted on what it said', () => {
    const gate = openGate('approve')
    gate.slots.restore(saidEarlier(1).map((line) => ({ ...line, handed: false })))
    gate.slots.onEngineStart()
    expect(gate.said.map(({ mayStillCommit }) => mayStillCommit)).toEqual([true, true])
  })

  it('tell what was said while no engine was there to the one that comes', async () => {
    const gate = openGate('approve')
    gate.alive = false
    const told = gate.take(testEvent({ eventId: 'e1' }))
    gate.nowMs = 250
    gate.slots.sweep()
    gate.flush()
    expect(await told).toMatchObject({ code: '000' })
    expect(gate.said).toEqual([])
    gate.alive = true
    gate.slots.onEngineStart()
    expect(gate.said).toEqual([{ slot: 'g.0', code: '000', mayStillCommit: false }])
  })

  it('tell a new engine what was said a part in a turn, and hand it nothing before that is done', async () => {
    const gate = openGate('approve')
    const lines = saidEarlier(1_200)
    gate.alive = false
    gate.slots.restore(lines)
    void gate.take(testEvent({ eventId: 'e1' }))
    gate.alive = true
    gate.slots.onEngineStart()
    expect([gate.said.length, gate.handed]).toEqual([500, []])
    gate.slots.onBooked('earlier.600')
    void gate.take(testEvent({ eventId: 'e2' }))
    while (gate.handed.length === 0) await new Promise((resolve) => setImmediate(resolve))
    const told = slotsOf(lines).filter((slot) => slot !== 'earlier.600')
    expect(slotsOf(gate.said)).toEqual(told)
    expect(gate.handed).toEqual(['g.0', 'g.1'])
  })

  it('tell all of it to the newest engine when another one starts meanwhile', async () => {
    const gate = openGate('approve')
    const lines = saidEarlier(600)
    gate.slots.restore(lines)
    gate.slots.onEngineStart()
    gate.said.length = 0
    gate.slots.onEngineStart()
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(slotsOf(gate.said)).toEqual(slotsOf(lines))
  })

  it('hand nothing to an engine that has died while it was told what was said', async () => {
    const gate = openGate('approve')
    const lines = saidEarlier(600)
    gate.alive = false
    gate.slots.restore(lines)
    void gate.take(testEvent({ eventId: 'e1' }))
    gate.alive = true
    gate.slots.onEngineStart()
    gate.alive = false
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(gate.handed).toEqual([])
    gate.alive = true
    gate.slots.onEngineStart()
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(gate.handed).toEqual(['g.0'])
  })

  it('turn away the more of a crowd the longer its oldest waits, and no advice', () => {
    const gate = openGate('decline', 10_000)
    const take = (event: Parameters<typeof testEvent>[0]) => void gate.take(testEvent(event))
    for (let i = 0; i < 300; i++) take({ eventId: `early-${i}` })
    const handedOf100 = (nowMs: number) => {
      gate.nowMs = nowMs
      const before = gate.handed.length
      for (let i = 0; i < 100; i++) take({ eventId: `at-${nowMs}-${i}` })
      return gate.handed.length - before
    }
    expect(handedOf100(50)).toBe(100)
    expect(Math.abs(handedOf100(80) - 60)).toBeLessThan(2)
    expect(Math.abs(handedOf100(110) - 20)).toBeLessThan(2)
    expect(handedOf100(125)).toBe(0)
    const before = gate.handed.length
    take({ eventId: 'advice', requestType: 'Settlement' })
    expect(gate.handed.length - before).toBe(1)
  })

  it('count those that have been read and not looked at to the crowd', async () => {
    const gate = openGate('decline')
    const take = (eventId: string, backlog: Backlog) =>
      new Promise((resolve) => {
        const event = testEvent({ eventId })
        gate.slots.open(event, 200, 200, (answer) => resolve(answer) === undefined, backlog)
      })
    gate.nowMs = 200
    void take('few wait', { waiting: 200, sinceMonoMs: 0 })
    void take('they came just now', { waiting: 300, sinceMonoMs: 200 })
    expect(gate.handed).toHaveLength(2)
    const answer = await take('many wait', { waiting: 300, sinceMonoMs: 0 })
    expect(answer).toMatchObject({ code: '176', cause: 'overload' })
    expect(gate.handed).toHaveLength(2)
  })

  it('are answered by default at their deadline, also when their body came after younger ones', async () => {
    const gate = openGate('decline')
    gate.nowMs = 150
    void gate.take(testEvent({ eventId: 'younger' }))
    const late = testEvent({ eventId: 'older' })
    const told = new Promise((resolve) => {
      gate.slots.open(late, 0, 0, (answer) => resolve(answer) === undefined)
    })
    gate.nowMs = 250
    gate.slots.sweep()
    expect(gate.journaled).toEqual([{ slot: 'g.1', code: '176' }])
    gate.flush()
    expect(await told).toMatchObject({ cause: 'deadline' })
    gate.nowMs = 400
    gate.slots.sweep()
    expect(gate.journaled.slice(1)).toEqual([{ slot: 'g.0', code: '176' }])
  })

  it('are answered when they are due also by a loop that is full, and not joined any more', () => {
    const gate = openGate('decline')
    void gate.take(testEvent({ eventId: 'e1' }))
    gate.nowMs = 250
    void gate.take(testEvent({ eventId: 'e1' }))
    expect(gate.journaled).toEqual([{ slot: 'g.0', code: '176' }])
    expect(gate.handed).toEqual(['g.0', 'g.1'])
  })

  it('answer at once what comes too late for the engine', async () => {
    const gate = openGate('decline')
    const answers: (Answer | null)[] = []
    const reply = (answer: Answer | null) => answers.push(answer) > 0
    gate.nowMs = 199
    gate.slots.open(testEvent({ eventId: 'late' }), 0, 0, reply)
    gate.nowMs = 201
    gate.slots.open(testEvent({ eventId: 'too late' }), 0, 0, reply)
    expect(gate.handed).toEqual(['g.0'])
    expect(answers).toMatchObject([{ code: '176', cause: 'overload' }])
  })

  it('give a repeated ask the decline that it got for overload, and not another chance', async () => {
    const gate = openGate('decline', 0)
    const ask = testEvent({ eventId: 'shed' })
    const first = await gate.take(ask)
    expect(first).toMatchObject({ code: '176', cause: 'overload' })
    expect(await gate.take(ask)).toEqual(first)
    const other = openGate('decline')
    other.nowMs = 250
    const late = new Promise((resolve) => {
      other.slots.open(ask, 0, 0, (answer) => resolve(answer) === undefined)
    })
    expect(await late).toMatchObject({ code: '176' })
    expect(await other.take(ask)).toEqual(await late)
    expect(other.handed).toEqual([])
    // Other content is another event, and an advice is booked whenever it comes.
    void other.take({ ...ask, amountMinor: 7 })
    void other.take(testEvent({ eventId: 'advice', requestType: 'Settlement' }))
    expect(other.handed).toHaveLength(2)
  })

  it('give it the decline that it got for its deadline, though an engine had it', async () => {
    const gate = openGate('decline')
    const told = gate.take(testEvent({ eventId: 'e1' }))
    gate.nowMs = 250
    gate.slots.sweep()
    gate.flush()
    expect(await told).toMatchObject({ code: '176', cause: 'deadline' })
    expect(await gate.take(testEvent({ eventId: 'e1' }))).toEqual(await told)
    expect(gate.handed).toEqual(['g.0'])
  })

  it('hand nothing to an engine while too much of what was said is not booked', async () => {
    const gate = openGate('decline', 10, 10, 5)
    const lines = saidEarlier(5)
    gate.slots.restore(lines)
    expect(await gate.take(testEvent({ eventId: 'e1' }))).toMatchObject({ cause: 'overload' })
    const advice = testEvent({ eventId: 'e2', requestType: 'Settlement' })
    const told = gate.take(advice)
    expect([gate.handed, gate.slots.unbooked]).toEqual([[], 5])
    gate.flush()
    expect(await told).toMatchObject({ code: '000' })
    for (const { slot } of lines.slice(0, 2)) gate.slots.onBooked(slot)
    void gate.take(testEvent({ eventId: 'e3' }))
    expect(gate.handed).toEqual(['g.2'])
  })

  it('remember only so many declines, the newest', () => {
    const declines = createDeclines()
    for (let i = 0; i <= maxDeclines; i++) declines.remember(`e${i}`, approval)
    expect(declines.find('e0')).toBeUndefined()
    expect(declines.find('e1')).toBe(approval)
    expect(declines.find(`e${maxDeclines}`)).toBe(approval)
  })

  it('keep no journal line of an advice that could not be acknowledged in time', async () => {
    const gate = openGate('approve')
    const advice = testEvent({ eventId: 'e1', requestType: 'Settlement' })
    const told = gate.take(advice)
    gate.nowMs = 250
    gate.slots.sweep()
    expect(await told).toBeNull()
    expect(gate.dropped).toEqual(['g.0'])
    expect(gate.slots.unbooked).toBe(0)
  })

  it('have the ledger follow the default when nobody was there to hear the answer', async () => {
    const gate = openGate('decline')
    void gate.take(testEvent({ eventId: 'e1' }), false)
    gate.slots.onAnswer('g.0', approval)
    expect(gate.said).toEqual([{ slot: 'g.0', code: '176', mayStillCommit: false }])
    expect(gate.journaled).toEqual([{ slot: 'g.0', code: '176' }])
    expect(gate.slots.unbooked).toBe(1)
    void gate.take(testEvent({ eventId: 'e2' }), false)
    gate.slots.onAnswer('g.1', { ...approval, code: '116' })
    expect(gate.said).toHaveLength(1)
    expect(gate.slots.unheard).toBe(1)
  })

  it('say the default, and no decline of their own, when the relay has approved by default', async () => {
    const gate = openGate('approve')
    gate.nowMs = 3_000
    const told = new Promise((resolve) => {
      const reply = (answer: Answer | null) => resolve(answer) === undefined
      gate.slots.open(testEvent({ eventId: 'waited in a pause' }), 0, 0, reply)
    })
    gate.flush()
    expect(await told).toMatchObject({ code: '000', decidedBy: 'default' })
    expect(gate.said).toEqual([{ slot: 'g.0', code: '000', mayStillCommit: false }])
  })

  it('say nothing when that cannot be journaled, and have the ledger follow it all the same', async () => {
    const gate = openGate('approve')
    gate.nowMs = 3_000
    const told = new Promise((resolve) => {
      const reply = (answer: Answer | null) => resolve(answer) === undefined
      gate.slots.open(testEvent({ eventId: 'waited in a pause' }), 0, 0, reply)
    })
    expect(await told).toBeNull()
    expect(gate.said).toEqual([{ slot: 'g.0', code: '000', mayStillCommit: false }])
    expect(gate.slots.unbooked).toBe(1)
  })

  it('say a decline that is too late also unjournaled, and offer the journal its line once more', async () => {
    const gate = openGate('decline')
    const told = gate.take(testEvent({ eventId: 'e1' }))
    gate.nowMs = 3_000
    gate.slots.sweep()
    expect(await told).toMatchObject({ code: '176' })
    expect(gate.journaled).toEqual(Array(2).fill({ slot: 'g.0', code: '176' }))
  })

  it('have the ledger hold all by default when nobody heard that a part was approved', async () => {
    const gate = openGate('approve')
    void gate.take(testEvent({ eventId: 'e1' }), false)
    expect(gate.slots.onAnswer('g.0', { ...approval, approvedAmountMinor: 1 })).toBe(false)
    expect(gate.said).toMatchObject([{ slot: 'g.0', code: '000' }])
  })

  it('say it as soon as it is journaled, however late: then nobody waits in a hurry', async () => {
    const gate = openGate('approve')
    gate.nowMs = 3_000
    const told = new Promise((resolve) => {
      const reply = (answer: Answer | null) => resolve(answer) === undefined
      gate.slots.open(testEvent({ eventId: 'waited in a pause' }), 0, 0, reply)
    })
    // Two tries of 10 ms have failed by then.
    setTimeout(gate.flush, 25)
    expect(await told).toMatchObject({ code: '000', decidedBy: 'default' })
    expect(gate.said).toEqual([{ slot: 'g.0', code: '000', mayStillCommit: false }])
    expect(gate.slots.unbooked).toBe(1)
  })

  it('acknowledge an advice that waited in a pause once it is journaled', async () => {
    const gate = openGate('decline')
    gate.nowMs = 3_000
    const advice = testEvent({ eventId: 'e1', requestType: 'Settlement' })
    const told = new Promise((resolve) => {
      gate.slots.open(advice, 0, 0, (answer) => resolve(answer) === undefined)
    })
    // It has 10 ms; the journal takes one.
    setTimeout(() => setImmediate(gate.flush), 1)
    expect(await told).toMatchObject({ code: '000' })
  })

  it('always answer within the contract limit: an approval that is not journaled is none', async () => {
    const gate = openGate('approve')
    const told = gate.take(testEvent({ eventId: 'e1' }))
    gate.nowMs = 250
    gate.slots.sweep()
    gate.nowMs = 399
    expect(await told).toMatchObject({ code: '176', decidedBy: 'default' })
    // The engine may have approved it, and the line of the approval may come late.
    expect(gate.journaled.map(({ code }) => code)).toEqual(['000', '176'])
    expect(gate.said).toEqual([{ slot: 'g.0', code: '176', mayStillCommit: false }])
    // The default is another: who repeats it is decided on.
    void gate.take(testEvent({ eventId: 'e1' }))
    expect(gate.handed).toEqual(['g.0', 'g.1'])
  })

  it('keep nothing of a decline for want of the journal that no engine has seen', async () => {
    const gate = await openDeclining()
    expect(gate.slots.unbooked).toBe(0)
    // The line of the approval comes late, and the one behind it says what was said.
    gate.flush()
    await new Promise((resolve) => setImmediate(resolve))
    expect(gate.dropped).toEqual(['g.0'])
    gate.slots.onEngineStart()
    expect(gate.said).toEqual([])
  })

  it('forget a late line of an approval also where the one behind it is not written', async () => {
    const gate = await openDeclining()
    gate.flush(1)
    gate.fail()
    await new Promise((resolve) => setImmediate(resolve))
    expect(gate.dropped).toEqual(['g.0'])
  })

  it.each([true, false])(
    'follow the default when nobody heard a decline that was said for want of the journal, with an engine: %s',
    async (alive) => {
      const gate = openGate('approve')
      gate.alive = alive
      const told = gate.take(testEvent({ eventId: 'e1' }), false)
      gate.nowMs = 250
      gate.slots.sweep()
      expect(await told).toMatchObject({ code: '176' })
      gate.alive = true
      gate.slots.onEngineStart()
      expect(gate.said.at(-1)).toMatchObject({ slot: 'g.0', code: '000' })
      expect([gate.journaled.at(-1)?.code, gate.dropped]).toEqual(['000', []])
    },
  )

  it('give no answer of the engine after the contract limit: the relay has done what the default says', async () => {
    const gate = openGate('decline')
    const told = gate.take(testEvent({ eventId: 'e1' }))
    gate.nowMs = 1
    const other = gate.take(testEvent({ eventId: 'e2' }))
    gate.nowMs = 400
    gate.slots.onAnswer('g.0', approval)
    gate.slots.onAnswer('g.1', approval)
    gate.flush()
    expect(await told).toMatchObject({ code: '176', cause: 'deadline' })
    expect(await other).toEqual(approval)
    expect(gate.slots.unheard).toBe(1)
  })

  it('answer by default what the engine set aside, and keep lines for it up to a bound', async () => {
    const gate = openGate('approve', 10, 1)
    const told = gate.take(testEvent({ eventId: 'e1' }))
    gate.slots.onSetAside('g.0', false)
    gate.flush()
    expect(await told).toMatchObject({ code: '000', cause: 'damaged' })
    expect(gate.slots.damaged).toBe(1)
    const ask = gate.take(testEvent({ eventId: 'e2' }))
    gate.slots.onSetAside('g.1', false)
    expect(await ask).toMatchObject({ code: '176', cause: 'damaged' })
    const advice = gate.take(testEvent({ eventId: 'e3', requestType: 'Settlement' }))
    gate.slots.onSetAside('g.2', false)
    expect(await advice).toBeNull()
    expect(gate.journaled).toEqual([{ slot: 'g.0', code: '000' }])
    expect(gate.slots.unbooked).toBe(1)
    // What may be on its way has to be followed all the same.
    const flying = gate.take(testEvent({ eventId: 'e4' }))
    gate.slots.onSetAside('g.3', true)
    expect(await flying).toMatchObject({ code: '176', cause: 'damaged' })
    expect(gate.said.at(-1)).toEqual({ slot: 'g.3', code: '176', mayStillCommit: true })
    // An engine that was replaced may have booked it, too.
    for (const slot of ['g.0', 'g.3', 'g.3']) gate.slots.onBooked(slot)
    expect(gate.slots.damaged).toBe(0)
    expect(gate.dropped.slice(-2)).toEqual(['g.0', 'g.3'])
  })

  it('decline what the engine set aside, whatever its memory would have approved', async () => {
    const gate = openGate('decline')
    const told = gate.take(testEvent({ eventId: 'e1' }))
    gate.slots.onStandIn('g.0')
    gate.slots.onSetAside('g.0', false)
    expect(await told).toMatchObject({ code: '176', cause: 'damaged' })
  })

  it('approve at the deadline what its memory would have approved', async () => {
    const gate = openGate('decline')
    const told = gate.take(testEvent({ eventId: 'e1' }))
    gate.slots.onStandIn('g.0')
    gate.nowMs = 250
    gate.slots.sweep()
    gate.flush()
    expect(await told).toMatchObject({ code: '000', cause: 'deadline' })
  })

  it('have one answer by default, also when the engine sets aside what is being journaled', async () => {
    const gate = openGate('approve')
    const told = gate.take(testEvent({ eventId: 'e1' }))
    gate.nowMs = 250
    gate.slots.sweep()
    gate.slots.onSetAside('g.0', false)
    expect(gate.journaled).toHaveLength(1)
    gate.flush()
    expect(await told).toMatchObject({ code: '000', cause: 'deadline' })
    expect(gate.said).toHaveLength(1)
  })

  it('give what is answered at once the time of the disk that is left until the last call', async () => {
    const folder = fastFolder()
    const journal = await openJournal({ folder: folder.path, fs: slowDisk(170) })
    if (isJournalProblem(journal)) throw new Error(journal.message)
    onTestFinished(async () => {
      await journal.close()
      folder.remove()
    })
    const slots = createSlots({
      clock: systemClock,
      link: { alive: false, deliver() {}, say() {} },
      journal,
      incarnation: 'g',
      budgetMs: 250,
      lastCallMs: 350,
      contractMs: 400,
      defaultDecisionOf: () => 'approve',
      maxOpen: 0,
      trouble: () => '',
      rulesVersion: () => 'test',
    })
    const take = (given: Parameters<typeof testEvent>[0]) =>
      new Promise<Answer | null>((resolve) => {
        slots.open(testEvent(given), systemClock.nowMs(), systemClock.monoMs(), (answer) => {
          resolve(answer)
          return true
        })
      })
    const taken = [take({ eventId: 'e1' }), take({ eventId: 'e2', requestType: 'Settlement' })]
    const approved = { code: '000', cause: 'overload' }
    expect(await Promise.all(taken)).toMatchObject([approved, approved])
    expect(journal.pending()).toHaveLength(2)
  })

  it('keep no line of a default decline that the engine has let go of, unless it may be on its way', async () => {
    const gate = openGate('decline')
    const told = gate.take(testEvent({ eventId: 'e1' }))
    gate.slots.onSetAside('g.0', false)
    expect(await told).toMatchObject({ code: '176', cause: 'damaged' })
    expect(gate.slots.unbooked).toBe(0)
    const other = gate.take(testEvent({ eventId: 'e2' }))
    gate.slots.onSetAside('g.1', true)
    gate.flush()
    expect(await other).toMatchObject({ code: '176', cause: 'damaged' })
    expect(gate.said).toEqual([{ slot: 'g.1', code: '176', mayStillCommit: true }])
    expect(gate.slots.unbooked).toBe(1)
  })
})
