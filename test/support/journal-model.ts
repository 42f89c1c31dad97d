import type { JournalLine } from '../../src/gate/journal/record.ts'
import type { SlotJournal } from '../../src/gate/slot.ts'

/** What a process leaves behind: lines on the disk, and drops that may not have got there. */
export interface Disk {
  readonly lines: Map<string, JournalLine>
  readonly unflushedDrops: Set<string>
}

export interface JournalModel extends SlotJournal {
  /** Neither a line to replay nor one on its way. */
  readonly isEmpty: boolean
  /** The process dies: what was on its way gets to the disk or does not. */
  crash(): void
}

export interface DiskWeather {
  readonly random: () => number
  /** Of writes, how many fail, and how many take longer than they should. */
  readonly failing: number
  readonly slow: number
}

interface Write {
  readonly line: JournalLine
  readonly flushes: boolean
  readonly resolve: () => void
  readonly reject: (error: Error) => void
  dropped: boolean
}

/** As the journal of the gate, whose appends reject by then. */
const flushTimeoutMs = 100

export function createDisk(): Disk {
  return { lines: new Map(), unflushedDrops: new Set() }
}

/** The journal of the gate as its callers see it, over a disk that survives the process. */
export function createJournalModel(disk: Disk, weather: DiskWeather): JournalModel {
  const { random } = weather
  let writes: Write[] = []
  let flushing = false
  let crashed = false

  /** One write at a time and in order, as in a file. */
  function flushNext(): void {
    const [write] = writes
    if (write === undefined || flushing) return
    flushing = true
    const slow = random() < weather.slow
    setTimeout(() => land(write), slow ? 60 + random() * 200 : random() * 8)
  }

  function land(write: Write): void {
    if (crashed) return
    flushing = false
    writes = writes.filter((other) => other !== write)
    if (write.flushes) {
      put(write)
      write.resolve()
    } else {
      write.reject(new Error('the disk failed, says the simulation'))
    }
    flushNext()
  }

  function put({ line, dropped }: Write): void {
    for (const slot of disk.unflushedDrops) disk.lines.delete(slot)
    disk.unflushedDrops.clear()
    disk.lines.set(line.slot, line)
    if (dropped) disk.unflushedDrops.add(line.slot)
  }

  return {
    get isEmpty() {
      const kept = [...disk.lines.keys()].filter((slot) => !disk.unflushedDrops.has(slot))
      return kept.length === 0 && writes.length === 0
    },
    append(line, withinMs = flushTimeoutMs) {
      return new Promise((resolve, reject) => {
        if (crashed) return
        const flushes = random() >= weather.failing
        const write: Write = { line, flushes, resolve, reject, dropped: false }
        writes.push(write)
        setTimeout(() => {
          if (crashed || !writes.includes(write)) return
          // The caller no longer counts on it, so it must not be replayed.
          write.dropped = true
          reject(new Error('not flushed in time, says the simulation'))
        }, withinMs)
        flushNext()
      })
    },
    drop(slot) {
      if (crashed) return
      for (const write of writes) if (write.line.slot === slot) write.dropped = true
      if (disk.lines.has(slot)) disk.unflushedDrops.add(slot)
    },
    crash() {
      crashed = true
      // Up to some point the file was written; the rest of it never was.
      const written = Math.floor(random() * (writes.length + 1))
      for (const write of writes.slice(0, written)) if (write.flushes) put(write)
      for (const slot of disk.unflushedDrops) if (random() < 0.5) disk.lines.delete(slot)
      disk.unflushedDrops.clear()
    },
  }
}
