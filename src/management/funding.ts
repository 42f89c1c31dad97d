import { majorOf } from '../domain/record/money.ts'
import type { AggregateView, AggregateWrite } from '../engine/aggregate-copy.ts'
import { decodeWallet, emptyWallet, encodeWallet, moveWallet, shownWallet } from './wallet.ts'

/** Money that the business has brought from elsewhere. */
export interface Funding {
  readonly organizationId: string
  readonly currency: string
  readonly amountMinor: number
  readonly transferId: string
  readonly reference: string
  readonly narration: string
  readonly atMs: number
}

/** Makes what is told of a funding, to be written beside it; null when nobody wants to hear of it. */
type TellFunding<E> = (told: {
  readonly transferId: string
  /** How many entries the wallet has by then. */
  readonly sequence: number
  readonly atMs: number
  readonly data: object
}) => { readonly event: E; readonly write: AggregateWrite } | null

/** Funding as one commit: the sums, the entry and what is told of it. null when the wallet would have too much. */
export function fundWallet<E = never>(
  { root }: AggregateView,
  funding: Funding,
  tell: TellFunding<E> = () => null,
) {
  const { organizationId, currency, amountMinor, transferId, reference, narration, atMs } = funding
  const before = root ? decodeWallet(root) : emptyWallet(organizationId, currency)
  const type = 'WalletFunding' as const
  const entry = { transferId, type, amountMinor, cardId: '', reference, narration, atMs }
  const moved = moveWallet(before, entry)
  if (typeof moved === 'string') return null
  const { wallet } = moved
  const amount = majorOf(amountMinor, currency)
  const completedAt = new Date(atMs).toISOString()
  const data = { transferId, type, amount, currency, wallet: shownWallet(wallet), completedAt }
  const beside = tell({ transferId, sequence: wallet.entryCount, atMs, data })
  const { put = [], index = [] } = beside?.write ?? {}
  const write = { root: encodeWallet(wallet), put, index: [moved.entry, ...index] }
  return { data, told: beside?.event ?? null, write }
}
