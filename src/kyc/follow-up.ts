import type { Clock } from '../clock.ts'
import { indexes, splitSortKey } from '../engine/format/layout.ts'
import type { Store } from '../store/port.ts'
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

export function createKycFollowUp(options: KycFollowUpOptions): KycFollowUp {
  const { store, clock, desk, owns } = options
  const atWork = new Set<string>()

  function begin(kycToken: string): void {
    if (atWork.has(kycToken) || atWork.size >= maxAtWork) return
    atWork.add(kycToken)
    desk
      .followUp(kycToken)
      .catch(options.onTrouble)
      .finally(() => atWork.delete(kycToken))
  }

  return {
    async look() {
      const nowMs = clock.nowMs()
      for (let after = ''; atWork.size < maxAtWork; ) {
        const page = await store.range(indexes.kycsDue, after, pageLength)
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
