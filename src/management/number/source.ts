/** A card that gets its number. */
interface NewNumber {
  readonly cardId: string
  readonly customerId: string
  readonly type: string
  readonly currency: string
  readonly expiry: string
  readonly nameOnCard: string
}

/** What is shown of a number. */
export interface MadeNumber {
  /** The first six and the last four digits; '' where there is no number. */
  readonly maskedPan: string
  /** The last month it is good for, as '2029-11'. */
  readonly expiry: string
  /** The number, encrypted, where it is kept here: with the card, by the commit that opens it. */
  readonly sealed?: string
}

export interface FullNumber {
  readonly pan: string
  readonly cvv: string
}

export type NumberFault = 'failed' | 'timedOut'

/** Where the numbers of cards come from. */
export interface NumberSource {
  /** Safe to repeat until the card is there, which then has the number of the last time. */
  make(card: NewNumber): Promise<MadeNumber | NumberFault>
  /** 'none' when no number of this card is kept. */
  read(cardId: string): Promise<FullNumber | NumberFault | 'none'>
}

/** Cards without numbers: somebody else issues these, and their masks are imported. */
export const noNumbers: NumberSource = {
  make: async ({ expiry }) => ({ maskedPan: '', expiry }),
  read: async () => 'none',
}

export const maskPattern = /^\d{6}\*{3,9}\d{4}$/
