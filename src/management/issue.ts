import { type Account, noAccount } from '../domain/record/account.ts'
import { type Card, noCard } from '../domain/record/card.ts'
import { type CardDetails, noDetails, putDetails } from '../engine/format/card-details.ts'
import { cardNumberKey } from '../engine/format/layout.ts'
import type { ChildPut, Store } from '../store/port.ts'
import { readCards, shownCard, type WholeCard } from './card.ts'
import { type Customer, cardsOfCustomer } from './customer.ts'
import type { MadeNumber } from './number/source.ts'
import type { Organization } from './organization.ts'
import { plainName } from './plain-name.ts'

/** What is chosen of a card before it has ids and a number. */
export interface CardDraft {
  readonly card: Pick<
    Card,
    | 'type'
    | 'replaces'
    | 'dailyLimitMinor'
    | 'transactionLimitMinor'
    | 'allowedMccs'
    | 'blockedMccs'
    | 'allowedMids'
    | 'blockedMids'
    | 'swipesLeft'
    | 'contactlessPayment'
    | 'issued'
  >
  readonly details: Omit<CardDetails, 'format' | 'maskedPan'>
}

/** Without limits or lists: what a new card has where nobody says otherwise. */
export function newDraft(type: Card['type'], customer: Customer): CardDraft {
  const { nameOnCard, metadata, address } = {
    ...noDetails,
    nameOnCard: printedName(customer.name),
    address: customer.address ?? null,
  }
  return { card: { ...noCard, type, issued: 'new' }, details: { nameOnCard, address, metadata } }
}

/** As the card that it is issued for again, so that it loosens nothing; a one-time unblock stays with that one. */
export function draftLike({ card, details }: WholeCard, customer: Customer): CardDraft {
  const { nameOnCard, address, metadata } = details
  const told = newDraft(card.type, customer).details
  const shown = { nameOnCard: nameOnCard || told.nameOnCard, address: address ?? told.address }
  const own = { replaces: '', swipesLeft: null, issued: 'reissue-own' } as const
  return { card: { ...card, ...own }, details: { ...shown, metadata } }
}

const maxNameChars = 26
const minNameChars = 2

/** A name in the letters that a card has: cut; '' when too little is left. */
function printedName(name: string): string {
  const plain = plainName(name)
    .replace(/[^A-Z0-9 .'-]+/g, ' ')
    .replace(/ +/g, ' ')
    .trim()
    .slice(0, maxNameChars)
    .trim()
  return plain.length < minNameChars ? '' : plain
}

/** The last month that a card issued now is good for. */
export function expiryOf({ cardValidityMonths }: Organization, nowMs: number): string {
  const now = new Date(nowMs)
  const months = now.getUTCFullYear() * 12 + now.getUTCMonth() + cardValidityMonths
  return `${Math.floor(months / 12)}-${String((months % 12) + 1).padStart(2, '0')}`
}

interface Issuing {
  readonly cardId: string
  readonly accountId: string
  readonly customer: Customer
  readonly organization: Organization
  readonly currency: string
  /** null: the card has an account of its own. */
  readonly joins: Account | null
  readonly number: MadeNumber
  readonly nowMs: number
}

/** A card with all that is kept of it, before money is on it. */
export function cardFrom(draft: CardDraft, issuing: Issuing) {
  const { cardId, accountId, customer, organization, currency, joins, number, nowMs } = issuing
  const { organizationId, country } = organization
  const account: Account = joins ?? { ...noAccount, accountId, organizationId, currency, country }
  const { type, replaces, issued, dailyLimitMinor, transactionLimitMinor, swipesLeft } = draft.card
  const { allowedMccs, blockedMccs, allowedMids, blockedMids, contactlessPayment } = draft.card
  const card: Card = {
    ...noCard,
    ...{ cardId, customerId: customer.customerId, accountId, type, replaces, issued },
    ...{ dailyLimitMinor, transactionLimitMinor, swipesLeft, contactlessPayment },
    ...{ allowedMccs, blockedMccs, allowedMids, blockedMids },
    expiry: number.expiry,
    issuedAtMs: nowMs,
    customerType: customer.type,
    metadata: Object.entries(draft.details.metadata).flat(),
  }
  const details = { ...noDetails, ...draft.details, maskedPan: number.maskedPan }
  const { sealed } = number
  const put: readonly ChildPut[] = [
    putDetails(cardId, details),
    ...(sealed === undefined ? [] : [{ ...cardNumberKey(cardId), value: sealed }]),
  ]
  const data = shownCard({ account, card, details })
  return { account: joins === null ? account : null, card, put, data }
}

const cardsPerRead = 20

/** The newest card of a customer that may be issued again; null when there is none. */
export async function newestReissuable(
  store: Store,
  customer: Customer,
  isFit: (found: WholeCard) => boolean,
): Promise<WholeCard | null> {
  for await (const page of cardsOfCustomer(store, customer)) {
    for (let at = 0; at < page.length; at += cardsPerRead) {
      const found = await readCards(store, page.slice(at, at + cardsPerRead))
      for (const one of found)
        if (one !== null && one.card.type !== 'lite' && isFit(one)) return one
    }
  }
  return null
}
