import type { Clock } from '../clock.ts'
import type { Entry } from '../domain/ledger/entry.ts'
import type { Aggregates } from '../engine/aggregates.ts'
import { customerIn, ownerIn } from '../engine/format/codec.ts'
import { accountAggregate, cardKey } from '../engine/format/layout.ts'
import { unlessUnreadable } from '../engine/format/row-codec.ts'
import { entryIn } from '../engine/log-reading.ts'
import type { Key, LogLine, Store } from '../store/port.ts'
import type { Consumer, LoggedEntry, ProjectedEntry } from './consumer.ts'
import {
  changesAnswer,
  type RowOwner,
  rowAnsweredAgain,
  rowOfChangedAnswer,
  rowsOf,
} from './entry-rows.ts'
import { createLease } from './lease.ts'
import { createLogWindow, type LogWindow } from './log-window.ts'
import type { TransactionRow } from './row.ts'
import { findEventRow, keyOf } from './row-desk.ts'

export interface ProjectorOptions {
  readonly store: Store
  readonly aggregates: Aggregates
  readonly clock: Clock
  /** Unlike that of any other process that shares the store. */
  readonly instance: string
  /** Each is given every entry, in this order. */
  readonly consumers: readonly Consumer[]
  readonly onTrouble: (message: string) => void
}

/** What is told of it, by every instance alike. */
export interface ProjectionFigures {
  /** How old the state of the log is that the lists show; since the start while nobody can tell how far they are. */
  readonly lagMs: number
  /** Log lines that cannot be read and were passed over, since the start. */
  readonly unreadable: number
  /** How long after it was dated the latest of late lines appeared; less and less while none is late. */
  readonly latestMs: number
}

/** Follows the decision log and feeds what is made of it; one of the instances that share a store does. */
export interface Projector {
  readonly figures: ProjectionFigures
  readonly isLeading: boolean
  /** Takes one step: looks whose turn it is, or does what is there to do. Resolves to whether there may be more. */
  step(): Promise<boolean>
  stop(): Promise<void>
}

const lookMs = 1_000
/** How long after it was dated an entry may become visible, when the store is well. */
const visibleAfterMs = 10_000
const settleMs = 2_000
/** Half of how late an entry was stands after some 23 minutes. */
const keptOfSecond = 0.9995

export function createProjector(options: ProjectorOptions): Projector {
  const { store, aggregates, clock, consumers } = options
  const lease = createLease(store, aggregates, options.instance, () =>
    options.onTrouble(
      'how far the lists and webhooks have followed the log is damaged: they follow it again from its beginning',
    ),
  )
  const startedMs = clock.nowMs()
  let hasLooked = false
  let window: LogWindow | null = null
  let lookedMonoMs = Number.NEGATIVE_INFINITY
  let toldMonoMs = Number.NEGATIVE_INFINITY
  let settledMonoMs = 0
  let doneMs = 0
  /** The longest commit of late: while a store is slow, entries become visible later. */
  let slowestMs = 0
  let unreadable = 0
  let latestMs = 0
  let fadedMonoMs = clock.monoMs()

  /** Also while another follows the log: nobody else makes it less. */
  function fade(): void {
    const monoMs = clock.monoMs()
    latestMs *= keptOfSecond ** ((monoMs - fadedMonoMs) / 1_000)
    fadedMonoMs = monoMs
  }

  async function step(): Promise<boolean> {
    if (window === null || !lease.isMine) return wait()
    const lines = await window.next()
    await project(lines)
    window.done(lines)
    doneMs = window.caughtUp ? clock.nowMs() : (lines.at(-1)?.writtenMs ?? doneMs)
    if (window.caughtUp && clock.monoMs() - settledMonoMs >= settleMs) await settle(window)
    if (clock.monoMs() - toldMonoMs >= lookMs) await tell(window)
    return !window.caughtUp
  }

  async function wait(): Promise<boolean> {
    window = null
    const monoMs = clock.monoMs()
    if (monoMs - lookedMonoMs < lookMs) return false
    lookedMonoMs = monoMs
    fade()
    await lease.look(monoMs)
    hasLooked = true
    if (!lease.isMine) return false
    const { cursor, settledMs } = lease.progress
    doneMs = lease.progress.doneMs
    window = createLogWindow(store, cursor, settledMs)
    toldMonoMs = monoMs
    return true
  }

  async function settle(following: LogWindow): Promise<void> {
    settledMonoMs = clock.monoMs()
    // By a clock ahead of the writers' all would seem old enough at once.
    const times = await store.serverTimes?.().catch(() => null)
    if (times === null) return
    const nowMs = Math.min(clock.nowMs(), ...(times ?? []))
    // What was so late once may be so again, or later.
    const settledAfterMs = visibleAfterMs + 2 * Math.max(slowestMs, latestMs)
    const late = await following.settle(nowMs, settledAfterMs)
    fade()
    for (const { writtenMs } of late) latestMs = Math.max(latestMs, nowMs - writtenMs)
    await project(late)
    following.done(late)
  }

  async function tell({ anchor, anchorMs }: LogWindow): Promise<void> {
    const begunMonoMs = clock.monoMs()
    toldMonoMs = begunMonoMs
    await lease.tell({ cursor: anchor, settledMs: anchorMs, doneMs })
    slowestMs = Math.max(clock.monoMs() - begunMonoMs, 0.9 * slowestMs)
  }

  async function project(lines: readonly LogLine[]): Promise<void> {
    if (lines.length === 0) return
    const logged = lines.flatMap((line) => loggedIn(line) ?? [])
    const broken = lines.length - logged.length
    if (broken > 0) {
      unreadable += broken
      options.onTrouble(
        `${broken} log entries cannot be read and are in no list: see arbiter verify`,
      )
    }
    const projected = await projectEntries(store, logged)
    for (const consumer of consumers) await consumer.take(projected)
  }

  return {
    get figures() {
      const known = lease.isMine ? doneMs : lease.progress.doneMs
      const done = hasLooked ? known : startedMs
      return { lagMs: done === 0 ? 0 : Math.max(0, clock.nowMs() - done), unreadable, latestMs }
    },
    get isLeading() {
      return window !== null && lease.isMine
    },
    step,
    async stop() {
      if (window !== null && lease.isMine) await lease.release()
      window = null
    },
  }
}

