import type { Store } from '../../store/port.ts'
import { directoryKey, metaAggregate } from '../format/layout.ts'

/** Whether the store takes commits, as far as anybody has tried. */
export interface StoreWatch {
  readonly isAvailable: boolean
  /** What came of a read or a commit: '', or why it failed. */
  note(problem: string, of: Tried): void
  stop(): void
}

type Tried = 'read' | 'commit'

const lookMs = 1_000
/** Of no card: only whether it can be read is of interest. */
const someKey = directoryKey('')
/** Of a version that is never there: it is turned away, if commits are taken at all, and changes nothing. */
const noCommand = {
  aggregate: metaAggregate,
  expectedVersion: 'never',
  newVersion: 'never',
  root: '',
  ...{ mustBeAbsent: [], put: [], remove: [], index: [], unindex: [], log: [] },
}

/**
 * A server that says it is not ready is asked nothing more, and would never find out that its store is back. So
 * it looks by itself. A store that is full, or has become a replica, can still be read: what failed is tried again.
 */
export function createStoreWatch(
  store: Pick<Store, 'load' | 'commit' | 'onProblem'>,
  /** Whether something waits for the store: then it is tried anyway. */
  isBusy: () => boolean,
  /** `isTurn` when it could be used before, or can again; else only the reason is another. */
  onChange: (problem: string, isTurn: boolean) => void,
): StoreWatch {
  let failed: Tried | null = null
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  store.onProblem?.((problem) => {
    const isKnown = failed !== null && problem !== ''
    note(problem, 'commit')
    // What a store says of itself tells more than what has failed because of it.
    if (isKnown) onChange(problem, false)
  })

  function note(problem: string, of: Tried): void {
    if (problem === '') {
      if (failed === null || (failed === 'commit' && of === 'read')) return
      failed = null
      onChange('', true)
      return
    }
    const isNew = failed === null
    if (failed !== 'commit') failed = of
    if (!isNew) return
    onChange(problem, true)
    lookLater()
  }

  function lookLater(): void {
    clearTimeout(timer)
    if (!isStopped) timer = setTimeout(look, lookMs)
  }

  async function look(): Promise<void> {
    if (failed === null || isStopped) return
    const of = failed
    if (!isBusy() && (await works(of))) note('', of)
    else lookLater()
  }

  function works(of: Tried): Promise<boolean> {
    const tried = of === 'read' ? store.load([someKey]) : store.commit([noCommand])
    return tried.then(
      () => true,
      () => false,
    )
  }

  return {
    get isAvailable() {
      return failed === null
    },
    note,
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}
