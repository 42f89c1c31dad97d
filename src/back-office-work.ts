import { unlessUnreadable } from './engine/format/row-codec.ts'
import type { BackOfficeWork } from './engine/notice/back-office-watch.ts'
import { timeOfId } from './management/id.ts'
import { lookedAfterMs } from './management/transfer/transfer.ts'
import { decodeProgress } from './projection/lease.ts'
import type { ManagementMetrics } from './telemetry/management-metrics.ts'
import { figuresOf } from './webhook/pending.ts'

/** What only the thread itself counts, since its start: it may come back with it. */
const unknown = { kept: null, repeated: null, forgotten: null }

/** Tells what nobody may be looking after, and gives the age of the oldest transfer. */
export function tellWork(
  work: BackOfficeWork,
  metrics: Pick<ManagementMetrics, 'projection' | 'transfers' | 'webhooks'>,
  startedMs: number,
): number {
  const { readAtMs, transfers: count, deliveries: pending, oldestEventId } = work
  const oldestEventMs = oldestEventId === '' ? null : timeOfId(oldestEventId)
  const late = figuresOf({ pending, oldestMs: oldestEventMs }, 0, readAtMs)
  metrics.webhooks({ ...late, disabled: null })
  metrics.projection({ lagMs: lagOf(work, startedMs), unreadable: 0, latestMs: 0 })
  const ageMs = readAtMs - work.transferDueMs + lookedAfterMs
  const oldestMs = count === 0 ? 0 : Math.max(0, ageMs)
  metrics.transfers({ count, oldestMs, unread: 0, ...unknown })
  return oldestMs
}

/** A store whose log nobody ever followed has no lists that could be late; where nobody can tell, it grows from the start. */
function lagOf({ progress, readAtMs }: BackOfficeWork, startedMs: number): number {
  if (progress === '') return 0
  const doneMs = unlessUnreadable(() => decodeProgress(progress))?.doneMs ?? startedMs
  return doneMs === 0 ? 0 : Math.max(0, readAtMs - doneMs)
}
