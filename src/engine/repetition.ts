import { setTimeout as sleep } from 'node:timers/promises'
import type { Delivery, SaidDelivery } from '../domain/decide/delivery.ts'
import type { LossWatch } from '../store/port.ts'
import { accountAggregate, directoryKey, strayAggregate } from './format/layout.ts'
import type { Directory } from './memory/directory.ts'
import { type Cell, readDeliveries, writeDelivery } from './messages.ts'

export interface RepetitionOptions {
  readonly losses: LossWatch
  readonly directory: Directory
  /** Asks the process for all that the relay was told. */
  readonly onLoss: () => void
  /** All of it is booked again. */
  readonly onRepeated: () => void
  readonly onCheckpoint: (number: number) => void
  readonly onKept: (number: number) => void
  /** Books what `take` gives for an aggregate, which may be that of a stray event. */
  readonly book: (aggregate: string, stray: boolean) => void
  readonly isOver: () => boolean
}

/**
 * What the relay was told is true, whatever the store has lost: the ledger follows it, as it follows a
 * default. What was told of an account is booked before anything new is decided on it here, so that its
 * money is not given twice. Another instance may decide on it before us: then the account may be
 * overdrawn by what both were right to tell.
 */
export interface Repetition {
  /** Told before a loss and not booked again yet. */
  readonly size: number
  /** Also while the process is being asked. */
  readonly isBusy: boolean
  /** A part of what the process has kept. */
  recall(told: readonly string[], last: boolean): void
  /** What is to be booked again on an aggregate, before all else. */
  take(aggregate: string): readonly SaidDelivery[]
  /** The gate says something in this slot: what it was told before does not count any more. */
  forget(slot: string): void
  /** Booked, and about to be told. */
  onTold(slot: string, told: string): void
}

/** What is lost is booked again little by little, beside the events of the moment. */
const placedAtOnce = 2_000
const repeatedAtOnce = 200
const repeatPauseMs = 10
const retryPauseMs = 200

export function createRepetition(options: RepetitionOptions): Repetition {
  const { losses, directory, isOver } = options
  /** By slot: its last word. */
  const waiting = new Map<string, string>()
  const placed = new Map<string, { readonly stray: boolean; readonly told: string[] }>()
  /** Given out to be booked again, and not booked yet. */
  const underWay = new Set<string>()
  let received: string[] = []
  let repeats = 0
  /** Told since the process was asked, perhaps after it has answered: it counts more than the answer. */
  let toldSince: Map<string, string> | null = null

  losses.watch({
    onLoss() {
      toldSince ??= new Map()
      received = []
      options.onLoss()
    },
    onCheckpoint: options.onCheckpoint,
    onKept: options.onKept,
  })

  async function repeat(all: readonly string[]): Promise<void> {
    const number = ++repeats
    for (const told of all) waiting.set(slotOf(told), told)
    for (let at = 0; at < all.length && !isOver(); at += placedAtOnce) {
      await place(all.slice(at, at + placedAtOnce))
    }
    // One that was replaced would hide a later loss from the engine that has its place: their marks are the same.
    if (isOver()) return
    // After another loss it is for who has all that was told until then.
    const isNewest = number === repeats && toldSince === null
    // Where the store cannot be reached, it tells of the loss again.
    if (isNewest) await losses.resume().catch(() => {})
    while (placed.size > 0 && !isOver()) {
      for (const [aggregate, { stray }] of [...placed].slice(0, repeatedAtOnce)) {
        options.book(aggregate, stray)
      }
      await sleep(repeatPauseMs)
    }
    tellRepeated()
  }

  async function place(texts: readonly string[]): Promise<void> {
    const accounts = await accountsOf(texts.map(cardOf))
    for (const told of texts) {
      const accountId = accounts.get(cardOf(told))
      const stray = accountId === undefined
      const aggregate = stray
        ? strayAggregate(readTold(told).event.eventId)
        : // Where nobody can read whose card it is, it waits there.
          accountId === ''
          ? directoryKey(cardOf(told)).aggregate
          : accountAggregate(accountId)
      const there = placed.get(aggregate)
      if (there === undefined) placed.set(aggregate, { stray, told: [told] })
      else there.told.push(told)
    }
  }

  async function accountsOf(cardIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    while (!isOver()) {
      try {
        return await directory.resolve(cardIds)
      } catch {
        await sleep(retryPauseMs)
      }
    }
    return new Map()
  }

  function tellRepeated(): void {
    if (waiting.size + underWay.size === 0 && toldSince === null) options.onRepeated()
  }

  return {
    get size() {
      return waiting.size
    },
    get isBusy() {
      return waiting.size > 0 || toldSince !== null
    },
    recall(told, last) {
      toldSince ??= new Map()
      for (const each of told) received.push(each)
      if (!last) return
      const since = toldSince
      const older = received.filter((each) => !since.has(slotOf(each)))
      received = []
      toldSince = null
      void repeat([...older, ...since.values()])
    },
    take(aggregate) {
      const there = placed.get(aggregate)
      if (there === undefined) return []
      placed.delete(aggregate)
      const current = there.told.filter((told) => waiting.get(slotOf(told)) === told)
      for (const told of current) {
        waiting.delete(slotOf(told))
        underWay.add(slotOf(told))
      }
      return current.map(readTold)
    },
    forget: (slot) => void waiting.delete(slot),
    onTold(slot, told) {
      toldSince?.set(slot, told)
      if (underWay.delete(slot)) tellRepeated()
    },
  }
}

/**
 * One text, because the objects of an event would all have to grow old in the garbage collector's eyes.
 * Slot and card come first, each in a line: to sort tens of thousands, nothing else is read.
 */
export function textOf(told: SaidDelivery): string {
  const { event, slot } = told
  const cells: Cell[] = []
  writeDelivery(cells, { ...told, mayStillCommit: false })
  return `${slot}\n${JSON.stringify(event.cardId)}\n${JSON.stringify(cells)}`
}

function readTold(text: string): SaidDelivery {
  const cells = JSON.parse(text.slice(text.indexOf('\n', text.indexOf('\n') + 1))) as Cell[]
  const found: Delivery[] = []
  readDeliveries(cells, (delivery) => found.push(delivery))
  return found[0] as SaidDelivery
}

function slotOf(told: string): string {
  return told.slice(0, told.indexOf('\n'))
}

function cardOf(told: string): string {
  const start = told.indexOf('\n') + 1
  return JSON.parse(told.slice(start, told.indexOf('\n', start))) as string
}
