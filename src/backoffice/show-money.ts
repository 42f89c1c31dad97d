import {
  accountAggregate,
  indexes,
  walletAggregate,
  walletEntriesPrefix,
} from '../engine/format/layout.ts'
import { newestFirst } from '../engine/format/newest-first.ts'
import { entryIn } from '../engine/log-reading.ts'
import { timeOfId } from '../management/id.ts'
import { readOrganization, readOrganizations } from '../management/organization.ts'
import { openTransfers } from '../management/transfer/open-transfer.ts'
import {
  decodeVerdict,
  likelyInboxPlaces,
  type TransferVerdict,
} from '../management/transfer/transfer.ts'
import { readableEntry, readWallets, type WalletEntry } from '../management/wallet.ts'
import type { Store } from '../store/port.ts'
import { type Filter, searchBack } from './log-search.ts'
import { accountIdOf, readAccount, type Shown } from './show.ts'

const entriesShown = 10

/** A wallet with the newest of what moved its money. */
export async function showWallet(
  store: Store,
  organizationId: string,
  currency: string,
): Promise<Shown> {
  const organization = await readOrganization(store, organizationId)
  if (!organization?.currencies.includes(currency)) return null
  const [wallet] = await readWallets(store, organizationId, [currency])
  const prefix = walletEntriesPrefix(organizationId, currency)
  const found = await store.range(indexes.walletEntries, prefix, entriesShown)
  const own = found.filter(({ sortKey }) => sortKey.startsWith(prefix))
  const newest = own.flatMap(({ value }) => readableEntry(value) ?? [])
  const broken = own.length - newest.length
  const said = broken === 0 ? {} : { unreadable: `${broken} of the newest: see arbiter damaged` }
  return { ...wallet, newest, ...said }
}

/** One change of a card's or a wallet's money by a transfer. */
interface Part {
  readonly at: string
  readonly type: string
  readonly amountMinor: number
  readonly isBack: boolean
  readonly reference: string
  readonly narration: string
  readonly atMs: number
  readonly currency: string
  /** '' where no wallet can be a side of it. */
  readonly organizationId: string
  /** The card on the other side; '' where that is a wallet. */
  readonly otherCardId: string
}

/** An id is made before the money moves, by a clock that may be another's. */
const beforeIdMs = 60_000
/** A source gives within a minute of the id, or never. */
const afterIdMs = 120_000
const entriesPerRead = 1_000
/** How many entries of one wallet are looked at. */
const maxEntries = 50_000
/** On the side that gave: out and back. Between cards: out and in. */
const mostMovements = 2

/**
 * A transfer that is on its way, or what the log and the entries of wallets tell of one that is not; null when
 * neither has it.
 */
export async function showTransfer(store: Store, transferId: string): Promise<Shown> {
  let unreadable = 0
  for await (const open of openTransfers(store, () => unreadable++)) {
    if (open.id !== transferId) continue
    const { id: _, hash: _hash, opening, data: _data, fromAfter: _after, ...rest } = open
    return { transferId, state: 'on its way', ...rest, opensCard: opening?.card.cardId ?? '' }
  }
  const madeAtMs = timeOfId(transferId)
  if (Number.isNaN(madeAtMs)) return null
  const moved = await movementsOf(store, transferId, madeAtMs)
  const isBetweenCards = moved.some(({ type }) => type.startsWith('Transfer'))
  const entries = isBetweenCards ? [] : await entriesOf(store, transferId, madeAtMs, moved[0])
  // What goes out comes first, also within one millisecond.
  const parts = [...moved, ...entries].sort(
    (a, b) => a.atMs - b.atMs || a.amountMinor - b.amountMinor,
  )
  const [first] = parts
  if (first === undefined) return null
  const { currency, reference, narration } = first
  return {
    transferId,
    state: stateOf(parts) ?? stateToldBy(await verdictOn(store, transferId, first), unreadable),
    type: isBetweenCards ? 'CardToCard' : first.type,
    amountMinor: Math.abs(first.amountMinor),
    currency,
    reference,
    narration,
    moved: parts.map(({ at, amountMinor, isBack, atMs }) => ({ at, amountMinor, isBack, atMs })),
  }
}

