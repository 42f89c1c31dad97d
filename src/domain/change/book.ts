import { type Account, noAccount } from '../record/account.ts'
import { type Card, noCard } from '../record/card.ts'
import { type CardEvent, contentHash, isAbsentId, isAsk } from '../record/event.ts'
import type { EventRecord } from '../record/event-record.ts'
import { type Alias, newTransaction, openHold, type Transaction } from '../record/transaction.ts'
import type { View } from './view.ts'

const none: readonly never[] = []

/** The records of one account; null means that there is none, or that none is assumed. */
export interface Book {
  account(): Account | null
  card(cardId: string): Card | null
  transaction(cardId: string, transactionId: string): Transaction | Alias | null
  event(eventKey: string): EventRecord | null
}

export function isAlias(found: Transaction | Alias): found is Alias {
  return 'aliasOf' in found
}

/** Gathers the records that one event can touch, and how the event names its transaction. */
export function gather(event: CardEvent, book: Book): View {
  const card = book.card(event.cardId)
  const hash = contentHash(event)
  const first = book.event(event.eventId)
  const otherContent = first !== null && first.contentHash !== hash
  // The middle dot is no character of an id, so such a key is never another event's.
  const eventKey = otherContent ? `${event.eventId}·${hash}` : event.eventId
  const record = otherContent ? book.event(eventKey) : first
  const found = card === null ? nowhere(event) : find(event, eventKey, card, book)
  // Written out, because a literal with several spreads is slow: every event passes here.
  return {
    account: book.account() ?? noAccount,
    card: card ?? noCard,
    others: found.others,
    transaction: found.transaction,
    linked: found.linked,
    joining: found.joining,
    linking: found.linking,
    forgotten: false,
    eventKey,
    otherContent,
    contentHash: hash,
    event: record,
  }
}

type Found = Pick<View, 'transaction' | 'others' | 'linked' | 'joining' | 'linking'>

function nowhere(event: CardEvent): Found {
  const transaction = newTransaction('', event.transactionId)
  return { transaction, others: none, linked: null, joining: '', linking: '' }
}

function find(event: CardEvent, eventKey: string, card: Card, book: Book): Found {
  const name = nameOf(event)
  const own = lookUp(name, card, book)
  const original = originalOf(event, name)
  if (event.requestType === 'Refund') {
    const refund = own ?? newTransaction(card.cardId, name)
    return linkedRefund(refund, original, card, book)
  }
  if (own !== null) return withLinked(own, '', card, book)
  const joined = original === '' ? null : joinedBy(event, eventKey, original, card, book)
  if (joined === null) return withLinked(newTransaction(card.cardId, name), '', card, book)
  return withLinked(joined, isAbsentId(event.transactionId) ? '' : name, card, book)
}

/** An event without a transaction id is a transaction of its own. */
function nameOf(event: CardEvent): string {
  return isAbsentId(event.transactionId) ? `·${event.eventId}` : event.transactionId
}

/** An event that names itself as its original names none. */
function originalOf({ originalTransactionId }: CardEvent, name: string): string {
  const none = isAbsentId(originalTransactionId) || originalTransactionId === name
  return none ? '' : originalTransactionId
}

/** An advice belongs to its original; an ask only to an open PreAuthorization, or where it stands already. */
function joinedBy(
  event: CardEvent,
  eventKey: string,
  original: string,
  card: Card,
  book: Book,
): Transaction | null {
  const found = lookUp(original, card, book)
  if (!isAsk(event)) return found ?? newTransaction(card.cardId, original)
  if (found === null) return null
  const isOpen = found.preauthorizedMinor > 0 && openHold(found) > 0
  return isOpen || found.asks.some((ask) => ask.eventKey === eventKey) ? found : null
}

function linkedRefund(refund: Transaction, original: string, card: Card, book: Book): Found {
  if (refund.linkedTo !== '' || original === '') return withLinked(refund, '', card, book)
  const linked = lookUp(original, card, book) ?? newTransaction(card.cardId, original)
  // A refund that turns out to be under a second name of its original needs no link.
  const isItself = linked.transactionId === refund.transactionId && linked.cardId === refund.cardId
  if (isItself) return withLinked(refund, '', card, book)
  const others = otherCards(refund, card, book)
  return { transaction: refund, others, linked, joining: '', linking: linked.transactionId }
}

function withLinked(transaction: Transaction, joining: string, card: Card, book: Book): Found {
  const linked = transaction.linkedTo === '' ? null : originalLinked(transaction, card, book)
  const others = otherCards(transaction, card, book)
  return { transaction, others, linked, joining, linking: '' }
}

