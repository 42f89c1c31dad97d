import { type Worklist, worklists } from '../../domain/change/change.ts'
import type { Store } from '../../store/port.ts'
import { startRoutine } from '../../timing.ts'
import { indexes } from '../format/layout.ts'

/** How much waits for people, of all instances on the store. */
export interface WorklistWatch {
  readonly waiting: Readonly<Record<Worklist, number>>
  stop(): void
}

/** Counting goes no further: a list of so many is as long as any. */
export const maxCounted = 1_000

export function watchWorklists(store: Store, intervalMs: number): WorklistWatch {
  const waiting: Record<Worklist, number> = { unmatched: 0, anomalies: 0 }

  async function count(): Promise<void> {
    try {
      for (const list of worklists) {
        waiting[list] = (await store.range(indexes[list], '', maxCounted)).length
      }
    } catch {
      // A store that is away tells nothing: what was counted last goes on.
    }
  }

  const counting = startRoutine(intervalMs, count)
  counting.now()
  return { waiting, stop: counting.stop }
}
