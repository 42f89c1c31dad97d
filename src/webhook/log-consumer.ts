import type { Change } from '../domain/change/change.ts'
import type { Entry } from '../domain/ledger/entry.ts'
import { formatMinor } from '../domain/record/money.ts'
import { decodeDetails } from '../engine/format/card-details.ts'
import { accountAggregate, cardDetailsKey } from '../engine/format/layout.ts'
import { balancesOf, shownCard } from '../management/card.ts'
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
      const detailsOf = await readDetails(store, owned)
      await recorder.record(
        owned.flatMap((entry) => happeningsOf(entry, detailsOf)),
        nowMs(),
      )
    },
  }
}

/** What one entry tells, in its order. */
function happeningsOf(projected: ProjectedEntry, detailsOf: DetailsOf): Happening[] {
  const { entry, organizationId, rows } = projected
  const told: Told[] = [
    ...rows.flatMap((row) => ofRow(row, projected)),
    ...entry.changes.flatMap((change) => ofChange(change, projected, detailsOf)),
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
  if (transfer === undefined) return []
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

function ofChange(change: Change, projected: ProjectedEntry, detailsOf: DetailsOf): Told[] {
  if (change.type === 'chargeDue') return ofCharge(change, projected)
  const type = typeOfCardChange(change)
  const { entry, account, card } = projected
  if (type === null || account === null || card === null) return []
  const details = detailsOf(entry.accountId, entry.cardId)
  const { whiteListedMids, blackListedMids, unblockedMids, ...shown } = shownCard({
    account,
    card,
    details,
  })
  return [[type, { ...shown, by: byOf(entry) }]]
}

function ofCharge(
  { takenMinor, pendingMinor }: Extract<Change, { type: 'chargeDue' }>,
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

/** What is shown of cards besides what decides. */
type DetailsOf = (accountId: string, cardId: string) => ReturnType<typeof decodeDetails>

async function readDetails(store: Store, entries: readonly ProjectedEntry[]): Promise<DetailsOf> {
  const changed = entries.filter(({ entry }) => entry.changes.some(typeOfCardChange))
  const names = changed.map(({ entry }) => [entry.accountId, entry.cardId] as const)
  const found = await store.load(
    names.map(([accountId, cardId]) => ({
      aggregate: accountAggregate(accountId),
      ...cardDetailsKey(cardId),
    })),
  )
  const details = new Map(names.map((name, i) => [name.join('\n'), found[i]?.value ?? null]))
  return (accountId, cardId) => decodeDetails(details.get(`${accountId}\n${cardId}`) ?? null)
}
