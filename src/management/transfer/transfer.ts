import { z } from 'zod'
import { dayMs } from '../../clock.ts'
import type { Account } from '../../domain/record/account.ts'
import type { Card } from '../../domain/record/card.ts'
import { isCurrency } from '../../domain/record/currency.ts'
import type { Movement, MovementType } from '../../domain/record/movement.ts'
import { accountCodec, cardCodec } from '../../engine/format/codec.ts'
import {
  accountAggregate,
  indexes,
  timeSortKey,
  walletAggregate,
} from '../../engine/format/layout.ts'
import { parseStored, RecordUnreadable } from '../../engine/format/row-codec.ts'
import { parseSummed, summedJson } from '../../engine/format/summed-json.ts'
import type { ChildKey, ChildPut, IndexKey } from '../../store/port.ts'
import { idMadeFrom, timeOfId } from '../id.ts'

/** Transfers between two aggregates; what comes from outside has one, and is none. */
export const transferTypes = [
  'TopUp',
  'Withdrawal',
  'CardToCard',
  'InitialFunding',
  'Regularization',
] as const

type TransferType = (typeof transferTypes)[number]

const side = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('wallet'), organizationId: z.string(), currency: z.string() }),
  z.object({ kind: z.literal('card'), accountId: z.string(), cardId: z.string() }),
])

/** Where money is taken from or brought to. */
export type Side = Readonly<z.output<typeof side>>

const put = z.object({ group: z.string(), id: z.string(), value: z.string() })

const opening = z.object({
  /** null: the card joins an account that is there. */
  account: z.string().nullable(),
  card: z.string(),
  put: z.array(put),
  /** A card of the same account that ends with it; '' for none. */
  terminates: z.string(),
})

const record = z.object({
  format: z.literal(1),
  id: z.string(),
  hash: z.string(),
  path: z.string(),
  type: z.enum(transferTypes),
  amountMinor: z.int().min(0),
  currency: z.string().refine(isCurrency),
  from: side,
  to: side,
  clientId: z.string(),
  reference: z.string(),
  seenAtMs: z.int(),
  narration: z.string(),
  opening: opening.nullable(),
  /** What the source has after it, as it is shown. */
  fromAfter: z.unknown(),
  /** Of the answer, where it is not that of a transfer. */
  data: z.record(z.string(), z.unknown()).nullable(),
  /** It had arrived before the store lost it: its destination takes it whatever the checks say now. */
  mustArrive: z.literal(true).optional(),
})

type TransferRow = z.output<typeof record>

/** A card to issue, with its account where that is new; what else is kept of it lies under the account. */
interface Opening {
  readonly account: Account | null
  readonly card: Card
  readonly put: ChildPut[]
  readonly terminates: string
}

/** Money on its way, as its source keeps it until it has arrived or is back. */
export interface Transfer extends Readonly<Omit<TransferRow, 'format' | 'opening'>> {
  readonly opening: Opening | null
}

/**
 * Moves in the place of one that was told as done, lost, and then refused: a verdict never changes, so what is to
 * move after all needs an id of its own, the same for every server that makes it.
 */
export function successorOf(lost: Transfer): Transfer {
  return { ...lost, id: idMadeFrom('trf', timeOfId(lost.id), [lost.id]), mustArrive: true }
}

export function encodeTransfer(transfer: Transfer): string {
  const { opening: given } = transfer
  const opened = given && {
    account: given.account && accountCodec.encode(given.account),
    card: cardCodec.encode(given.card),
    put: given.put,
    terminates: given.terminates,
  }
  return summedJson({ format: 1, ...transfer, opening: opened } satisfies TransferRow)
}

export function decodeTransfer(text: string): Transfer {
  const found = record.safeParse(parseSummed(text))
  if (!found.success) throw new RecordUnreadable('a transfer was written by a newer release')
  const { format: _, opening: kept, ...rest } = found.data
  const opened = kept && {
    ...kept,
    account: kept.account === null ? null : accountCodec.decode(kept.account),
    card: cardCodec.decode(kept.card),
  }
  return { ...rest, opening: opened }
}

