import type { Worklist } from '../domain/change/change.ts'
import type { BackOfficeWork } from './notice/back-office-watch.ts'
import type { SeedingFigures } from './notice/memory-desk.ts'

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

export interface EngineFigures extends EngineStats, SeedingFigures {
  readonly loopLagMs: number
  readonly heapUsedBytes: number
  /** Emergency blocks that count now. */
  readonly blocks: number
  /** Other instances that decide by another pack. */
  readonly rulesSkew: number
  /** Merchants, customers and so on that windows over several cards keep in memory. */
  readonly sharedKeys: number
  /** Rules that their breakers have put into shadow. */
  readonly trippedRules: readonly string[]
  /** What waits for people, of all instances; counted up to a bound. */
  readonly waiting: Readonly<Record<Worklist, number>>
  /** null before it was read first. */
  readonly backOffice: BackOfficeWork | null
  /** Records of no account that cannot be read. */
  readonly damagedRecords: readonly string[]
  /** The first records that keep accounts from being decided on. */
  readonly damage: readonly string[]
}
