import { outcomesOf } from '../store/outcome.ts'
import {
  type ChildKey,
  type Command,
  maxCommandsPerCall,
  type Store,
  StoreError,
} from '../store/port.ts'
import {
  type AggregateCopy,
  type AggregateView,
  type AggregateWrite,
  openAggregateCopy,
} from './aggregate-copy.ts'

/**
 * One change of one aggregate. It may be decided several times, each time on what is there then: also on what it wrote
 * itself, where the reply was lost and somebody else wrote after it.
 */
export interface AggregateChange<T> {
  readonly aggregate: string
  readonly reads?: readonly ChildKey[]
  /** Nobody is kept waiting by it: it goes with what comes within so many milliseconds. */
  readonly gatherMs?: number | undefined
  /**
   * `write: null` answers from what was read: only for what can never change. Whatever a command that
   * is still on its way could contradict, a refusal too, is said by a write.
   */
  decide(view: AggregateView): { readonly result: T; readonly write: AggregateWrite | null }
}

/** Changes aggregates that are no accounts: organizations, wallets, References, notices. */
export interface Aggregates {
  readonly waiting: number
  /**
   * Resolves after the commit. Rejects with a StoreError, which knows what there is to know of the outcome,
   * when the store could not be used for long or other writers always came first, and with an
   * AggregatesBusy when too much waits.
   */
  change<T>(change: AggregateChange<T>): Promise<T>
  /** Whether nothing that was begun here and looks at this child is still to be committed. */
  isIdle(aggregate: string, child: ChildKey): boolean
  stop(): void
}

export class AggregatesBusy extends StoreError {
  constructor() {
    super('too much waits for the store', 'no')
    this.name = 'AggregatesBusy'
  }
}

export interface AggregatesOptions {
  readonly store: Store
  readonly newVersion: () => string
  readonly onStore?: (problem: string) => void
  readonly random?: () => number
}

interface Item {
  readonly change: AggregateChange<unknown>
  readonly done: (result: unknown) => void
  readonly fail: (error: unknown) => void
}

/** What waits for one aggregate, of which one command is on its way at a time. */
interface Line {
  readonly aggregate: string
  waiting: Item[]
  busy: boolean
  failures: number
  /** A command of this aggregate may still be executed: the next one must renew the version. */
  mayStillCommit: boolean
  /** What those that wait first are told, by the version that it holds with: of commands whose reply was lost. */
  unanswered: ReadonlyMap<string, Told>
}

type Told = readonly (() => void)[]

const noneUnanswered: ReadonlyMap<string, Told> = new Map()
const maxWaiting = 10_000
const maxChangesPerCommand = 128
const maxBackOffMs = 200
/** Tries in a row that did not commit, some six seconds of a store that is away: a call has ten. */
const maxTries = 60