/** The first link stays: another card of the refund may know another transaction by that name. */
function originalLinked(refund: Transaction, card: Card, book: Book): Transaction {
  const { linkedTo, linkedCardId } = refund
  const cardId = linkedCardId || refund.cardId
  const of = cardId === card.cardId ? card : book.card(cardId)
  const found = of === null ? null : lookUp(linkedTo, of, book)
  return found ?? newTransaction(cardId, linkedTo)
}

/** Spend is given back where it stands, also by the sweeper and by an event of another of the cards. */
export function otherCards(t: Transaction, card: Card, book: Book): readonly Card[] {
  let others: readonly Card[] = none
  for (const entry of t.spend) {
    const cardId = entry.cardId || t.cardId
    if (cardId === card.cardId || others.some((other) => other.cardId === cardId)) continue
    const found = book.card(cardId)
    if (found !== null) others = [...others, found]
  }
  return others
}

/** As many cards as are looked through for a transaction of a card that was issued again. */
export const maxReissues = 8

/** Finds a transaction by any of its names, on this card or on those that it was issued for again. */
function lookUp(name: string, card: Card, book: Book): Transaction | null {
  let current: Card | null = card
  for (let i = 0; current !== null && i < maxReissues; i++) {
    const found = book.transaction(current.cardId, name)
    if (found !== null && !isAlias(found)) return found
    if (found !== null) {
      const named = book.transaction(found.cardId, found.aliasOf)
      if (named !== null && !isAlias(named)) return named
    }
    current = current.replaces === '' ? null : book.card(current.replaces)
  }
  return null
}

/** The view of an account and perhaps a card, but no transaction. */
export function gatherCard(cardId: string, book: Book): View {
  return {
    account: book.account() ?? noAccount,
    card: (cardId === '' ? null : book.card(cardId)) ?? noCard,
    others: none,
    transaction: newTransaction('', ''),
    linked: null,
    joining: '',
    linking: '',
    forgotten: false,
    eventKey: '',
    otherContent: false,
    contentHash: '',
    event: null,
  }
}

/** The view of a transaction without an event, for the sweeper and for people. */
export function gatherDue(cardId: string, transactionId: string, book: Book): View | null {
  const card = book.card(cardId)
  const transaction = book.transaction(cardId, transactionId)
  if (card === null || transaction === null || isAlias(transaction)) return null
  if (book.account() === null) return null
  return { ...gatherCard(cardId, book), ...withLinked(transaction, '', card, book) }
}

/** The records that an entry changed, to be put into a book or into a commit. */
export interface TouchedRecords {
  readonly account: Account
  readonly cards: readonly Card[]
  readonly transactions: readonly Transaction[]
  readonly aliases: readonly (Alias & { readonly name: string })[]
  readonly forgotten: Transaction | null
  readonly event: { readonly key: string; readonly record: EventRecord } | null
}

/** Sets what each changed name of a transaction stands for: a record, another name, or null when it is forgotten. */
export function setNames(
  { transactions, aliases, forgotten }: TouchedRecords,
  set: (cardId: string, name: string, found: Transaction | Alias | null) => void,
): void {
  for (const one of transactions) set(one.cardId, one.transactionId, one)
  for (const { name, ...alias } of aliases) set(alias.cardId, name, alias)
  if (forgotten === null) return
  const { cardId, transactionId, names } = forgotten
  for (const name of [transactionId, ...names]) set(cardId, name, null)
}

/** Makes no list where nothing changed, because this is done for every entry of every log. */
export function touchedBy(before: View, after: View): TouchedRecords {
  const { names } = after.transaction
  const named = before.transaction.names.length
  return {
    account: after.account,
    cards: changedCards(before, after),
    transactions: after.forgotten
      ? none
      : changed(after.transaction, after.linked, before.transaction, before.linked),
    aliases: names.length === named ? none : aliasesOf(after.transaction, named),
    forgotten: after.forgotten ? after.transaction : null,
    event:
      after.event === null || after.event === before.event
        ? null
        : { key: after.eventKey, record: after.event },
  }
}

function changedCards(before: View, after: View): readonly Card[] {
  const first = after.card === before.card ? none : [after.card]
  if (after.others === before.others) return first
  return [...first, ...after.others.filter((card) => !before.others.includes(card))]
}

/** Of two records, those that are neither of the two that were there before. */
function changed<T>(first: T, second: T | null, was: T, other: T | null): readonly T[] {
  const isFirst = first !== was && first !== other
  if (second === null || second === was || second === other) return isFirst ? [first] : none
  return isFirst ? [first, second] : [second]
}

function aliasesOf({ cardId, transactionId, names }: Transaction, from: number) {
  return names.slice(from).map((name) => ({ name, cardId, aliasOf: transactionId }))
}
