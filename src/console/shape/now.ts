/** What the console tells its pages. Only types: browsers have no part of this file. */

export type Role = 'viewer' | 'operator'

export interface WhoAmI {
  readonly name: string
  readonly role: Role
  /** False on loopback without users: there is nothing to log out of. */
  readonly loggedIn: boolean
  readonly version: string
  readonly budgetMs: number
  readonly contractMs: number
}

/** One second of answers. */
export interface Second {
  readonly atMs: number
  readonly approved: number
  readonly declined: number
  readonly acknowledged: number
  readonly defaults: Readonly<Record<string, number>>
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
  readonly maxMs: number
  /** Means of those that the engine answered. */
  readonly arrivalMs: number
  readonly queueMs: number
  readonly decideMs: number
  readonly commitMs: number
}

export interface Gauges {
  readonly slotsOpen: number
  readonly queued: number
  readonly unbooked: number
  readonly unheard: number
  readonly journalBytes: number
  readonly journalInPlace: boolean
  readonly storeAvailable: boolean
  readonly engineRunning: boolean
  readonly engineRestarts: number
  readonly blocks: number
  readonly trippedRules: number
  readonly unmatched: number
  readonly anomalies: number
  readonly connections: number
  readonly conflicts: number
  readonly cachedAccounts: number
  readonly loopLagMs: number
}

export interface Health {
  readonly status: 'ready' | 'degraded' | 'starting' | 'stopping'
  /** What is wrong, in one sentence; '' when nothing is. */
  readonly sentence: string
  /** The entry of the runbook, and its text as far as it is installed. */
  readonly entry: string
  readonly advice: string
}

interface ShownInstance {
  readonly name: string
  readonly rulesVersion: string
  readonly release: string
  readonly heardAtMs: number
  readonly self: boolean
}

/** What is under way besides decisions. */
export interface BackOfficeShown {
  readonly webhooks: number
  /** When the oldest happened; null when none waits. */
  readonly oldestWebhookMs: number | null
  readonly transfers: number
  readonly oldestTransferMs: number | null
  readonly kycs: number
}

/** The last minute as a whole. */
export interface Minute {
  readonly answers: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
  readonly maxMs: number
  /** Of all answers, those within the contract limit; null when there were none. */
  readonly inTime: number | null
}

export interface NowShown {
  readonly second: Second
  readonly minute: Minute
  readonly gauges: Gauges
  readonly health: Health
  readonly rulesVersion: string
  readonly instances: readonly ShownInstance[]
  /** Null until it was looked at. */
  readonly backOffice: BackOfficeShown | null
}

export interface NowHistory {
  readonly seconds: readonly Second[]
  readonly now: NowShown | null
}
