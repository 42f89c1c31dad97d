/** How a row of the transactions list calls a movement of money. */
export type MovementType =
  | 'TopUp'
  | 'Withdrawal'
  | 'TransferIn'
  | 'TransferOut'
  | 'InitialFunding'
  | 'Regularization'

/** Money of a card that came from, or went to, a wallet or another card. */
export interface Movement {
  readonly type: MovementType
  readonly transferId: string
  /** The other card of a transfer between cards; '' where the other side is a wallet. */
  readonly relatedCardId: string
  readonly clientId: string
  /** Of the call that made it. */
  readonly reference: string
  readonly narration: string
  /** It gives back what the same transfer took before, because the other side refused it. */
  readonly takesBack: boolean
}

/** What no side of a transfer may have more of, in minor units. */
export const maxSideMinor = 1_000_000_000_000_000
