import { dayMs } from '../../clock.ts'
import { transactionKey } from '../../domain/ledger/ledger.ts'
import type { Card } from '../../domain/record/card.ts'
import { hash64 } from '../../domain/record/event.ts'
import type { ChildKey, Key } from '../../store/port.ts'

/** Where the engine keeps its records in a store. */

/** Events of this many days lie together and are dropped together. */
const generationDays = 15

export function accountAggregate(accountId: string): string {
  return `a:${accountId}`
}

/** Events of cards that nobody knows, spread so that they do not queue behind each other. */
export function strayAggregate(eventId: string): string {
  return `u:${bucketOf(eventId, 256)}`
}

/** What was fixed when the store was made. */
export const metaAggregate = 'meta'

/** The emergency list. */
export const blocksAggregate = 'blocks'

/** Rules that their breakers have put into shadow. */
export const trippedAggregate = 'tripped'

/** Since when cards keep what rules look at. */
export const memoriesAggregate = 'memories'

/** What the instances that share the store tell each other. */
export const instancesAggregate = 'instances'

/** Who owns cards: what every decision needs of each in the root, their settings below it. */
export const organizationsAggregate = 'organizations'

/** How far the log was followed, and who follows it. */
export const projectionAggregate = 'projection'

/** Rows of the transactions list, many accounts together: one process writes all of them. */
export function rowsAggregate(accountId: string): string {
  return `x:${bucketOf(accountId, 256)}`
}

/** One set of credentials for the management API. */
export function clientAggregate(clientId: string): string {
  return `k:${clientId}`
}

/** Who holds cards. */
export function customerAggregate(customerId: string): string {
  return `cu:${customerId}`
}

/** Where an organization wants to be told of events. */
export function webhooksAggregate(organizationId: string): string {
  return `wh:${organizationId}`
}

/** Which instances share the sending of webhooks. */
export const senderShareAggregate = 'senders'

/** Events that follow from the log, those of one second together; those of a KYC lie with it. */
export function eventsAggregate(atMs: number): string {
  return `ev:${(Math.floor(atMs / 1_000) % 4_096).toString(36)}`
}

/** One verification of a person or a business. */
export function kycAggregate(kycToken: string): string {
  return `ky:${kycToken}`
}

/** Which identity numbers of an organization stand for whom. */
export function identitiesAggregate(organizationId: string): string {
  return `ki:${organizationId}`
}

/** What windows over several cards have counted of one merchant, customer and so on. */
export function sharedCountsKey(key: string): Key {
  return { aggregate: `wc:${bucketOf(key, 256)}`, group: 's', id: hash64(key) }
}

/** Which account a card belongs to; small groups, because these cost the least memory. */
export function directoryKey(cardId: string): Key {
  return { aggregate: `d:${bucketOf(cardId, 16_384)}`, group: 'd', id: cardId }
}

function bucketOf(text: string, buckets: number): string {
  return (Number.parseInt(hash64(text).slice(0, 8), 16) % buckets).toString(36)
}

export function cardKey(cardId: string): ChildKey {
  return { group: 'c', id: cardId }
}

/** What the windows per merchant of a card have counted at one. */
export function merchantCountsKey(cardId: string, mid: string): ChildKey {
  return { group: merchantCountsGroup, id: `${cardId}\n${mid}` }
}

export const merchantCountsGroup = 'cm'

/** What is shown of a card and decides nothing: no event reads it. */
export function cardDetailsKey(cardId: string): ChildKey {
  return { group: 'cd', id: cardId }
}

/** The number of a card, encrypted: apart from everything that is shown of it, and read by no event. */
export function cardNumberKey(cardId: string): ChildKey {
  return { group: 'v', id: cardId }
}

/** Which cards draw on an account: see `account-cards.ts`. */
export const accountCardsKey: ChildKey = { group: 'cs', id: '' }