/** Whether a record on its way is of this transfer; the rest of it is not read. */
export function isRecordOf(text: string, id: string): boolean {
  if (text.startsWith(`{"format":1,"id":"${id}"`)) return true
  const record = parseStored(text) as { readonly id?: unknown }
  if (typeof record.id === 'string') return record.id === id
  throw new RecordUnreadable('a transfer was written by a newer release')
}

export function aggregateOfSide(at: Side): string {
  if (at.kind === 'card') return accountAggregate(at.accountId)
  return walletAggregate(at.organizationId, at.currency)
}

/** Why a destination refuses what was on its way to it. */
const destinationRefusals = [
  'amountTooLarge',
  'cardClosed',
  'cardNotActive',
  'changedMeanwhile',
] as const

export interface DestinationRefusal {
  readonly condition: (typeof destinationRefusals)[number]
  readonly detail: string
}

/** The last word of a destination, kept there longer than any command can be on its way. */
export type TransferVerdict =
  | {
      readonly state: 'credited'
      readonly toAfter: unknown
      /** What the source had left, for whoever tells of the transfer at its destination. */
      readonly fromAfter?: unknown
    }
  | { readonly state: 'refused'; readonly refusal: DestinationRefusal }

const verdict = z.discriminatedUnion('state', [
  z.object({
    state: z.literal('credited'),
    toAfter: z.unknown(),
    fromAfter: z.unknown().optional(),
  }),
  z.object({
    state: z.literal('refused'),
    refusal: z.object({ condition: z.enum(destinationRefusals), detail: z.string() }),
  }),
])

export function decodeVerdict(text: string): TransferVerdict {
  const found = verdict.safeParse(parseStored(text))
  if (found.success) return found.data
  throw new RecordUnreadable('a verdict on a transfer was written by a newer release')
}

/** Where verdicts are at a destination, a source has this of what it gave after a loss. */
export const givenWord = '{"state":"given"}'

/** For whoever looks through a whole store, and so meets both. */
export function decodeInbox(text: string): TransferVerdict | { readonly state: 'given' } {
  return text === givenWord ? { state: 'given' } : decodeVerdict(text)
}

const inboxDays = 45
/** After this nothing is credited: the inbox entry must outlive every command. */
const creditableMs = 30 * dayMs

/** Where a destination keeps its verdict. */
export function inboxPlace({ id, seenAtMs }: Pick<Transfer, 'id' | 'seenAtMs'>): ChildKey {
  return { group: `i@${Math.floor(seenAtMs / dayMs) + inboxDays}`, id }
}

/**
 * Where the verdict on a transfer may lie, as far as its id tells: it is made when the transfer is asked for, by a clock
 * that may be a little off.
 */
export function likelyInboxPlaces(id: string): ChildKey[] {
  const askedAtMs = timeOfId(id) || 0
  return [askedAtMs - dayMs / 2, askedAtMs + dayMs / 2].map((seenAtMs) =>
    inboxPlace({ id, seenAtMs }),
  )
}

export function isCreditable({ seenAtMs }: Transfer, nowMs: number): boolean {
  return nowMs - seenAtMs <= creditableMs
}

/** When others begin to look after a transfer whose own request may be gone. */
export const lookedAfterMs = 15_000

export function movingEntry({ from, clientId, reference, seenAtMs }: Transfer): IndexKey {
  const aggregate = aggregateOfSide(from)
  const sortKey = timeSortKey(seenAtMs + lookedAfterMs, aggregate, clientId, reference)
  return { index: indexes.moving, sortKey }
}

/** What a transfer is to the card on one of its sides. */
export function movementOf(transfer: Transfer, at: Side, takesBack: boolean): Movement {
  const { id, type, clientId, reference, narration, from, to } = transfer
  const isSource = at === from
  const other = isSource ? to : from
  const named: Record<TransferType, MovementType> = {
    TopUp: 'TopUp',
    Withdrawal: 'Withdrawal',
    CardToCard: isSource ? 'TransferOut' : 'TransferIn',
    InitialFunding: 'InitialFunding',
    Regularization: 'Regularization',
  }
  const relatedCardId = other.kind === 'card' ? other.cardId : ''
  const movement = { type: named[type], transferId: id, relatedCardId, clientId, reference }
  return { ...movement, narration, takesBack }
}