/** null when what was found is not enough to tell how it ended. */
function stateOf(parts: readonly Part[]): 'arrived' | 'taken back' | null {
  if (parts.some(({ isBack }) => isBack)) return 'taken back'
  return parts.some(({ amountMinor }) => amountMinor > 0) ? 'arrived' : null
}

/** Finished: it is not on its way, and what is kept does not tell any more how it ended. */
function stateToldBy(verdict: TransferVerdict | null, unreadable: number): string {
  if (verdict === null && unreadable > 0) {
    return `not known: ${unreadable} on its way cannot be read, see arbiter damaged`
  }
  if (verdict === null) return 'finished'
  return verdict.state === 'credited' ? 'arrived' : 'taken back'
}

/** Of its destination, which keeps it for longer than the entries are near the time of the id. */
async function verdictOn(store: Store, id: string, given: Part): Promise<TransferVerdict | null> {
  const { otherCardId, organizationId, currency } = given
  const aggregate =
    otherCardId === ''
      ? walletAggregate(organizationId, currency)
      : accountAggregate((await accountIdOf(store, otherCardId)) ?? '')
  const places = likelyInboxPlaces(id)
  const found = await store.load(places.map((place) => ({ aggregate, ...place })))
  const [text] = found.flatMap((one) => one?.value ?? [])
  return text === undefined ? null : decodeVerdict(text)
}

async function movementsOf(store: Store, transferId: string, madeAtMs: number): Promise<Part[]> {
  const needle = JSON.stringify(transferId)
  const filter: Filter = ({ cursor, entry: text }) => {
    const entry = text.includes(needle) ? entryIn({ entry: text }) : null
    return entry === null ? null : { cursor, entry }
  }
  const { found } = await searchBack(store, filter, mostMovements, madeAtMs - beforeIdMs)
  const parts: Part[] = []
  for (const { entry } of found) {
    const account = await readAccount(store, entry.accountId)
    for (const change of entry.changes) {
      if (change.type !== 'moved' || change.movement.transferId !== transferId) continue
      const { type, takesBack: isBack, reference, narration } = change.movement
      const { amountMinor } = change
      const named = { at: `card ${entry.cardId}`, type, isBack, reference, narration }
      const { currency = '', organizationId = '' } = account ?? {}
      const owned = { currency, organizationId, otherCardId: change.movement.relatedCardId }
      parts.push({ ...named, amountMinor, atMs: entry.atMs, ...owned })
    }
  }
  return parts
}

/** Of the wallet of the card that was found, or of any where the log has none. */
async function entriesOf(
  store: Store,
  transferId: string,
  madeAtMs: number,
  known: Part | undefined,
): Promise<Part[]> {
  const wallets =
    known === undefined
      ? (await readOrganizations(store)).organizations.flatMap(({ organizationId, currencies }) =>
          currencies.map((currency) => ({ organizationId, currency })),
        )
      : [known]
  for (const { organizationId, currency } of wallets) {
    const found: WalletEntry[] = []
    for await (const entry of entriesAround(store, organizationId, currency, madeAtMs)) {
      if (entry.transferId === transferId) found.push(entry)
    }
    if (found.length === 0) continue
    const at = `wallet ${organizationId} ${currency}`
    return found.map(({ type, amountMinor, cardId, reference, narration, atMs }) => {
      const isBack = amountMinor > 0 && found.length > 1
      const named = { at, type, isBack, reference, narration, currency, organizationId }
      return { ...named, otherCardId: cardId, amountMinor, atMs }
    })
  }
  return []
}

async function* entriesAround(
  store: Store,
  organizationId: string,
  currency: string,
  madeAtMs: number,
): AsyncGenerator<WalletEntry> {
  const prefix = walletEntriesPrefix(organizationId, currency)
  let after = `${prefix}${newestFirst(madeAtMs + afterIdMs)}`
  for (let looked = 0; looked < maxEntries; looked += entriesPerRead) {
    const page = await store.range(indexes.walletEntries, after, entriesPerRead)
    for (const { sortKey, value } of page) {
      if (!sortKey.startsWith(prefix)) return
      const entry = readableEntry(value)
      if (entry === null) continue
      if (entry.atMs < madeAtMs - beforeIdMs) return
      yield entry
    }
    if (page.length < entriesPerRead) return
    after = page.at(-1)!.sortKey
  }
}
