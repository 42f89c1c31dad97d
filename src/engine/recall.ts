import type { CardEvent } from '../domain/event.ts'
import type { Answer } from '../domain/event-record.ts'
import { type Cell, readItems, writeItem } from './messages.ts'

/** Something that the relay was told, in the slot it was told in. */
export interface Told {
  readonly event: CardEvent
  readonly slot: string
  readonly receivedAtMs: number
  readonly answer: Answer
}

/** What was told in the last minute, to be booked again when a failover has lost it. */
export interface Recall {
  readonly size: number
  note(told: Told, nowMonoMs: number): void
  /** Books all of it again that is not too old, oldest first. */
  repeat(nowMonoMs: number, book: (told: Told) => void, isOver: () => boolean): Promise<void>
}

/** Longer than replicas lag behind a master that still takes writes. */
const keptMs = 60_000
/** About 25 MB. Beyond it the oldest are forgotten before their time. */
const maxKept = 50_000
/** What a failover may have lost is booked again little by little, beside the events of the moment. */
const repeatedAtOnce = 200
const repeatPauseMs = 10

/** One text: the objects of an event would all have to grow old in the garbage collector's eyes. */
interface Kept {
  readonly text: string
  readonly toldMonoMs: number
}

export function createRecall(): Recall {
  const bySlot = new Map<string, Kept>()

  function dropOld(nowMonoMs: number): void {
    for (const [slot, { toldMonoMs }] of bySlot) {
      if (bySlot.size <= maxKept && nowMonoMs - toldMonoMs <= keptMs) return
      bySlot.delete(slot)
    }
  }

  return {
    get size() {
      return bySlot.size
    },
    note(told, nowMonoMs) {
      const text = textOf(told)
      const known = bySlot.get(told.slot)
      // What is only booked again is no younger for it.
      if (known?.text === text) return
      // The last word counts, and what was told last is the last to go.
      if (known !== undefined) bySlot.delete(told.slot)
      bySlot.set(told.slot, { text, toldMonoMs: nowMonoMs })
      dropOld(nowMonoMs)
    },
    async repeat(nowMonoMs, book, isOver) {
      dropOld(nowMonoMs)
      const texts = Array.from(bySlot.values(), ({ text }) => text)
      for (let at = 0; at < texts.length && !isOver(); at += repeatedAtOnce) {
        for (const text of texts.slice(at, at + repeatedAtOnce)) book(readTold(text))
        await new Promise((resolve) => setTimeout(resolve, repeatPauseMs))
      }
    },
  }
}

function textOf({ event, slot, receivedAtMs, answer }: Told): string {
  const cells: Cell[] = []
  writeItem(cells, event, slot, receivedAtMs, answer, false)
  return JSON.stringify(cells)
}

function readTold(text: string): Told {
  const found: Told[] = []
  readItems(JSON.parse(text) as Cell[], ({ event, slot, receivedAtMs, said }) => {
    found.push({ event, slot, receivedAtMs, answer: said! })
  })
  return found[0]!
}
