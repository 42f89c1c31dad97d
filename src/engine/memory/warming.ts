import type { Clock } from '../../clock.ts'
import { type LogLine, type Store, StoreError } from '../../store/port.ts'
import type { Engine } from '../engine.ts'
import { decodeEntry } from '../format/entry-codec.ts'

export interface WarmingOptions {
  readonly engine: Pick<Engine, 'stats' | 'warm'>
  readonly store: Pick<Store, 'tailLog'>
  readonly clock: Clock
  readonly maxCards: number
  /** The engine's heap has room for more. */
  readonly hasRoom: () => boolean
  readonly onDone: (cards: number, ms: number) => void
  /** At most once. */
  readonly onTrouble: (message: string) => void
}

export interface Warming {
  /** Resolves when nothing more is read. */
  readonly done: Promise<void>
  stop(): void
}

const linesPerPage = 200
/** So few that an event which comes meanwhile waits a millisecond or two. */
const linesAtOnce = 20
/** A few busy cards may be all that the log tells of. */
const maxLines = 200_000
const maxMs = 60_000
const minPauseMs = 5
/** It rests this much longer than it worked, so that events find the engine free most of the time. */
const restPerWork = 4
/** With more events in the engine than this, it stands back. */
const maxQueued = 50
const standBackMs = 20
const minBackOffMs = 100
const maxBackOffMs = 5_000

/**
 * After a start memory is empty, and the first ask of a card reads it. The cards of the newest log entries
 * are the likeliest to be asked next: these are read in advance, page by page from the newest.
 */
export function startWarming(options: WarmingOptions): Warming {
  const { engine, store, clock, maxCards } = options
  let stopped = false
  let before = ''
  let linesRead = 0
  /** Read and not yet looked at, oldest first. */
  let lines: readonly LogLine[] = []

  /** One call of the store, and a little work after it; resolves to whether there may be more. */
  async function goOn(): Promise<boolean> {
    if (lines.length === 0) return readLog()
    const left = maxCards - engine.stats().warmedCards
    if (left <= 0 || !options.hasRoom()) return false
    const cards = cardsOf(lines.slice(-linesAtOnce)).slice(0, left)
    const hasRoom = await engine.warm(cards)
    // Only now: after a failure of the store the same lines come again.
    lines = lines.slice(0, -linesAtOnce)
    return hasRoom
  }

  async function readLog(): Promise<boolean> {
    if (linesRead >= maxLines) return false
    lines = await store.tailLog(linesPerPage, before)
    before = lines[0]?.cursor ?? ''
    linesRead += lines.length
    return lines.length > 0
  }

  async function run(): Promise<void> {
    const startedMonoMs = clock.monoMs()
    const elapsedMs = () => clock.monoMs() - startedMonoMs
    let backOffMs = minBackOffMs
    let more = true
    while (more && !stopped && elapsedMs() < maxMs) {
      const begunMs = elapsedMs()
      if (engine.stats().queued > maxQueued) {
        await pause(standBackMs)
        continue
      }
      try {
        more = await goOn()
        backOffMs = minBackOffMs
        if (more) await pause(Math.max(minPauseMs, restPerWork * (elapsedMs() - begunMs)))
      } catch (error) {
        more = error instanceof StoreError
        // A bug. Cold memory is slower and no worse: nothing here may end the engine.
        if (!more) options.onTrouble(`warning: memory stays cold: ${(error as Error).name}`)
        await pause(backOffMs)
        backOffMs = Math.min(2 * backOffMs, maxBackOffMs)
      }
    }
    if (!stopped) options.onDone(engine.stats().warmedCards, Math.round(elapsedMs()))
  }

  return {
    done: run(),
    stop() {
      stopped = true
    },
  }
}

/** It never keeps a thread from ending. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}

/** The newest first. */
function cardsOf(lines: readonly LogLine[]): string[] {
  const cards = new Set<string>()
  for (const line of lines.toReversed()) {
    const cardId = cardOf(line)
    if (cardId !== '') cards.add(cardId)
  }
  return [...cards]
}

/** '' when the entry is of no account, or of a newer release. */
function cardOf({ entry }: LogLine): string {
  try {
    const { accountId, cardId } = decodeEntry(entry)
    return accountId === '' ? '' : cardId
  } catch {
    return ''
  }
}
