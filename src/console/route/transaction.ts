import { z } from 'zod'
import { readAccountHistory } from '../../backoffice/account-history.ts'
import { createFilter, type FoundEntry, searchPage } from '../../backoffice/log-search.ts'
import { showTransaction } from '../../backoffice/show.ts'
import { transactionIn } from '../../backtest/replay/replayed-account.ts'
import type { Entry } from '../../domain/ledger/entry.ts'
import {
  heldPart,
  netAuthorized,
  openHold,
  type Transaction,
  withheld,
} from '../../domain/record/transaction.ts'
import { ownersOfTransaction } from '../../management/transaction.ts'
import { lookBounds, type Office, packCursor } from '../office.ts'
import { ConsoleRefused, type ConsoleRoute, defineConsoleRoute } from '../route.ts'
import type { LifeStep, LifeSums, TransactionShown } from '../shape/record.ts'
import { findAccountOf, placeOfCard } from './card.ts'

const input = z.object({ card: z.string().min(1).max(200), id: z.string().min(1).max(200) })
const maxSteps = 200

export function lifeRoutes(office: Office): ConsoleRoute[] {
  return [
    defineConsoleRoute({
      method: 'GET',
      path: '/data/transaction',
      input,
      handle: ({ card, id }) => showLife(card, id, office),
    }),
  ]
}

async function showLife(cardId: string, id: string, office: Office): Promise<TransactionShown> {
  const { store } = office
  const accountId = await placeOfCard(cardId, office)
  const { currency } = await findAccountOf(accountId, office)
  const kept = (await showTransaction(store, cardId, id)) as Transaction | null
  if (kept === null) throw new ConsoleRefused(404, `card ${cardId} has no transaction ${id}`)
  const filter = createFilter({ account: accountId, transaction: kept.transactionId })
  const bounds = { ...lookBounds(office), limit: maxSteps }
  const { found: named, next } = await searchPage(store, filter, '', bounds)
  const isOwner = ownersOfTransaction(store, accountId, kept)
  const owned = await Promise.all(named.map(({ entry }) => isOwner(entry.cardId)))
  const found = named.filter((_, i) => owned[i])
  const sums = await sumsAfter(found, kept, accountId, office)
  return {
    cardId: kept.cardId,
    transactionId: kept.transactionId,
    accountId,
    currency,
    state: stateOf(kept),
    expiresAtMs: kept.expiresAtMs,
    sums: sumsOf(kept),
    steps: found.toReversed().map((one) => stepOf(one, sums.get(one.entry.n) ?? null)),
    whole: next === '' || named.length < maxSteps,
  }
}

function stateOf(t: Transaction): string {
  if (t.voided) return 'reversed'
  if (t.closed) return 'closed'
  if (t.expired) return 'expired'
  if (t.refundedMinor > 0) return 'refunded'
  return openHold(t) > 0 ? 'open' : t.settledMinor > 0 ? 'settled' : 'no hold'
}

function sumsOf(t: Transaction): LifeSums {
  return {
    authorizedMinor: netAuthorized(t),
    heldMinor: heldPart(t),
    settledMinor: t.settledMinor,
    reversedMinor: t.reversedMinor,
    refundedMinor: t.refundedMinor,
    withheldMinor: withheld(t),
  }
}

/** The sums after each entry, by its number, as far as the account can be told from the log. */
async function sumsAfter(
  found: readonly FoundEntry[],
  { cardId, transactionId }: Transaction,
  accountId: string,
  office: Office,
): Promise<ReadonlyMap<number, LifeSums>> {
  const sums = new Map<number, LifeSums>()
  const [newest] = found
  if (newest === undefined) return sums
  const place = { cursor: newest.cursor, n: newest.entry.n }
  const history = await readAccountHistory(office.store, accountId, place, lookBounds(office))
  if (history === null) return sums
  const account = history.start()
  for (const entry of history.entries) {
    account.follow(entry)
    const record = transactionIn(account.book, cardId, transactionId)
    if (record !== null) sums.set(entry.n, sumsOf(record))
  }
  return sums
}

function stepOf({ cursor, entry }: FoundEntry, sums: LifeSums | null): LifeStep {
  const { event, answer } = entry
  return {
    atMs: entry.atMs,
    cursor: packCursor(cursor),
    kind: entry.kind,
    what: whatOf(entry),
    amountMinor: event?.amountMinor ?? null,
    code: answer?.code ?? '',
    decidedBy: answer?.decidedBy ?? '',
    reason: entry.reason,
    sums,
  }
}

function whatOf({ kind, event, changes }: Entry): string {
  if (event !== null) return event.requestType
  if (changes.some(({ type }) => type === 'expired')) {
    return kind === 'tended' ? 'hold expired' : 'hold released'
  }
  if (changes.some(({ type }) => type === 'granted')) return 'refund granted'
  return changes.some(({ type }) => type === 'forgotten') ? 'forgotten' : kind
}
