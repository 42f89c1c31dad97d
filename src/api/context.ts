import type { Clock } from '../clock.ts'
import type { Aggregates } from '../engine/aggregates.ts'
import type { Engine } from '../engine/engine.ts'
import type { CardNumbers } from '../management/number/choice.ts'
import type { NumberSource } from '../management/number/source.ts'
import type { SecretBox } from '../management/secret-box.ts'
import type { ProfileSource } from '../profile/profile.ts'
import type { Store } from '../store/port.ts'
import type { RelayAuthentication } from '../wire/authentication.ts'
import type { Effects } from './effects.ts'
import type { TransferDesk } from './money/transfer-desk.ts'
import type { KycSettings, Outside } from './outside/outside.ts'
import type { ListDesk } from './route/list.ts'

/** What the management API is served with. */
export interface ApiSettings {
  readonly host: string
  readonly port: number
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null
  readonly publicUrls: readonly string[]
  /** The first seals and signs, the others only open and read. */
  readonly keys: readonly Uint8Array[]
  readonly tokenSeconds: number
  readonly ratePerSecond: number
  readonly getReferences: 'enforce' | 'ignore'
  readonly transactionRetentionDays: number
  readonly sandbox: boolean
  readonly cardNumbers: CardNumbers
  /** Private networks that webhooks may reach. */
  readonly webhookNetworks: readonly string[]
  readonly webhookRetentionDays: number
  /** Through which others are called; '' when there is none. */
  readonly outgoingProxy: string
  readonly kyc: KycSettings
  /** Where a sandbox sends card events to; null where it cannot. */
  readonly relay: RelayTarget | null
  /** Of this program, for the OpenAPI document. */
  readonly version: string
}

/** The relay port of the same server, and what its relay proves itself with. */
export interface RelayTarget {
  readonly host: string
  /** Shared with the thread that listens there; 0 until it does. */
  readonly port: Int32Array<SharedArrayBuffer>
  readonly authentication: RelayAuthentication
  /** What it speaks; null for our own. */
  readonly profile: ProfileSource | null
}

/** What routes are made with. */
export interface ApiContext {
  readonly store: Store
  /** Changes accounts: the same as a server's, on the same store, without events. */
  readonly engine: Engine
  /** Changes everything else. */
  readonly aggregates: Aggregates
  /** How every call that does not only read has its effect. */
  readonly effects: Effects
  /** How money is moved, and how cards are issued. */
  readonly transfers: TransferDesk
  readonly box: SecretBox
  /** Answers the calls of lists. */
  readonly lists: ListDesk
  readonly numbers: NumberSource
  /** Webhooks and verifications. */
  readonly outside: Outside
  readonly clock: Clock
  readonly settings: Pick<ApiSettings, 'sandbox' | 'relay'>
}
