import {
  type Command,
  type LossListener,
  type Outcome,
  PartlyFailed,
  type PartOutcome,
  type Store,
  StoreError,
} from '../../src/store/port.ts'
import {
  createMemoryState,
  createMemoryStore,
  type Fault,
  type MemoryState,
} from './memory-store.ts'

/** A store on two nodes, as in a cluster: each can be replaced by a replica that lacks the last commits. */
export interface TransferNodes {
  readonly states: readonly MemoryState[]
  /** The state that an aggregate lies in. */
  stateOf(aggregate: string): MemoryState
  /** A handle of one server. */
  open(faults: (commands: readonly Command[]) => Fault): Store
  /** A replica takes over that lacks what was executed since. */
  failOver(node: number, sinceMs: number): void
  /** Replicas have all that was executed. */
  catchUp(): void
}

const nodes = 2
/** Above every mark of before a loss. */
const epochSize = 1_000_000
const behindMs = 1_000

interface Node {
  readonly state: MemoryState
  readonly marks: Map<string, number>
  /** Takes back what was executed and is not on a replica yet, the newest last. */
  undo: { readonly atMs: number; readonly run: () => void }[]
  /** How often another server has taken over: connections to the one before are cut. */
  generation: number
}

export function createTransferNodes(): TransferNodes {
  const all: readonly Node[] = Array.from({ length: nodes }, () => ({
    state: createMemoryState(),
    marks: new Map(),
    undo: [],
    generation: 0,
  }))
  let writers = 0
  return {
    states: all.map(({ state }) => state),
    stateOf: (aggregate) => all[placeOf(aggregate)]!.state,
    open: (faults) => openStore(all, `w${writers++}`, faults),
    failOver(at, sinceMs) {
      const node = all[at]!
      node.generation++
      for (let last = node.undo.pop(); last !== undefined; last = node.undo.pop()) {
        if (last.atMs < sinceMs) break
        last.run()
      }
      node.undo = []
    },
    catchUp() {
      for (const node of all) node.undo = []
    },
  }
}

/** Some accounts lie beside the wallet, and some do not. */
function placeOf(aggregate: string): number {
  let sum = 0
  for (const letter of aggregate) sum += letter.charCodeAt(0)
  return sum % nodes
}

/** What one command changes, as it was before. */
function undoOf({ state, marks }: Node, commands: readonly Command[]): () => void {
  const restore: (() => void)[] = []
  for (const { aggregate, index, unindex } of commands) {
    const before = structuredClone(state.aggregates.get(aggregate))
    restore.push(() => {
      if (before === undefined) state.aggregates.delete(aggregate)
      else state.aggregates.set(aggregate, before)
    })
    for (const { index: name, sortKey } of [...index, ...unindex]) {
      const value = state.indexes.get(name)?.get(sortKey)
      restore.push(() => {
        const entries = state.indexes.get(name) ?? new Map<string, string>()
        state.indexes.set(name, entries)
        if (value === undefined) entries.delete(sortKey)
        else entries.set(sortKey, value)
      })
    }
  }
  const { length } = state.log
  const had = new Map(marks)
  return () => {
    for (const each of restore) each()
    state.log.length = length
    marks.clear()
    for (const [writer, mark] of had) marks.set(writer, mark)
  }
}

/** One server's connection to one node. */
function openNode(node: Node, writer: string, faults: (commands: readonly Command[]) => Fault) {
  let listener: LossListener | null = null
  let acknowledged = 0
  let executed = 0
  let isLost = false
  let telling = false
  let epoch = 0
  let sent: readonly Command[] = []
  const markHere = () => node.marks.get(writer) ?? 0

  function lose(): void {
    isLost = true
    if (telling || listener === null) return
    telling = true
    listener.onLoss()
  }

  function check(): void {
    if (isLost || markHere() >= acknowledged) return
    lose()
    throw new StoreError('less is here than was acknowledged', 'no')
  }

  function guard() {
    const [commands, { generation }] = [sent, node]
    return (execute: () => Outcome[]): Outcome[] => {
      if (generation !== node.generation) throw new StoreError('cut off', 'unknown')
      check()
      const undo = undoOf(node, commands)
      const outcomes = execute()
      executed = markHere() + 1
      node.marks.set(writer, executed)
      const atMs = Date.now()
      node.undo = node.undo.filter((one) => one.atMs >= atMs - behindMs)
      node.undo.push({ atMs, run: undo })
      return outcomes
    }
  }

  const store = createMemoryStore(node.state, {
    nowMs: Date.now,
    guard,
    faults(commands) {
      sent = commands
      return faults(commands)
    },
  })
  return {
    async commit(commands: readonly Command[]): Promise<readonly PartOutcome[]> {
      if (isLost) throw new StoreError('something is lost', 'no')
      const outcomes = await store.commit(commands)
      acknowledged = Math.max(acknowledged, executed)
      return outcomes
    },
    async load(keys: Parameters<Store['load']>[0]) {
      check()
      return store.load(keys)
    },
    range: store.range,
    watch(by: LossListener) {
      listener = by
    },
    look: () => void (markHere() < acknowledged && lose()),
    resume() {
      telling = false
      if (!isLost) return
      acknowledged = ++epoch * epochSize
      node.marks.set(writer, acknowledged)
      isLost = false
    },
  }
}

function openStore(
  all: readonly Node[],
  writer: string,
  faults: (commands: readonly Command[]) => Fault,
): Store {
  const parts = all.map((node) => openNode(node, writer, faults))
  let looks = 0

  async function commit(commands: readonly Command[]): Promise<Outcome[]> {
    const outcomes: PartOutcome[] = []
    await Promise.all(
      parts.map(async (part, i) => {
        const own = commands.filter(({ aggregate }) => placeOf(aggregate) === i)
        if (own.length === 0) return
        const found = await part.commit(own).catch((error: unknown) => {
          if (!(error instanceof StoreError)) throw error
          return own.map((): PartOutcome => (error.executed === 'no' ? 'refused' : 'unknown'))
        })
        own.forEach((command, at) => {
          outcomes[commands.indexOf(command)] = found[at]!
        })
      }),
    )
    const failed = outcomes.some((outcome) => outcome === 'refused' || outcome === 'unknown')
    if (failed) throw new PartlyFailed('a node failed', outcomes)
    return outcomes as Outcome[]
  }

  let listener: LossListener | null = null
  return {
    ...createMemoryStore(),
    commit,
    async load(keys) {
      const found = await Promise.all(parts.map((part) => part.load(keys)))
      return keys.map(({ aggregate }, at) => found[placeOf(aggregate)]![at])
    },
    async range(index, after, limit) {
      const found = await Promise.all(parts.map((part) => part.range(index, after, limit)))
      const sorted = found.flat().sort((a, b) => (a.sortKey < b.sortKey ? -1 : 1))
      return sorted.slice(0, limit)
    },
    losses: {
      watch(by) {
        listener = by
        for (const part of parts) part.watch(by)
      },
      async look() {
        const number = ++looks
        listener?.onCheckpoint(number)
        for (const part of parts) part.look()
        // The replicas are a second behind, and looks are a second apart.
        listener?.onKept(number - 2)
      },
      async resume() {
        for (const part of parts) part.resume()
      },
    },
  }
}
