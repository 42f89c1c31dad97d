import { z } from 'zod'
import { isCurrency } from '../domain/record/currency.ts'
import { majorOf } from '../domain/record/money.ts'
import { maxSideMinor } from '../domain/record/movement.ts'
import { indexes, walletAggregate, walletEntriesPrefix } from '../engine/format/layout.ts'
import { newestFirst } from '../engine/format/newest-first.ts'
import { parseStored, RecordUnreadable, unlessUnreadable } from '../engine/format/row-codec.ts'
import { parseSummed, summedJson } from '../engine/format/summed-json.ts'
import type { IndexEntryPut, Store } from '../store/port.ts'

/** What an organization has to fund its cards with, in one currency: the root of an aggregate. */
const record = z.object({
  format: z.literal(1),
  organizationId: z.string(),
  currency: z.string().refine(isCurrency),
  /** Below zero only where a store lost a debit that was told, and others had the money meanwhile. */
  balanceMinor: z.int(),
  /** All that ever came from outside. */
  fundedMinor: z.int().min(0),
  entryCount: z.int(),
  /** Of its newest entry; entries never go back in time. */
  lastAtMs: z.int(),
})

export type Wallet = Readonly<z.output<typeof record>>

export const walletEntryTypes = [
  'TopUp',
  'Withdrawal',
  'InitialFunding',
  'Regularization',
  'WalletFunding',
] as const

const entry = z.object({
  transferId: z.string(),
  type: z.enum(walletEntryTypes),
  /** Below zero: out of the wallet. */
  amountMinor: z.int(),
  /** After it. */
  balanceMinor: z.int(),
  /** '' of what came from outside. */
  cardId: z.string(),
  reference: z.string(),
  narration: z.string(),
  atMs: z.int(),
})

/** Something that moved the money of a wallet. */
export type WalletEntry = Readonly<z.output<typeof entry>>

export function emptyWallet(organizationId: string, currency: string): Wallet {
  const sums = { balanceMinor: 0, fundedMinor: 0, entryCount: 0, lastAtMs: 0 }
  return { format: 1, organizationId, currency, ...sums }
}

export function encodeWallet(wallet: Wallet): string {
  return summedJson(wallet)
}

export function decodeWallet(text: string): Wallet {
  const found = record.safeParse(parseSummed(text))
  if (found.success) return found.data
  throw new RecordUnreadable('a wallet was written by a newer release')
}

export function decodeWalletEntry(text: string): WalletEntry {
  const found = entry.safeParse(parseStored(text))
  if (found.success) return found.data
  throw new RecordUnreadable('an entry of a wallet was written by a newer release')
}

/** null for one that cannot be read: it must not keep a list from showing the others. */
export function readableEntry(text: string): WalletEntry | null {
  return unlessUnreadable(() => decodeWalletEntry(text))
}

/**
 * A wallet whose money was moved, and the entry that says so; or why it cannot be. What was moved before and only
 * is put right (`always`) can be.
 */
export function moveWallet(
  wallet: Wallet,
  moved: Omit<WalletEntry, 'balanceMinor'>,
  always = false,
): { readonly wallet: Wallet; readonly entry: IndexEntryPut } | 'short' | 'full' {
  const balanceMinor = wallet.balanceMinor + moved.amountMinor
  const fromOutside = moved.type === 'WalletFunding' ? moved.amountMinor : 0
  const fundedMinor = wallet.fundedMinor + fromOutside
  if (!always && moved.amountMinor < 0 && balanceMinor < 0) return 'short'
  // All that ever came is no money that it has: it must only stay exact.
  const isFull = balanceMinor > maxSideMinor || !Number.isSafeInteger(fundedMinor)
  if (!always && isFull) return 'full'
  const lastAtMs = Math.max(wallet.lastAtMs, moved.atMs)
  const entryCount = wallet.entryCount + 1
  const next = { ...wallet, balanceMinor, fundedMinor, entryCount, lastAtMs }
  return { wallet: next, entry: entryPut(next, { ...moved, balanceMinor, atMs: lastAtMs }) }
}

/** Of entries of one millisecond the later comes first, too. */
function entryPut({ organizationId, currency, entryCount }: Wallet, kept: WalletEntry) {
  const prefix = walletEntriesPrefix(organizationId, currency)
  const sortKey = `${prefix}${newestFirst(kept.atMs)}\n${newestFirst(entryCount)}`
  return { index: indexes.walletEntries, sortKey, value: JSON.stringify(kept) }
}

/** In the order given; those that nothing was ever put into are empty. */
export async function readWallets(
  store: Store,
  organizationId: string,
  currencies: readonly string[],
): Promise<readonly Wallet[]> {
  const keys = currencies.map((currency) => ({
    aggregate: walletAggregate(organizationId, currency),
    group: '',
    id: '',
  }))
  const found = await store.load(keys)
  return currencies.map((currency, i) => {
    const value = found[i]?.value ?? ''
    return value === '' ? emptyWallet(organizationId, currency) : decodeWallet(value)
  })
}

/** For people and for the API, in major units. */
export function shownWallet({ currency, balanceMinor }: Wallet) {
  return { currency, balance: majorOf(balanceMinor, currency) }
}
