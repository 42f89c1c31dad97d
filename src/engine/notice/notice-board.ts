import type { Loaded, Store } from '../../store/port.ts'
import { messageOf } from '../quarantine/damage.ts'

/** Called with a record when it is another than before; null when there is none. */
type OnNotice = (found: Loaded | null) => void

/** Small records that all instances must see soon: every engine looks at their versions by one read. */
export interface NoticeBoard {
  /** Resolves after the first look, so that nothing is decided before it. */
  follow(aggregate: string, onNotice: OnNotice): Promise<void>
  /** Looks now, for who has just changed something; resolves to whether the store could be read. */
  look(): Promise<boolean>
  stop(): void
}

export interface NoticeBoardOptions {
  readonly store: Store
  readonly intervalMs: number
  /** Whether a record can be read: ''; else what is wrong with it, and what it said before goes on. */
  readonly onState: (aggregate: string, problem: string) => void
  /** What came of each look: '', or why it failed. A server that is asked nothing finds out so that its store is away. */
  readonly onLook: (problem: string) => void
}

export function createNoticeBoard(options: NoticeBoardOptions): NoticeBoard {
  const { store, intervalMs, onState, onLook } = options
  const notices: { aggregate: string; version: string | null; onNotice: OnNotice }[] = []
  let underWay: Promise<boolean> | null = null
  let next: Promise<boolean> | null = null
  let stopped = false

  /** What is under way may have read before its caller's commit: who comes meanwhile has the next one. */
  function look(): Promise<boolean> {
    if (underWay === null) {
      underWay = lookOnce().finally(() => {
        underWay = null
      })
      return underWay
    }
    next ??= underWay.then(() => {
      next = null
      return look()
    })
    return next
  }

  async function lookOnce(): Promise<boolean> {
    if (stopped || notices.length === 0) return true
    try {
      const looked = [...notices]
      const found = await store.load(
        looked.map(({ aggregate }) => ({ aggregate, group: '', id: '' })),
      )
      onLook('')
      for (const [i, notice] of looked.entries()) tell(notice, found[i] ?? null)
      return true
    } catch (error) {
      // A store that is away tells nothing: what was read last goes on.
      if (!stopped) onLook((error as Error).message)
      return false
    }
  }

  function tell(notice: (typeof notices)[number], found: Loaded | null): void {
    const version = found?.version ?? null
    if (version === notice.version || stopped) return
    notice.version = version
    try {
      notice.onNotice(found)
      onState(notice.aggregate, '')
    } catch (error) {
      onState(notice.aggregate, messageOf(error))
    }
  }

  const timer = setInterval(() => void look(), intervalMs)
  timer.unref()
  return {
    async follow(aggregate, onNotice) {
      const [found] = await store.load([{ aggregate, group: '', id: '' }])
      const notice = { aggregate, version: null, onNotice }
      tell(notice, found ?? null)
      notices.push(notice)
    },
    look,
    stop() {
      stopped = true
      clearInterval(timer)
    },
  }
}
