import type { Store } from '../../store/port.ts'
import { startRoutine } from '../../timing.ts'
import { indexes, projectionAggregate, splitSortKey } from '../format/layout.ts'
import { countDeliveries } from './delivery-count.ts'
import { maxCounted } from './worklist-watch.ts'

/** What the management plane of any instance has left to do, as the store has it. */
export interface BackOfficeWork {
  readonly readAtMs: number
  /** Transfers on their way; `maxCounted` is that many or more. */
  readonly transfers: number
  /** When somebody must look after the first of them. */
  readonly transferDueMs: number
  /** Deliveries of webhooks that wait; `maxCounted` is that many or more. */
  readonly deliveries: number
  /** Ids of events begin with their time; '' when none waits. */
  readonly oldestEventId: string
  /** As who follows the log has written it last; '' when nobody ever did. */
  readonly progress: string
}

export interface BackOfficeWatch {
  /** null before it was read first. */
  readonly work: BackOfficeWork | null
  stop(): void
}

/** Somebody must tell when the management API, which tells it else, does not run anywhere. */
export function watchBackOffice(
  store: Store,
  nowMs: () => number,
  intervalMs: number,
): BackOfficeWatch {
  let work: BackOfficeWork | null = null

  async function read(): Promise<void> {
    try {
      const moving = await store.range(indexes.moving, '', maxCounted)
      const { count: deliveries, oldestEventId } = await countDeliveries(store, maxCounted)
      const [progress] = await store.load([{ aggregate: projectionAggregate, group: '', id: '' }])
      work = {
        readAtMs: nowMs(),
        transfers: moving.length,
        transferDueMs: splitSortKey(moving[0]?.sortKey ?? '').atMs,
        deliveries,
        oldestEventId,
        progress: progress?.value ?? '',
      }
    } catch {
      // A store that is away tells nothing: what was read last goes on.
    }
  }

  const reading = startRoutine(intervalMs, read)
  reading.now()
  return {
    get work() {
      return work
    },
    stop: reading.stop,
  }
}
