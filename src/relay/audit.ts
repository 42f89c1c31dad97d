import { openAuthorized, type Transaction } from '../domain/transaction.ts'
import { type BelievedTransaction, believedMoney, type Meaning } from './belief.ts'

export const differenceKinds = [
  'phantom hold',
  'missing hold',
  'wrong amount',
  'lost advice',
  'over-hold',
] as const

export interface AuditDifference {
  readonly kind: (typeof differenceKinds)[number]
  readonly cardId: string
  readonly transactionId: string
  readonly what: string
  readonly believedMinor: number
  readonly foundMinor: number
}

export interface Audit {
  readonly transactions: number
  readonly events: number
  /** Everything that differs, but for the over-hold that is named below. */
  readonly differences: readonly AuditDifference[]
  /** Held for an ask whose answer never came: named by the design, ends by reversal or expiry. */
  readonly overHolds: readonly AuditDifference[]
}

/** Finds a transaction in Arbiter's ledger; null when there is none. */
export type FindTransaction = (cardId: string, transactionId: string) => Promise<Transaction | null>

/** What the network believes against the ledger, transaction by transaction. */
export async function audit(
  believed: readonly BelievedTransaction[],
  meaning: Meaning,
  find: FindTransaction,
): Promise<Audit> {
  const all: AuditDifference[] = []
  let events = 0
  for (const transaction of believed) {
    events += transaction.told.length
    const found = await find(transaction.cardId, transaction.transactionId)
    all.push(...compare(transaction, meaning, found))
  }
  const differences = all.filter(({ kind }) => kind !== 'over-hold')
  const overHolds = all.filter(({ kind }) => kind === 'over-hold')
  return { transactions: believed.length, events, differences, overHolds }
}

function compare(
  transaction: BelievedTransaction,
  meaning: Meaning,
  found: Transaction | null,
): AuditDifference[] {
  const { cardId, transactionId } = transaction
  const believed = believedMoney(transaction, meaning)
  const differences: AuditDifference[] = []
  const differ = (
    kind: AuditDifference['kind'],
    what: string,
    believedMinor: number,
    foundMinor: number,
  ) => differences.push({ kind, cardId, transactionId, what, believedMinor, foundMinor })

  const heldMinor = found === null ? 0 : openAuthorized(found)
  const excess = heldMinor - believed.heldMinor
  if (excess < 0) differ('missing hold', 'held', believed.heldMinor, heldMinor)
  else if (excess > 0 && excess <= believed.uncertainMinor) {
    differ('over-hold', 'held', believed.heldMinor, heldMinor)
  } else if (excess > 0) differ('phantom hold', 'held', believed.heldMinor, heldMinor)
  const posted = [
    ['settled', believed.settledMinor, found?.settledMinor ?? 0],
    ['refunded', believed.refundedMinor, found?.refundedMinor ?? 0],
  ] as const
  for (const [what, believedMinor, foundMinor] of posted) {
    if (believedMinor === foundMinor) continue
    differ(
      foundMinor < believedMinor ? 'lost advice' : 'wrong amount',
      what,
      believedMinor,
      foundMinor,
    )
  }
  return differences
}
