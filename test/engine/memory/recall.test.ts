import { describe, expect, it } from 'vitest'
import { createRecall } from '../../../src/engine/memory/recall.ts'

const minuteMs = 60_000

function world(maxKept = 1_000) {
  const sent: { told: readonly string[]; last: boolean }[] = []
  const recall = createRecall({ maxKept, send: (told, last) => sent.push({ told, last }) })
  const noteAll = (from: number, to: number, nowMonoMs: number) => {
    for (let i = from; i < to; i++) recall.note(`s${i}`, `told ${i}`, nowMonoMs)
  }
  return { recall, sent, noteAll }
}

describe('what the relay was told', () => {
  it('is let go when it is known to be kept and a minute old, neither alone', () => {
    const { recall, noteAll } = world()
    noteAll(0, 10, 0)
    recall.onCheckpoint(1)
    noteAll(10, 20, 0)
    recall.onKept(1, minuteMs)
    expect(recall.size).toBe(20)
    recall.onKept(1, minuteMs + 1)
    expect(recall.size).toBe(10)
    recall.onCheckpoint(2)
    noteAll(20, 21, 100 * minuteMs)
    expect(recall.size).toBe(11)
    recall.onKept(2, 100 * minuteMs)
    expect([recall.size, recall.forgotten]).toEqual([1, 0])
  })

  it('is let go at its bound, and counted when it was not known to be kept', () => {
    const { recall, noteAll } = world(100)
    noteAll(0, 60, 0)
    recall.onCheckpoint(1)
    recall.onKept(1, 0)
    noteAll(60, 160, 0)
    expect([recall.size, recall.forgotten]).toEqual([100, 0])
    noteAll(160, 170, 0)
    expect([recall.size, recall.forgotten]).toEqual([100, 10])
  })

  it('is confirmed by the last 120 looks that have no answer yet', () => {
    const { recall, noteAll } = world()
    noteAll(0, 10, 0)
    for (let number = 1; number <= 121; number++) recall.onCheckpoint(number)
    recall.onKept(1, 2 * minuteMs)
    expect(recall.size).toBe(10)
    recall.onKept(2, 2 * minuteMs)
    expect(recall.size).toBe(0)
  })

  it('is not let go while it is booked again, whatever was known before', () => {
    const { recall, noteAll } = world()
    noteAll(0, 10, 0)
    recall.onCheckpoint(1)
    recall.onKept(1, 0)
    recall.onCheckpoint(2)
    recall.onLost()
    recall.onKept(2, 100 * minuteMs)
    recall.onCheckpoint(3)
    recall.onKept(3, 100 * minuteMs)
    recall.onRepeated()
    recall.onKept(3, 100 * minuteMs)
    expect(recall.size).toBe(10)
    recall.onCheckpoint(4)
    recall.onKept(4, 100 * minuteMs)
    expect(recall.size).toBe(0)
  })

  it('is the last word of its slot', () => {
    const { recall, sent } = world()
    recall.note('s1', 'first', 0)
    recall.note('s2', 'other', 0)
    recall.note('s1', 'second', 0)
    recall.onLost()
    expect(sent).toEqual([{ told: ['other', 'second'], last: true }])
  })

  it('goes to the next engine when one ended before all was booked again', async () => {
    const { recall, sent, noteAll } = world(10_000)
    noteAll(0, 4_500, 0)
    recall.onLost()
    // That engine ended after the first part.
    recall.onEngineStart()
    for (let i = 0; i < 5; i++) await new Promise(setImmediate)
    expect(sent.map(({ told, last }) => `${told.length} ${last}`)).toEqual([
      '2000 false',
      '2000 false',
      '2000 false',
      '500 true',
    ])
    recall.onRepeated()
    recall.onEngineStart()
    expect(sent).toHaveLength(4)
  })
})