export function createAggregates(options: AggregatesOptions): Aggregates {
  const { store, random = Math.random } = options
  const lines = new Map<string, Line>()
  let ready = new Set<Line>()
  let gathered: Line[] = []
  let waiting = 0
  let scheduled = false
  let stopped = false

  function schedule(line: Line): void {
    if (line.busy || stopped) return
    ready.add(line)
    if (scheduled) return
    scheduled = true
    setImmediate(turn)
  }

  function gather(line: Line, gatherMs: number): void {
    if (gathered.push(line) > 1) return
    setTimeout(() => {
      const lines = gathered
      gathered = []
      for (const one of lines) if (one.waiting.length > 0) schedule(one)
    }, gatherMs)
  }

  /** All aggregates that have something to do are read and committed together. */
  function turn(): void {
    scheduled = false
    const due = [...ready]
    ready = new Set()
    for (let at = 0; at < due.length; at += maxCommandsPerCall) {
      void work(due.slice(at, at + maxCommandsPerCall))
    }
  }

  async function work(due: readonly Line[]): Promise<void> {
    for (const line of due) line.busy = true
    const batches = due.map((line) => line.waiting.slice(0, maxChangesPerCommand))
    try {
      const views = await read(due, batches)
      const drafts = due.map((line, i) => decideAll(line, batches[i]!, views[i]!))
      await commit(due, drafts)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      options.onStore?.(error.message)
      // One of several may be out of reach, and must not keep the others.
      if (due.length > 1) for (const line of due) void work([line])
      else for (const line of due) retry(line, error.message)
    }
  }

  async function read(due: readonly Line[], batches: readonly (readonly Item[])[]) {
    const wanted = due.map(({ aggregate }, i) => [
      { aggregate, group: '', id: '' },
      ...batches[i]!.flatMap(({ change }) =>
        (change.reads ?? []).map(({ group, id }) => ({ aggregate, group, id })),
      ),
    ])
    const found = await store.load(wanted.flat())
    let at = 0
    return wanted.map((keys) => {
      const loaded = found.slice(at, at + keys.length)
      at += keys.length
      return openAggregateCopy(keys, loaded)
    })
  }

  /** Changes that fail by an exception fail alone: nothing of theirs was written to the copy. */
  function decideAll(line: Line, batch: readonly Item[], copy: AggregateCopy): Draft {
    // What is there by a command whose reply was lost is not decided again; it holds by the next commit.
    const finished = [...(line.unanswered.get(copy.version ?? '') ?? [])]
    for (const { change, done, fail } of batch.slice(finished.length)) {
      try {
        const { result, write } = change.decide(copy.view)
        if (write !== null) copy.write(write)
        finished.push(() => done(result))
      } catch (error) {
        finished.push(() => fail(error))
      }
    }
    const forced = line.mayStillCommit
    const command = copy.commandOf(line.aggregate, forced, options.newVersion)
    return { command, finished, count: batch.length }
  }

  async function commit(due: readonly Line[], drafts: readonly Draft[]): Promise<void> {
    const flying = due.flatMap((line, i) => {
      const draft = drafts[i]!
      if (draft.command !== null) return [{ line, draft, command: draft.command }]
      finish(line, draft)
      return []
    })
    if (flying.length === 0) {
      options.onStore?.('')
      return
    }
    const { outcomes, problem } = await outcomesOf(
      store.commit,
      flying.map(({ command }) => command),
    )
    options.onStore?.(outcomes.includes('committed') ? '' : problem)
    flying.forEach(({ line, draft, command }, i) => {
      const outcome = outcomes[i]!
      if (outcome === 'committed') {
        line.mayStillCommit = false
        finish(line, draft)
        return
      }
      if (outcome === 'unknown') {
        line.mayStillCommit = true
        line.unanswered = new Map([...line.unanswered, [command.newVersion, draft.finished]])
      }
      retry(line, outcome === 'unknown' || outcome === 'refused' ? problem : '')
    })
  }

  function finish(line: Line, { finished, count }: Draft): void {
    line.waiting = line.waiting.slice(count)
    waiting -= count
    line.failures = 0
    line.busy = false
    line.unanswered = noneUnanswered
    if (line.waiting.length > 0) schedule(line)
    else lines.delete(line.aggregate)
    for (const tell of finished) tell()
  }

  /** A little random patience lets the slowest of several writers through. */
  function retry(line: Line, problem: string): void {
    const storeFails = problem !== ''
    line.failures++
    if (line.failures >= maxTries) {
      giveUp(line, problem || 'others always came first')
      return
    }
    const longestMs = Math.min(
      maxBackOffMs,
      (storeFails ? 4 : 1) * 2 ** Math.min(line.failures, 10),
    )
    setTimeout(() => {
      line.busy = false
      schedule(line)
    }, random() * longestMs)
  }

  /** Whoever asked is told; a command that may still come is closed by the next change that reads afresh. */
  function giveUp(line: Line, why: string): void {
    const { aggregate } = line
    const error = line.mayStillCommit
      ? new StoreError(`it is not known whether ${aggregate} was committed: ${why}`, 'unknown')
      : new StoreError(`${aggregate} could not be committed: ${why}`, 'no')
    const finished = line.waiting.map(
      ({ fail }) =>
        () =>
          fail(error),
    )
    finish(line, { command: null, finished, count: line.waiting.length })
  }

  return {
    get waiting() {
      return waiting
    },
    change<T>(change: AggregateChange<T>): Promise<T> {
      if (waiting >= maxWaiting) return Promise.reject(new AggregatesBusy())
      waiting++
      let line = lines.get(change.aggregate)
      if (line === undefined) {
        const { aggregate } = change
        const fresh = { busy: false, failures: 0, mayStillCommit: false }
        line = { aggregate, waiting: [], ...fresh, unanswered: noneUnanswered }
        lines.set(aggregate, line)
      }
      const { waiting: queue } = line
      const promise = new Promise<T>((resolve, reject) => {
        queue.push({ change, done: (result) => resolve(result as T), fail: reject })
      })
      if (change.gatherMs === undefined) schedule(line)
      else gather(line, change.gatherMs)
      return promise
    },
    isIdle(aggregate, { group, id }) {
      const waitsFor = (child: ChildKey) => child.id === id && child.group === group
      const { waiting: queue = [] } = lines.get(aggregate) ?? {}
      return !queue.some(({ change }) => change.reads?.some(waitsFor))
    },
    stop() {
      stopped = true
    },
  }
}

/** What became of a batch before it was committed. */
interface Draft {
  /** null when nothing needs to be written. */
  readonly command: Command | null
  readonly finished: Told
  readonly count: number
}
