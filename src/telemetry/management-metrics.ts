import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { AnsweredCall } from '../api/server.ts'
import type { ProjectionFigures } from '../projection/projector.ts'
import { createGauges, type GaugeRow } from './gauge-table.ts'

/** null: as it was; who tells of it instead of a thread that hangs does not know it. */
type Told = number | null

interface TransferFigures {
  readonly count: number
  readonly oldestMs: number
  readonly unread: number
  readonly kept: Told
  readonly repeated: Told
  readonly forgotten: Told
}

interface WebhookFigures {
  readonly pending: number
  readonly oldestSeconds: number
  readonly disabled: Told
}

/** Of the management API, and of what it leaves behind. */
export interface ManagementMetrics {
  /** Calls at work. */
  processing(count: number): void
  apiCall(call: Pick<AnsweredCall, 'operation' | 'status' | 'code' | 'ms'>): void
  projection(figures: ProjectionFigures): void
  /** Of all instances. */
  transfers(figures: TransferFigures): void
  webhooks(figures: WebhookFigures): void
}

export function createManagementMetrics(registers: Registry[]): ManagementMetrics {
  return {
    ...createApiMetrics(registers),
    projection: createGauges(registers, projectionGauges),
    transfers: createGauges(registers, transferGauges),
    webhooks: createGauges(registers, webhookGauges),
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

const projectionGauges: readonly GaugeRow<ProjectionFigures>[] = [
  [
    'arbiter_projection_lag_seconds',
    'Age of the state of the decision log that the transactions list shows; 0 before it is known',
    ({ lagMs }) => lagMs / 1000,
  ],
  [
    'arbiter_projection_latest_seconds',
    'How long after it was dated the latest log entry appeared; the lists wait for 10 seconds',
    ({ latestMs }) => latestMs / 1000,
  ],
  [
    'arbiter_projection_unreadable',
    'Log entries that the transactions list passed over because they cannot be read',
    ({ unreadable }) => unreadable,
  ],
]

const transferGauges: readonly GaugeRow<TransferFigures>[] = [
  [
    'arbiter_transfers_open',
    'Transfers of all instances that are on their way, at least; 10000 is 10000 or more, 1000 without API_PORT',
    ({ count }) => count,
  ],
  [
    'arbiter_transfers_oldest_seconds',
    'Age of the oldest among them; 0 when none is on its way',
    ({ oldestMs }) => oldestMs / 1000,
  ],
  [
    'arbiter_transfers_unread_partitions',
    'Parts of the store that did not answer when open transfers were counted last',
    ({ unread }) => unread,
  ],
  [
    'arbiter_transfers_kept',
    'Transfers that this process keeps in memory in case the store loses them',
    ({ kept }) => kept,
  ],
  [
    'arbiter_transfers_repeated',
    'Transfers that were driven again after the store had lost something, since the start',
    ({ repeated }) => repeated,
  ],
  [
    'arbiter_transfers_forgotten',
    'Transfers that were let go before the store was known to keep them, since the start',
    ({ forgotten }) => forgotten,
  ],
]

const webhookGauges: readonly GaugeRow<WebhookFigures>[] = [
  [
    'arbiter_webhooks_pending',
    'Deliveries of webhooks of all instances that wait; 10000 is 10000 or more, 1000 without API_PORT',
    ({ pending }) => pending,
  ],
  [
    'arbiter_webhooks_oldest_seconds',
    'Age of the oldest event among them; 0 when nothing waits',
    ({ oldestSeconds }) => oldestSeconds,
  ],
  [
    'arbiter_webhooks_disabled',
    'Webhooks that this process has disabled because they answered 410, or failed for five days',
    ({ disabled }) => disabled,
  ],
]
