import type { Pack } from '../../domain/decide/pack.ts'
import { createPackSwap, type OfferedPack } from '../../engine/pack-swap.ts'

/** The pack that decisions are made by: time zone, charges and retention are the same for the management API. */
export interface FollowedPack {
  /** Resolves when there is one. */
  readonly first: Promise<Pack>
  /** Of the one in use; '' before the first. */
  readonly rulesVersion: string
  /** Of the last that was taken, or could not be. */
  readonly packNumber: number
  /** The same may come twice, and one that is older than another late. */
  setPack(offered: OfferedPack): void
  /** Tells the newest, and each that comes after it. */
  follow(next: (pack: Pack) => void): void
}

export function createFollowedPack(
  monoMs: () => number,
  /** A pack is in use, or cannot be used and why. */
  onPack: (problem: string) => void,
): FollowedPack {
  let use: (pack: Pack) => void = () => {}
  let newest: Pack | null = null
  let offeredNumber = 0
  let packNumber = 0
  const first = new Promise<Pack>((resolve) => {
    use = resolve
  })
  const swap = createPackSwap({
    monoMs,
    onPack(pack, number) {
      newest = pack
      packNumber = number
      use(pack)
      onPack('')
    },
    onFailed({ message }, number) {
      packNumber = number
      onPack(`the management API cannot use the pack: ${message}`)
    },
  })
  return {
    first,
    get rulesVersion() {
      return newest?.version ?? ''
    },
    get packNumber() {
      return packNumber
    },
    setPack(offered) {
      if (offered.number > offeredNumber) swap(offered)
      offeredNumber = Math.max(offeredNumber, offered.number)
    },
    follow(next) {
      use = next
      if (newest !== null) next(newest)
    },
  }
}