export function transactionChild(cardId: string, transactionId: string): ChildKey {
  return namedTransaction(transactionKey(cardId, transactionId))
}

/** By the name that `transactionKey` gives it. */
export function namedTransaction(name: string): ChildKey {
  return { group: 't', id: name }
}

/** The generation that an event of this arrival is kept in. */
export function eventKeyAt(eventKey: string, atMs: number, retentionMs: number): ChildKey {
  return { group: generationOf(firstDayOf(atMs), retentionMs), id: eventKey }
}

/** Every generation that may still hold the event: those since the account's first entry. */
export function eventKeys(
  eventKey: string,
  nowMs: number,
  openedAtMs: number,
  retentionMs: number,
): ChildKey[] {
  const oldest = firstDayOf(Math.min(nowMs, Math.max(nowMs - retentionMs, openedAtMs)))
  const keys: ChildKey[] = []
  for (let day = firstDayOf(nowMs); day >= oldest; day -= generationDays) {
    keys.push({ group: generationOf(day, retentionMs), id: eventKey })
  }
  return keys
}

function firstDayOf(atMs: number): number {
  const day = Math.floor(atMs / dayMs)
  return day - (day % generationDays)
}

function generationOf(firstDay: number, retentionMs: number): string {
  return `e@${firstDay + generationDays - 1 + Math.ceil(retentionMs / dayMs)}`
}

/** Indexes of transactions to sweep, of what people should look at, and of what there is. */
export const indexes = {
  due: 'due',
  unmatched: 'unmatched',
  anomalies: 'anomalies',
  cards: 'cards',
  clients: 'clients',
  /** The newest first: see `customer-index.ts` and `card-index.ts`. */
  customers: 'customers',
  organizationCards: 'organization-cards',
  customerCards: 'customer-cards',
  /** By account and card: see `accountPlaceKey`. */
  accounts: 'accounts',
  /** Customers whose cards draw on less than nothing: see `account-cards.ts`. */
  negative: 'negative',
  /** Rows of the transactions list, once for every list that they stand in. */
  rows: 'rows',
  events: 'events',
  deliveries: 'deliveries',
  kycs: 'kycs',
  kycsDue: 'kycs-due',
  /** Transactions of which a charge is pending: see `chargeSortKey`. */
  charges: 'charges',
  /** Transfers that are on their way, by the time when somebody must look after them. */
  moving: 'moving',
  /** What moved the money of wallets, the newest first. */
  walletEntries: 'wallet-entries',
} as const

/** What the sort keys of all cards of a customer begin with. */
export function customerCardsPrefix(organizationId: string, customerId: string): string {
  return `${organizationId}\n${customerId}\n`
}

/** Where a card stands in the list of all accounts; what accounts of cards begin with leads to it. */
export function accountPlaceKey({ accountId, cardId }: Pick<Card, 'accountId' | 'cardId'>): string {
  return `${accountId}\n${cardId}`
}

/** Under its account; the value of the entry is when the charge became pending. */
export function chargeSortKey(
  accountId: string,
  { cardId, transactionId }: { readonly cardId: string; readonly transactionId: string },
): string {
  return [accountId, cardId, transactionId].join('\n')
}

/** What an organization has to fund its cards with, in one currency. */
export function walletAggregate(organizationId: string, currency: string): string {
  return `w:${organizationId}:${currency}`
}

/** What the sort keys of a wallet's entries begin with. */
export function walletEntriesPrefix(organizationId: string, currency: string): string {
  return `${organizationId}\n${currency}\n`
}

/** Sorts by time; parts are split by line breaks, which no id contains. */
export function timeSortKey(atMs: number, ...parts: readonly string[]): string {
  return [String(atMs).padStart(15, '0'), ...parts].join('\n')
}

export function splitSortKey(sortKey: string): { atMs: number; parts: string[] } {
  const [atMs = '0', ...parts] = sortKey.split('\n')
  return { atMs: Number(atMs), parts }
}
