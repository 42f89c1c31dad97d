import { formatMinor } from '../domain/record/money.ts'
import type { AggregateView } from '../engine/aggregate-copy.ts'
import { decodeWallet, emptyWallet, moveWallet, shownWallet } from './wallet.ts'

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

/** What funding makes of a wallet, and what is said of it; null when the wallet would have too much. */
export function fundWallet({ root }: AggregateView, funding: Funding) {
  const { organizationId, currency, amountMinor, transferId, reference, narration, atMs } = funding
  const before = root ? decodeWallet(root) : emptyWallet(organizationId, currency)
  const type = 'WalletFunding' as const
  const entry = { transferId, type, amountMinor, cardId: '', reference, narration, atMs }
  const moved = moveWallet(before, entry)
  if (typeof moved === 'string') return null
  const { wallet } = moved
  const amount = Number(formatMinor(amountMinor, currency))
  const completedAt = new Date(atMs).toISOString()
  const data = { transferId, type, amount, currency, wallet: shownWallet(wallet), completedAt }
  const write = { root: JSON.stringify(wallet), index: [moved.entry] }
  return { data, sequence: wallet.entryCount, write }
}
