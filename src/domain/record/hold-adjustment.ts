import { percentOf } from './money.ts'

/**
 * A larger hold than was asked for, where the merchant will capture another amount: a fuel pump, a
 * restaurant, a hotel. It is a property of the transaction that its asks raise and only the undoing of
 * an ask lowers, and the hold is computed from it like from the other sums: so the order of events does
 * not matter, an increase does not add it twice, and whatever ends the hold ends all of it.
 *
 * Only the hold is adjusted, and with it the funds that an ask needs. What was asked for stays what
 * limits, windows and answers speak of.
 */
export interface HoldAdjustment {
  /** Held at least. */
  readonly fixedMinor: number
  /** Held more, in millionths of what is authorized. */
  readonly plusMillionths: number
  readonly plusMinor: number
}

/** The larger of each: the same whichever came first. */
export function raisedBy(
  a: HoldAdjustment | null,
  b: HoldAdjustment | null,
): HoldAdjustment | null {
  if (a === null || b === null) return a ?? b
  return {
    fixedMinor: Math.max(a.fixedMinor, b.fixedMinor),
    plusMillionths: Math.max(a.plusMillionths, b.plusMillionths),
    plusMinor: Math.max(a.plusMinor, b.plusMinor),
  }
}

/** The hold for an authorized amount: never less than it, and nothing once nothing is left. */
export function adjusted(netMinor: number, adjustment: HoldAdjustment | null): number {
  if (adjustment === null || netMinor === 0) return netMinor
  const { fixedMinor, plusMillionths, plusMinor } = adjustment
  const shareMinor = percentOf(netMinor, plusMillionths)
  return Math.max(fixedMinor, netMinor + shareMinor, netMinor + plusMinor)
}
