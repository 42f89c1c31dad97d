export interface EngineStats {
  readonly queued: number
  readonly commits: number
  readonly commands: number
  readonly conflicts: number
  readonly loads: number
  readonly decided: number
  readonly cachedAccounts: number
  readonly cachedBytes: number
  readonly cacheHits: number
  readonly cacheMisses: number
  /** Told before a loss, and not booked again yet. */
  readonly recalled: number
  /** Booked again after failovers. */
  readonly repeated: number
  /** Accounts that cannot be decided on, whole or in part. */
  readonly damagedAccounts: number
  /** Said about them, and booked once they are repaired. */
  readonly setAside: number
}
