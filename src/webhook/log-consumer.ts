import type { Change } from '../domain/change/change.ts'
import type { Entry } from '../domain/ledger/entry.ts'
import { formatMinor } from '../domain/record/money.ts'
import { balancesOf, readCards, shownCard, type WholeCard } from '../management/card.ts'
import type { Consumer, ProjectedEntry } from '../projection/consumer.ts'
import type { TransactionRow, TransactionType } from '../projection/row.ts'
import { shownRow } from '../projection/shown-row.ts'
import type { Store } from '../store/port.ts'
import type { Happening } from './event.ts'
import type { EventRecorder } from './event-recorder.ts'
import type { EventType } from './event-type.ts'

export interface LogConsumerOptions {
  readonly store: Store
  readonly recorder: EventRecorder
  readonly nowMs: () => number
}

/** Makes events of the decision log, under the account and number of each entry. */
export function createLogConsumer({ store, recorder, nowMs }: LogConsumerOptions): Consumer {
  return {
    name: 'webhooks',
    async take(entries) {
      const owned = entries.filter(({ organizationId }) => organizationId !== '')
      const cards = await readChanged(store, owned)
      await recorder.record(
        owned.flatMap((entry) => happeningsOf(entry, cards)),
        nowMs(),
      )
    },
  }
}

/** What one entry tells, in its order. */
function happeningsOf(projected: ProjectedEntry, cards: Cards): Happening[] {
  const { entry, organizationId, rows } = projected
  const told: Told[] = [
    ...rows.flatMap((row) => ofRow(row, projected)),
    ...entry.changes.flatMap((change) => ofChange(change, projected, cards)),
  ]
  return told.map(([type, data], i) => ({
    organizationId,
    type,
    atMs: entry.atMs,
    key: [entry.accountId, entry.n, i].join('\n'),
    sequence: entry.n,
    data,
  }))
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

/** Of a transfer between cards the arrival tells: what only left may still come back. */
const transfers: Readonly<Partial<Record<TransactionType, string>>> = {
  TopUp: 'TopUp',
  Withdrawal: 'Withdrawal',
  TransferIn: 'CardToCard',
  InitialFunding: 'InitialFunding',
  Regularization: 'Regularization',
}

function ofRow(row: TransactionRow, { account }: ProjectedEntry): Told[] {
  if (row.status === 'Declined') return [['transaction.declined', shownRow(row)]]
  if (row.status === 'Unmatched') return [['transaction.unmatched', shownRow(row)]]
  const type = typesOfRows[row.type]
  if (type !== undefined) return [[type, shownRow(row)]]
  const transfer = transfers[row.type]
  // What was taken back of a transfer that was refused is no transfer.
  if (transfer === undefined || (row.amountMinor ?? 0) < 0) return []
  const { transferId, currency, cardId, relatedCardId, bookedAtMs } = row
  const cards =
    row.type === 'TransferIn' ? { cardId: relatedCardId, beneficiaryCardId: cardId } : { cardId }
  const data = {
    transferId,
    type: transfer,
    amount: major(Math.abs(row.amountMinor ?? 0), currency),
    currency,
    ...cards,
    balances: account === null || row.type === 'TransferIn' ? null : balancesOf(account),
    completedAt: new Date(bookedAtMs).toISOString(),
  }
  return [['transfer.completed', data]]
}

function ofChange(change: Change, projected: ProjectedEntry, cards: Cards): Told[] {
  if (change.type === 'chargeDue') return ofCharge(change, projected)
  if (change.type === 'chargeTaken') {
    return ofCharge({ takenMinor: change.amountMinor, pendingMinor: 0 }, projected)
  }
  const type = typeOfCardChange(change)
  const { entry } = projected
  const whole = type === null ? null : cards(entry.accountId, entry.cardId)
  if (type === null || whole === null) return []
  const { whiteListedMids, blackListedMids, unblockedMids, ...shown } = shownCard(whole)
  return [[type, { ...shown, by: byOf(entry) }]]
}

function ofCharge(
  { takenMinor, pendingMinor }: { readonly takenMinor: number; readonly pendingMinor: number },
  { entry, account }: ProjectedEntry,
): Told[] {
  const currency = account?.currency ?? ''
  if (currency === '' || (takenMinor === 0 && pendingMinor === 0)) return []
  const data = {
    cardId: entry.cardId,
    transactionId: entry.transaction[1],
    amount: major(takenMinor, currency),
    pending: major(pendingMinor, currency),
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

function major(minor: number, currency: string): number {
  return Number(formatMinor(minor, currency))
}

/** Cards as they are now, with what is shown of them besides what decides. */
type Cards = (accountId: string, cardId: string) => WholeCard | null

async function readChanged(store: Store, entries: readonly ProjectedEntry[]): Promise<Cards> {
  const changed = entries.filter(({ entry }) => entry.changes.some(typeOfCardChange))
  const found = await readCards(
    store,
    changed.map(({ entry }) => entry),
  )
  const cards = new Map(
    changed.map(({ entry }, i) => [`${entry.accountId}\n${entry.cardId}`, found[i] ?? null]),
  )
  return (accountId, cardId) => cards.get(`${accountId}\n${cardId}`) ?? null
}
