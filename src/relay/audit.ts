import { requestTypes } from '../domain/record/event.ts'
import { openAuthorized, type Transaction } from '../domain/record/transaction.ts'
import {
  type AmountMeaning,
  type BelievedMoney,
  type BelievedTransaction,
  believedMoney,
  possibleMoney,
} from './belief.ts'

/** Differences that no unanswered delivery explains. */
const differenceKinds = ['phantom hold', 'missing hold', 'wrong amount', 'lost advice'] as const

/**
 * A server that died before it answered may have an event or not, and cannot know which. Over-hold: it
 * holds what the network declined by itself. Unheard ask: the network approved by itself what the server
 * never saw. Unanswered advice: it was never acknowledged, and is booked all the same. Unmatched advice:
 * it was acknowledged, could not be booked, and is kept for a person.
 */
const excusedKinds = ['over-hold', 'unheard ask', 'unanswered advice', 'unmatched advice'] as const

export interface AuditDifference {
  readonly kind: (typeof differenceKinds)[number] | (typeof excusedKinds)[number]
  readonly cardId: string
  readonly transactionId: string
  readonly what: 'held' | 'settled' | 'refunded'
  readonly believedMinor: number
  readonly foundMinor: number
}

export interface Audit {
  readonly transactions: number
  readonly events: number
  /** In the order of their cards. */
  readonly differences: readonly AuditDifference[]
  readonly excused: readonly AuditDifference[]
}

/** Finds a transaction in Arbiter's ledger; null when there is none. */
export type FindTransaction = (cardId: string, transactionId: string) => Promise<Transaction | null>

/** Whether an advice waits for a person instead of being booked. */
export type IsUnmatched = (cardId: string, eventId: string) => Promise<boolean>

/** Compares what the network believes with the ledger, transaction by transaction. */
export async function audit(
  believed: readonly BelievedTransaction[],
  meaning: AmountMeaning,
  find: FindTransaction,
  isUnmatched: IsUnmatched = async () => false,
): Promise<Audit> {
  const all: AuditDifference[] = []
  let events = 0
  for (const transaction of believed) {
    events += transaction.told.length
    const found = await find(transaction.cardId, transaction.transactionId)
    const differences = compare(transaction, meaning, found)
    if (differences.length === 0) continue
    const told = await withoutUnmatched(transaction, isUnmatched)
    const rest = compare({ ...transaction, told }, meaning, found)
    const explained = told.length < transaction.told.length && rest.length === 0
    const kind = 'unmatched advice' as const
    all.push(...differences.map((one) => (explained ? { ...one, kind } : one)))
  }
  all.sort((a, b) => a.cardId.localeCompare(b.cardId))
  const isExcused = ({ kind }: AuditDifference) => excusedKinds.some((one) => one === kind)
  return {
    transactions: believed.length,
    events,
    differences: all.filter((one) => !isExcused(one)),
    excused: all.filter(isExcused),
  }
}

async function withoutUnmatched(
  { cardId, told }: BelievedTransaction,
  isUnmatched: IsUnmatched,
): Promise<BelievedTransaction['told']> {
  const unmatched = await Promise.all(
    told.map(({ eventId, requestType, accepted }) =>
      accepted && requestTypes[requestType] === 'advice' ? isUnmatched(cardId, eventId) : false,
    ),
  )
  return told.filter((_, i) => !unmatched[i])
}

type Compared = Pick<BelievedMoney, AmountName>
type AmountName = 'heldMinor' | 'settledMinor' | 'refundedMinor'

const amounts = [
  ['held', 'heldMinor'],
  ['settled', 'settledMinor'],
  ['refunded', 'refundedMinor'],
] as const satisfies readonly (readonly [AuditDifference['what'], AmountName])[]

function compare(
  { cardId, transactionId, told }: BelievedTransaction,
  meaning: AmountMeaning,
  found: Transaction | null,
): AuditDifference[] {
  const believed = believedMoney(told, meaning)
  const ledger: Compared = {
    heldMinor: found === null ? 0 : openAuthorized(found),
    settledMinor: found?.settledMinor ?? 0,
    refundedMinor: found?.refundedMinor ?? 0,
  }
  // An unanswered ask is an excuse only when it explains all amounts at once, to the minor unit.
  const excused = possibleMoney(told, meaning).some((possible) => agrees(possible, ledger))
  return amounts.flatMap(([what, name]) => {
    const [believedMinor, foundMinor] = [believed[name], ledger[name]]
    if (believedMinor === foundMinor) return []
    const kind = (excused ? excuseOf : kindOf)(what, believedMinor, foundMinor)
    return [{ kind, cardId, transactionId, what, believedMinor, foundMinor }]
  })
}

function agrees(one: Compared, other: Compared): boolean {
  return amounts.every(([, name]) => one[name] === other[name])
}

function kindOf(
  what: AuditDifference['what'],
  believedMinor: number,
  foundMinor: number,
): AuditDifference['kind'] {
  if (what !== 'held') return foundMinor < believedMinor ? 'lost advice' : 'wrong amount'
  if (believedMinor === 0) return 'phantom hold'
  return foundMinor === 0 ? 'missing hold' : 'wrong amount'
}

function excuseOf(
  what: AuditDifference['what'],
  believedMinor: number,
  foundMinor: number,
): AuditDifference['kind'] {
  if (what !== 'held') return 'unanswered advice'
  return foundMinor > believedMinor ? 'over-hold' : 'unheard ask'
}
