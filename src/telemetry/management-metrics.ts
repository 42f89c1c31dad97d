import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { AnsweredCall } from '../api/server.ts'
import type { ProjectionFigures } from '../projection/projector.ts'

interface TransferFigures {
  readonly count: number
  readonly oldestMs: number
  readonly unread: number
  readonly kept: number
  readonly repeated: number
  readonly forgotten: number
}

/** Of the management API, and of what it leaves behind. */
export interface ManagementMetrics {
  /** Calls at work. */
  processing(count: number): void
  apiCall(call: Pick<AnsweredCall, 'operation' | 'status' | 'code' | 'ms'>): void
  projection(figures: ProjectionFigures): void
  /** Of all instances. */
  transfers(figures: TransferFigures): void
}

export function createManagementMetrics(registers: Registry[]): ManagementMetrics {
  return {
    ...createApiMetrics(registers),
    projection: createProjectionMetrics(registers),
    transfers: createTransferMetrics(registers),
  }
}

function createApiMetrics(
  registers: Registry[],
): Pick<ManagementMetrics, 'processing' | 'apiCall'> {
  const apiCalls = new Counter({
    name: 'arbiter_api_requests_total',
    help: 'Calls of the management API, by operation, HTTP status and response code',
    labelNames: ['operation', 'status', 'code'],
    registers,
  })
  const apiSeconds = new Histogram({
    name: 'arbiter_api_seconds',
    help: 'Time from the head of a call of the management API to its answer',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  })
  const processing = new Gauge({
    name: 'arbiter_requests_processing',
    help: 'Calls of the management API that are at work on this instance; 256 is the most',
    registers,
  })
  return {
    processing: (count) => processing.set(count),
    apiCall({ operation, status, code, ms }) {
      apiCalls.inc({ operation, status: String(status), code })
      apiSeconds.observe(ms / 1000)
    },
  }
}

function createProjectionMetrics(registers: Registry[]): ManagementMetrics['projection'] {
  const projectionLag = new Gauge({
    name: 'arbiter_projection_lag_seconds',
    help: 'Age of the state of the decision log that the transactions list shows; 0 before it is known',
    registers,
  })
  const projectionLatest = new Gauge({
    name: 'arbiter_projection_latest_seconds',
    help: 'How long after it was dated the latest log entry appeared; the lists wait for 10 seconds',
    registers,
  })
  const projectionUnreadable = new Gauge({
    name: 'arbiter_projection_unreadable',
    help: 'Log entries that the transactions list passed over because they cannot be read',
    registers,
  })
  return ({ lagMs, unreadable, latestMs }) => {
    projectionLag.set(lagMs / 1000)
    projectionLatest.set(latestMs / 1000)
    projectionUnreadable.set(unreadable)
  }
}

function createTransferMetrics(registers: Registry[]): ManagementMetrics['transfers'] {
  const transfersOpen = new Gauge({
    name: 'arbiter_transfers_open',
    help: 'Transfers of all instances that are on their way, at least; 10000 is 10000 or more',
    registers,
  })
  const transfersOldest = new Gauge({
    name: 'arbiter_transfers_oldest_seconds',
    help: 'Age of the oldest among them; 0 when none is on its way',
    registers,
  })
  const transfersUnread = new Gauge({
    name: 'arbiter_transfers_unread_partitions',
    help: 'Parts of the store that did not answer when open transfers were counted last',
    registers,
  })
  const transfersKept = new Gauge({
    name: 'arbiter_transfers_kept',
    help: 'Transfers that this process keeps in memory in case the store loses them',
    registers,
  })
  const transfersRepeated = new Gauge({
    name: 'arbiter_transfers_repeated',
    help: 'Transfers that were driven again after the store had lost something, since the start',
    registers,
  })
  const transfersForgotten = new Gauge({
    name: 'arbiter_transfers_forgotten',
    help: 'Transfers that were let go before the store was known to keep them, since the start',
    registers,
  })
  return ({ count, oldestMs, unread, kept, repeated, forgotten }) => {
    transfersOpen.set(count)
    transfersOldest.set(oldestMs / 1000)
    transfersUnread.set(unread)
    transfersKept.set(kept)
    transfersRepeated.set(repeated)
    transfersForgotten.set(forgotten)
  }
}