/** null when the line cannot be read. */
export function loggedIn(line: LogLine): LoggedEntry | null {
  const entry = entryIn(line)
  return entry === null ? null : { entry, writtenMs: line.writtenMs }
}

/** Reads what the entries do not say themselves, and makes their rows. */
export async function projectEntries(
  store: Store,
  logged: readonly LoggedEntry[],
): Promise<ProjectedEntry[]> {
  const owners = await readOwners(
    store,
    logged.map(({ entry }) => entry),
  )
  const made = new Map<string, TransactionRow>()
  const projected: ProjectedEntry[] = []
  for (const { entry, writtenMs } of logged) {
    const owner = owners(entry)
    const { organizationId, currency } = owner ?? nobody
    const rows = owner === null ? [] : rowsOf(entry, owner)
    if (owner !== null && changesAnswer(entry)) {
      const row =
        made.get(eventName(entry.accountId, entry.eventKey)) ??
        (await findEventRow(store, organizationId, entry))
      const fresh = { ...rowOfChangedAnswer(entry, owner), part: rows.length }
      rows.push(row === null ? fresh : rowAnsweredAgain(row, entry))
    }
    for (const row of rows)
      if (keyOf(row) !== '') made.set(eventName(row.accountId, keyOf(row)), row)
    projected.push({ entry, writtenMs, organizationId, currency, rows })
  }
  return projected
}

function eventName(accountId: string, eventKey: string): string {
  return `${accountId}\n${eventKey}`
}

const nobody = { organizationId: '', currency: '' }

/** One read for all entries; an event of a card that nobody knew belongs to no account. */
async function readOwners(
  store: Store,
  entries: readonly Entry[],
): Promise<(entry: Entry) => RowOwner | null> {
  const names = new Map<string, Key>()
  for (const { accountId, cardId } of entries) {
    if (accountId === '') continue
    const aggregate = accountAggregate(accountId)
    names.set(eventName(accountId, ''), { aggregate, group: '', id: '' })
    if (cardId !== '') names.set(eventName(accountId, cardId), { aggregate, ...cardKey(cardId) })
  }
  const found = await store.load([...names.values()])
  const values = new Map([...names.keys()].map((name, i) => [name, found[i]?.value]))
  return ({ accountId, cardId }) => {
    const account = values.get(eventName(accountId, ''))
    const owner = account === undefined ? null : unlessUnreadable(() => ownerIn(account))
    if (owner === null) return null
    const card = cardId === '' ? undefined : values.get(eventName(accountId, cardId))
    const customerId = card === undefined ? null : unlessUnreadable(() => customerIn(card))
    return { ...owner, customerId: customerId ?? '' }
  }
}
