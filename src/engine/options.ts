import type { Clock } from '../clock.ts'
import type { answerDelivery, Step } from '../domain/decide/answer.ts'
import type { Pack } from '../domain/decide/pack.ts'
import type { Answer } from '../domain/record/event-record.ts'
import type { Store } from '../store/port.ts'
import type { Origin } from './item.ts'
import type { Damage } from './quarantine/damage.ts'
import type { SharedDesk } from './shared/desk.ts'

/** What an engine tells whoever gave it the events. */
export interface EngineTelling {
  /**
   * After the commit, and only while the gate has not spoken. `told` is given where the store could lose
   * it: the process keeps it, and gives it back with `recall` when `onLoss` asks.
   */
  readonly onAnswer: (slot: string, answer: Answer, origin: Origin, told: string | null) => void
  /** What the gate said for this slot is in the ledger. */
  readonly onBooked: (slot: string, told: string | null) => void
  /** The store lacks what it acknowledged; nothing is committed there until all that was told is recalled. */
  readonly onLoss?: () => void
  /** All that was recalled is booked again. */
  readonly onRepeated?: () => void
  readonly onCheckpoint?: (number: number) => void
  readonly onKept?: (number: number) => void
  /**
   * It cannot be decided, and the engine has let go of it, unless a command with it may still be executed.
   */
  readonly onSetAside?: (slot: string, mayStillCommit: boolean) => void
  /** Something that keeps an account, or a part of it, from being decided on was found, or is well again. */
  readonly onDamage?: (damage: Damage, healed: boolean) => void
  /** Memory approves it: should the gate have to speak, it may approve. Only with a stand-in policy. */
  readonly onStandIn?: (slot: string) => void
  /** The store stopped, or resumed, taking commits. */
  readonly onStore?: (problem: string) => void
}

function unexpected(): never {
  throw new Error('nobody delivers events here')
}

/** For an engine that only operates. */
export const noDeliveries = { onAnswer: unexpected, onBooked: unexpected }

export interface EngineOptions extends EngineTelling {
  readonly store: Store
  readonly clock: Clock
  readonly pack: Pack
  /** Makes this engine's version tokens unlike those of any other writer. */
  readonly nonce: string
  readonly cacheCards: number
  /** What memory of accounts may take, by its own estimate; without it only their number counts. */
  readonly cacheBytes?: number
  /**
   * Another engine has taken over. What it closes by a commit fails the commands that we sent before; to
   * send one that was decided on what it wrote would be to speak for slots that are no longer ours.
   */
  readonly isRetired?: () => boolean
  /** '' unless the account must not be touched; else why. */
  readonly condemned?: (aggregate: string) => string
  /** The account that is being decided on; '' when none is. */
  readonly onTouch?: (aggregate: string) => void
  /** An ask was decided for the first time, and committed. */
  readonly onDecided?: (step: Step) => void
  /** Keeps the windows over several cards; without it they are empty. */
  readonly shared?: SharedDesk
  readonly answerDelivery?: typeof answerDelivery
  readonly random?: () => number
}
