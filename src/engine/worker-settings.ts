import type { SharedTime } from '../clock.ts'
import type { StorePlace } from '../store/open.ts'
import type { Marks } from '../store/port.ts'
import type { OfferedPack } from './pack-swap.ts'
import type { TouchCell } from './quarantine/touch-cell.ts'

/** What the gate gives a new engine. */
export interface WorkerSettings extends StorePlace {
  readonly eventRetentionDays: number
  readonly sandbox: boolean
  readonly logRetentionDays: number
  readonly cacheCards: number
  readonly cacheBytes: number
  readonly nonce: string
  /** The same for every engine of this process. */
  readonly instance: string
  /** What the store has acknowledged to this process. */
  readonly marks: Marks
  /** One cell; not 0 when another engine has taken over. */
  readonly retired: Int32Array<SharedArrayBuffer>
  /** What the process takes for the time. */
  readonly time: SharedTime
  /** Tells the gate what this engine is deciding on. */
  readonly touched: TouchCell
  /** What engines before this one died of. */
  readonly condemned: readonly { readonly aggregate: string; readonly leftMs: number }[]
  /** The newest that was checked, whatever the folder has now; null when it is still to come. */
  readonly pack: OfferedPack | null
  /** Puts the demo cards into an empty embedded store. */
  readonly demo: boolean
}
