import { failureText } from '../../store/failure-text.ts'
import { noChange, type Store } from '../../store/port.ts'
import { directoryKey, metaAggregate } from '../format/layout.ts'

/** Whether the store takes commits, as far as anybody has tried. */
export interface StoreWatch {
  readonly isAvailable: boolean
  /** Why it does not; '' while it does. */
  readonly problem: string
  /** What came of a read or a commit: '', or why it failed. */
  note(problem: string, of: Tried): void
  stop(): void
}

type Tried = 'read' | 'commit'

const lookMs = 1_000
/** What failed first only says that a connection was lost; by the second look it is known why there is no other. */
const looksUntilExplained = 2
/** Of no card: only whether it can be read is of interest. */
const someKey = directoryKey('')
/** Of a version that is never there: it is turned away, if commits are taken at all, and changes nothing. */
const noCommand = {
  aggregate: metaAggregate,
  expectedVersion: 'never',
  newVersion: 'never',
  root: '',
  ...noChange,
}

/**
 * A server that says it is not ready is asked nothing more, and would never find out that its store is back. So
 * it looks by itself. A store that is full, or has become a replica, can still be read: what failed is tried again,
 * and a store that can be tried is, so that one which nobody asks knows before the first card is used.
 */
export function createStoreWatch(
  store: Pick<Store, 'load' | 'commit' | 'trial' | 'onProblem'>,
  /** Whether something waits for the store: then it is tried anyway. */
  isBusy: () => boolean,
  /** `isTurn` when it could be used before, or can again; else only the reason is another. */
  onChange: (problem: string, isTurn: boolean) => void,
): StoreWatch {
  let failed: Tried | null = null
  let reason = ''
  let isStopped = false
  let isLooking = false
  /** Since the failure that is told now. */
  let looks = 0
  let timer: NodeJS.Timeout | undefined
  store.onProblem?.((problem) => {
    const isKnown = failed !== null && problem !== ''
    learn(problem, 'commit')
    // What a store says of itself tells more than what has failed because of it.
    if (isKnown) change(problem, false)
  })
  if (store.trial !== undefined) lookLater()

  function note(problem: string, of: Tried): void {
    const isBack = problem === '' && failed !== null
    if (isBack && store.trial !== undefined) lookSoon()
    else learn(problem, of)
  }

  /** What one node of several takes tells nothing of the one that failed: all are tried. */
  function lookSoon(): void {
    if (looks === 0) void look()
  }

  function learn(problem: string, of: Tried): void {
    if (problem === '') {
      if (failed === null || (failed === 'commit' && of === 'read')) return
      failed = null
      change('', true)
      return
    }
    const isNew = failed === null
    if (failed !== 'commit') failed = of
    if (!isNew) return
    looks = 0
    change(problem, true)
    lookLater()
  }

  function change(problem: string, isTurn: boolean): void {
    reason = problem
    onChange(problem, isTurn)
  }

  function lookLater(): void {
    clearTimeout(timer)
    if (!isStopped) timer = setTimeout(look, lookMs)
  }

  async function look(): Promise<void> {
    const isLeftToUs = failed !== null && store.trial !== undefined
    if (!isLooking && (isLeftToUs || !isBusy())) {
      isLooking = true
      looks++
      const of = failed ?? 'commit'
      const problem = await problemOf(of)
      isLooking = false
      if (isStopped) return
      const isKnown = failed !== null && problem !== ''
      learn(problem, of)
      if (isKnown && looks === looksUntilExplained && problem !== reason) change(problem, false)
    }
    if (failed !== null || store.trial !== undefined) lookLater()
  }

  /** '' when it works. */
  function problemOf(of: Tried): Promise<string> {
    return tryIt(of).then(() => '', failureText)
  }

  function tryIt(of: Tried): Promise<unknown> {
    if (store.trial !== undefined) return store.trial()
    return of === 'read' ? store.load([someKey]) : store.commit([noCommand])
  }

  return {
    get isAvailable() {
      return failed === null
    },
    get problem() {
      return reason
    },
    note,
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}
