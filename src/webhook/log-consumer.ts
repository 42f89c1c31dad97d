import { isAlias } from '../domain/change/book.ts'
import type { Change } from '../domain/change/change.ts'
import type { Entry } from '../domain/ledger/entry.ts'
import { majorOf } from '../domain/record/money.ts'
import { transactionCodec } from '../engine/format/codec.ts'
import { accountAggregate, transactionChild } from '../engine/format/layout.ts'
import { unlessUnreadable } from '../engine/format/row-codec.ts'
import { readableCards, shownCard, type WholeCard } from '../management/card.ts'
import { decodeVerdict, likelyInboxPlaces } from '../management/transfer/transfer.ts'
import type { Consumer, ProjectedEntry } from '../projection/consumer.ts'
import type { TransactionRow, TransactionType } from '../projection/row.ts'
import { shownRow } from '../projection/shown-row.ts'
import type { Store } from '../store/port.ts'
import { endpointsToTell } from './endpoint.ts'
import type { Happening } from './event.ts'
import type { EventRecorder } from './event-recorder.ts'
import type { EventType } from './event-type.ts'

export interface LogConsumerOptions {
  readonly store: Store
  readonly recorder: EventRecorder
  readonly nowMs: () => number
  /** The webhooks of an organization cannot be read, and are told nothing. */
  readonly onUnreadable?: (organizationId: string) => void
}

/** Makes events of the decision log, under the account and number of each entry. */
export function createLogConsumer(options: LogConsumerOptions): Consumer {
  const { store, recorder, nowMs, onUnreadable } = options
  return {
    name: 'webhooks',
    async take(entries) {
      const endpoints = await endpointsToTell(store, organizationsOf(entries), onUnreadable)
      const owned = entries.filter(({ organizationId }) => endpoints.get(organizationId)?.length)
      if (owned.length === 0) return
      const read: RecordsRead = {
        card: await readChanged(store, owned),
        arrival: await readArrivals(store, owned),
        pendingMinor: await readCharges(store, owned),
      }
      await recorder.record(
        owned.flatMap((entry) => happeningsOf(entry, read)),
        nowMs(),
        endpoints,
      )
    },
  }
}

function organizationsOf(entries: readonly ProjectedEntry[]): readonly string[] {
  const ids = new Set(entries.map(({ organizationId }) => organizationId))
  ids.delete('')
  return [...ids]
}

/** What the entries do not say themselves. */
interface RecordsRead {
  readonly card: Cards
  readonly arrival: Arrivals
  /** What is pending of the charge of an entry's transaction. */
  readonly pendingMinor: (entry: Entry) => number
}

/** What one entry tells, in its order; each under its place there, whatever else is told. */
function happeningsOf(projected: ProjectedEntry, read: RecordsRead): Happening[] {
  const { entry, writtenMs: loggedMs, organizationId, rows } = projected
  const told: (readonly [place: string, Told[]])[] = [
    ...rows.map((row, i) => [`row ${i}`, ofRow(row, read)] as const),
    ...entry.changes.map((one, i) => [`change ${i}`, ofChange(one, projected, read)] as const),
  ]
  return told.flatMap(([place, some]) =>
    some.map(([type, data]) => ({
      organizationId,
      type,
      atMs: entry.atMs,
      loggedMs,
      key: [entry.accountId, entry.n, place].join('\n'),
      sequence: entry.n,
      data,
    })),
  )
}

type Told = readonly [EventType, unknown]

const typesOfRows: Readonly<Partial<Record<TransactionType, EventType>>> = {
  Authorization: 'transaction.authorization',
  PreAuthorization: 'transaction.preauthorization',
  CashWithdrawal: 'transaction.cash_withdrawal',
  Settlement: 'transaction.settlement',
  PartialReversal: 'transaction.partial_reversal',
  Reversal: 'transaction.reversal',
  Refund: 'transaction.refund',
  Expiry: 'transaction.expired',
}

/** The arrival tells: what only left may still come back. What arrives in a wallet is told there. */
const transfers: Readonly<Partial<Record<TransactionType, string>>> = {
  TopUp: 'TopUp',
  TransferIn: 'CardToCard',
  InitialFunding: 'InitialFunding',
  Regularization: 'Regularization',
}

function ofRow(row: TransactionRow, read: RecordsRead): Told[] {
  if (row.status === 'Declined') return [['transaction.declined', shownRow(row)]]
  if (row.status === 'Unmatched') return [['transaction.unmatched', shownRow(row)]]
  const type = typesOfRows[row.type]
  if (type !== undefined) return [[type, shownRow(row)]]
  const transfer = transfers[row.type]
  // What was taken back of a transfer that was refused is no transfer.
  if (transfer === undefined || (row.amountMinor ?? 0) < 0) return []
  const { transferId, currency, cardId, relatedCardId, bookedAtMs } = row
  const { fromAfter, toAfter } = read.arrival(transferId)
  const sides =
    row.type === 'TransferIn'
      ? {
          cardId: relatedCardId,
          balances: fromAfter,
          beneficiaryCardId: cardId,
          beneficiaryBalances: toAfter,
        }
      : { cardId, balances: toAfter, wallet: fromAfter }
  const data = {
    transferId,
    type: transfer,
    amount: majorOf(row.amountMinor ?? 0, currency),
    currency,
    ...sides,
    completedAt: new Date(bookedAtMs).toISOString(),
  }
  return [['transfer.completed', data]]
}

