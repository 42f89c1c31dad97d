import type { Remembers } from './ask-memory.ts'

/** Something that rules look at and that begins empty: a window, or what cards remember for a fact. */
export interface PackMemory {
  /** The same in every pack that keeps the same. */
  readonly key: string
  /** The window's name, where cards or accounts keep it; '' where not. */
  readonly window: string
  /** What cards remember; '' for a window. */
  readonly remembered: keyof Remembers | ''
  /** How long it must have been kept until it is as if it always had been. */
  readonly fullAfterMs: number
  /** Enforced rules that may match because it is empty: they only record until it is full. */
  readonly ruleIds: readonly string[]
  /**
   * Enforced rules whose declines a rule on it may allow: those that are new only record until the log has told it; absent
   * for none.
   */
  readonly excepted?: readonly Excepted[]
}

export interface Excepted {
  readonly id: string
  /** From then on what allows it has expired; absent where that does not. */
  readonly endsMs?: number
}
