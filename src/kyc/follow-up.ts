import { keepNewest } from '../bounded-map.ts'
import type { Clock } from '../clock.ts'
import { indexes, splitSortKey } from '../engine/format/layout.ts'
import { type IndexEntry, type Store, StoreError } from '../store/port.ts'
import type { KycDesk } from './desk.ts'

/** Does what is due for verifications that are open. */
export interface KycFollowUp {
  look(): Promise<void>
  /** One was submitted just now. */
  wake(kycToken: string): void
}

export interface KycFollowUpOptions {
  readonly store: Store
  readonly clock: Clock
  readonly desk: Pick<KycDesk, 'followUp'>
  /** Whether this instance does it; another does otherwise. */
  readonly owns: (kycToken: string) => boolean
  readonly onTrouble: (error: unknown) => void
}

/** A provider that hangs takes 8 s of each. */
const maxAtWork = 16
const pageLength = 100
/** One that fails by itself, as a record that cannot be read, stays due: others are looked at meanwhile. */
const restMs = 60_000
/** The one that failed longest ago is tried again sooner. */
const maxResting = 10_000

export function createKycFollowUp(options: KycFollowUpOptions): KycFollowUp {
  const { store, clock, desk, owns } = options
  const atWork = new Set<string>()
  const restUntilMonoMs = new Map<string, number>()

  function begin(kycToken: string): void {
    if (atWork.has(kycToken) || atWork.size >= maxAtWork) return
    if (clock.monoMs() < (restUntilMonoMs.get(kycToken) ?? 0)) return
    restUntilMonoMs.delete(kycToken)
    atWork.add(kycToken)
    desk
      .followUp(kycToken)
      .catch((error: unknown) => {
        if (!(error instanceof StoreError)) rest(kycToken)
        options.onTrouble(error)
      })
      .finally(() => atWork.delete(kycToken))
  }

  function rest(kycToken: string): void {
    keepNewest(restUntilMonoMs, kycToken, clock.monoMs() + restMs, maxResting)
  }

  /** A node that is away keeps only its own. */
  async function dueAfter(after: string): Promise<readonly IndexEntry[]> {
    if (store.rangeReachable === undefined) return store.range(indexes.kycsDue, after, pageLength)
    return (await store.rangeReachable(indexes.kycsDue, after, pageLength)).entries
  }

  return {
    async look() {
      const nowMs = clock.nowMs()
      for (let after = ''; atWork.size < maxAtWork; ) {
        const page = await dueAfter(after)
        for (const { sortKey, value } of page) {
          if (splitSortKey(sortKey).atMs > nowMs) return
          if (owns(value)) begin(value)
        }
        if (page.length < pageLength) return
        after = page.at(-1)!.sortKey
      }
    },
    wake(kycToken) {
      if (owns(kycToken)) begin(kycToken)
    },
  }
}