function ofChange(change: Change, projected: ProjectedEntry, read: RecordsRead): Told[] {
  if (change.type === 'chargeDue') return ofCharge(change, projected)
  if (change.type === 'chargeTaken') {
    const { amountMinor: takenMinor } = change
    return ofCharge({ takenMinor, pendingMinor: 0 }, projected, read.pendingMinor(projected.entry))
  }
  const type = typeOfCardChange(change)
  const { entry } = projected
  const whole = type === null ? null : read.card(entry.accountId, entry.cardId)
  if (type === null || whole === null) return []
  const { whiteListedMids, blackListedMids, unblockedMids, ...shown } = shownCard(whole)
  return [[type, { ...shown, by: byOf(entry) }]]
}

/** `leftMinor` is what is still pending of a charge of which a part was taken later. */
function ofCharge(
  { takenMinor, pendingMinor }: { readonly takenMinor: number; readonly pendingMinor: number },
  { entry, currency }: ProjectedEntry,
  leftMinor = pendingMinor,
): Told[] {
  if (currency === '' || (takenMinor === 0 && pendingMinor === 0)) return []
  const data = {
    cardId: entry.cardId,
    transactionId: entry.transaction[1],
    amount: majorOf(takenMinor, currency),
    pending: majorOf(leftMinor, currency),
    currency,
  }
  return [[pendingMinor > 0 ? 'charge.pending' : 'charge.taken', data]]
}

function typeOfCardChange(change: Change): EventType | null {
  switch (change.type) {
    case 'cardIssued':
      return 'card.issued'
    case 'cardTerminated':
      return 'card.terminated'
    case 'cardRevived':
      return 'card.updated'
    case 'cardChanged': {
      const { status } = change.set
      if (status === 'Frozen') return 'card.frozen'
      if (status === 'Terminated') return 'card.terminated'
      return status === 'Active' ? 'card.unfrozen' : 'card.updated'
    }
    default:
      return null
  }
}

/** The engine by itself, a client of the API, or a person at the command line. */
function byOf({ kind, origin = '' }: Entry): string {
  if (origin.startsWith('api ')) return 'api'
  return kind === 'operated' || kind === 'booked' ? 'operator' : 'engine'
}

/** Cards as they are now, with what is shown of them besides what decides. */
type Cards = (accountId: string, cardId: string) => WholeCard | null

async function readChanged(store: Store, entries: readonly ProjectedEntry[]): Promise<Cards> {
  const changed = entries.filter(({ entry }) => entry.changes.some(typeOfCardChange))
  const found = await readableCards(
    store,
    changed.map(({ entry }) => entry),
  )
  const cards = new Map(
    changed.map(({ entry }, i) => [`${entry.accountId}\n${entry.cardId}`, found[i] ?? null]),
  )
  return (accountId, cardId) => cards.get(`${accountId}\n${cardId}`) ?? null
}

/** What both sides of a transfer had when it arrived; null where nobody knows any more. */
type Arrivals = (transferId: string) => { readonly fromAfter: unknown; readonly toAfter: unknown }

async function readArrivals(store: Store, entries: readonly ProjectedEntry[]): Promise<Arrivals> {
  const places = entries.flatMap(({ entry, rows }) =>
    rows
      .filter(({ type, transferId }) => transferId !== '' && transfers[type] !== undefined)
      .flatMap(({ transferId }) => likelyInboxPlaces(transferId))
      .map((place) => ({ aggregate: accountAggregate(entry.accountId), ...place })),
  )
  const found = await store.load(places)
  const verdicts = new Map(
    places.flatMap(({ id }, i) => {
      const text = found[i]?.value
      return text === undefined ? [] : [[id, unlessUnreadable(() => decodeVerdict(text))]]
    }),
  )
  return (transferId) => {
    const verdict = verdicts.get(transferId)
    if (verdict?.state !== 'credited') return { fromAfter: null, toAfter: null }
    return { fromAfter: verdict.fromAfter ?? null, toAfter: verdict.toAfter }
  }
}

async function readCharges(
  store: Store,
  entries: readonly ProjectedEntry[],
): Promise<RecordsRead['pendingMinor']> {
  const taken = entries
    .map(({ entry }) => entry)
    .filter(({ changes }) => changes.some(({ type }) => type === 'chargeTaken'))
  const found = await store.load(
    taken.map(({ accountId, transaction: [cardId, id] }) => ({
      aggregate: accountAggregate(accountId),
      ...transactionChild(cardId, id),
    })),
  )
  const pending = new Map(
    taken.map((entry, i) => {
      const text = found[i]?.value
      const record =
        text === undefined ? null : unlessUnreadable(() => transactionCodec.decode(text))
      return [entry, record === null || isAlias(record) ? 0 : record.chargePendingMinor]
    }),
  )
  return (entry) => pending.get(entry) ?? 0
}
