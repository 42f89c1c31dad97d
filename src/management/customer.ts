import { z } from 'zod'
import { customerTypes } from '../domain/record/card.ts'
import type { AggregateWrite } from '../engine/aggregate-copy.ts'
import type { Aggregates } from '../engine/aggregates.ts'
import { negativePrefix } from '../engine/format/account-cards.ts'
import { keptAddress } from '../engine/format/card-details.ts'
import { accountCodec } from '../engine/format/codec.ts'
import { customerIndexEntries } from '../engine/format/customer-index.ts'
import {
  accountAggregate,
  customerAggregate,
  customerCardsPrefix,
  indexes,
} from '../engine/format/layout.ts'
import { parseStored, RecordUnreadable } from '../engine/format/row-codec.ts'
import type { Store } from '../store/port.ts'
import { address } from './address.ts'
import { filledText } from './given-text.ts'
import type { ManagementResult } from './organization.ts'

const id = z.string().regex(/^[\x20-\x7e]{1,64}$/, '1 to 64 printable ASCII characters')

export const maxCustomerName = 180

/** What is told of a customer when it is made: a KYC result, or a row of an import. */
export const customerFields = z.strictObject({
  customerId: id,
  organizationId: id,
  type: z.enum(customerTypes),
  name: filledText(maxCustomerName),
  /** As the business names it; need not be unique. */
  clientReference: filledText(64).optional(),
  email: filledText(254).optional(),
  phoneNumber: filledText(32).optional(),
  address: address.optional(),
  idType: filledText(32).optional(),
  /** All that is shown of an identity number. */
  idLast4: z
    .string()
    .regex(/^[A-Za-z0-9]{1,4}$/, 'up to four letters and digits')
    .optional(),
  kycToken: id.optional(),
})

/** As they were checked when they were given, perhaps by an earlier release that took more. */
const kept = z.string().optional()
const keptTexts = {
  name: z.string(),
  clientReference: kept,
  email: kept,
  phoneNumber: kept,
  address: keptAddress.optional(),
  idType: kept,
}

/** Who holds cards. */
const record = customerFields.extend({
  format: z.literal(1),
  ...keptTexts,
  /** A suspended one gets no new card. */
  suspended: z.boolean(),
  createdAtMs: z.int(),
})

export type CustomerFields = Readonly<z.output<typeof customerFields>>
export type Customer = Readonly<z.output<typeof record>>

/** Throws RecordUnreadable. */
export function decodeCustomer(value: string): Customer {
  const found = record.safeParse(parseStored(value))
  if (found.success) return found.data
  throw new RecordUnreadable('a customer was written by a newer release')
}

export async function readCustomer(store: Store, customerId: string): Promise<Customer | null> {
  const aggregate = customerAggregate(customerId)
  const [found] = await store.load([{ aggregate, group: '', id: '' }])
  return found === undefined ? null : decodeCustomer(found.value)
}

export interface AddedCustomer {
  readonly customer: Customer
  /** False when it was there already, and stays as it is. */
  readonly added: boolean
}

/** Safe to repeat; refused where the id belongs to another organization or another type. */
export function addCustomer(
  aggregates: Aggregates,
  given: CustomerFields,
  nowMs: number,
): Promise<ManagementResult<AddedCustomer>> {
  const made: Customer = { format: 1, ...given, suspended: false, createdAtMs: nowMs }
  const { customerId, organizationId, type } = made
  return change<ManagementResult<AddedCustomer>>(aggregates, customerId, (found) => {
    if (found === null) {
      const index = customerIndexEntries(made)
      const result = { value: { customer: made, added: true } }
      return { result, write: { root: JSON.stringify(made), index } }
    }
    if (found.organizationId !== organizationId || found.type !== type) {
      return { result: { refused: `there is another customer ${customerId}` }, write: {} }
    }
    return { result: { value: { customer: found, added: false } }, write: {} }
  })
}

/** Resolves to why it was refused; '' when it is so now. */
export function setCustomerSuspended(
  aggregates: Aggregates,
  customerId: string,
  suspended: boolean,
): Promise<string> {
  return change(aggregates, customerId, (found) => {
    // Nobody restores one that is not there: nothing can be on its way.
    if (found === null) return { result: `there is no customer ${customerId}`, write: null }
    return { result: '', write: { root: JSON.stringify({ ...found, suspended }) } }
  })
}

function change<T>(
  aggregates: Aggregates,
  customerId: string,
  next: (found: Customer | null) => { result: T; write: AggregateWrite | null },
): Promise<T> {
  return aggregates.change({
    aggregate: customerAggregate(customerId),
    decide: ({ root }) => next(root === null ? null : decodeCustomer(root)),
  })
}

/** A card of a customer, as the index of its cards names it. */
export interface HeldCard {
  readonly cardId: string
  readonly accountId: string
}

/** Most customers have few cards, and what is read beyond them belongs to others. */
const firstLength = 8
const maxLength = 500

/** The cards of a customer, the newest first, in pages. */
export async function* cardsOfCustomer(
  store: Store,
  { organizationId, customerId }: CustomerName,
): AsyncGenerator<readonly HeldCard[]> {
  const prefix = customerCardsPrefix(organizationId, customerId)
  let length = firstLength
  for (let after = prefix; ; length = Math.min(4 * length, maxLength)) {
    const page = await store.range(indexes.customerCards, after, length)
    const own = page.filter(({ sortKey }) => sortKey.startsWith(prefix))
    yield own.map(({ sortKey, value }) => {
      return { cardId: sortKey.slice(sortKey.lastIndexOf('\n') + 1), accountId: value }
    })
    if (own.length < length) return
    after = own.at(-1)!.sortKey
  }
}

export interface CustomerCards {
  readonly cards: number
  /** Whether the account of any of them, ended ones too, has less than nothing. */
  readonly negative: boolean
}

/** What follows from the cards of a customer now, in time that does not grow with their number. */
export async function sumOfCards(store: Store, customer: CustomerName): Promise<CustomerCards> {
  const { organizationId, customerId } = customer
  const [cards, negative] = await Promise.all([
    store.count(indexes.customerCards, customerCardsPrefix(organizationId, customerId)),
    isNegative(store, customer),
  ])
  return { cards, negative }
}

type CustomerName = Pick<Customer, 'organizationId' | 'customerId'>

/**
 * Whether an account of any of its cards has less than nothing. The commit that moves an account below zero,
 * or above, says so in an index; only of accounts with very many cards it does not name their customers.
 */
export async function isNegative(store: Store, customer: CustomerName): Promise<boolean> {
  const { organizationId, customerId } = customer
  if (await hasNegative(store, organizationId, customerId)) return true
  if (!(await hasNegative(store, organizationId, ''))) return false
  for await (const page of cardsOfCustomer(store, customer)) {
    const accounts = [...new Set(page.map(({ accountId }) => accountAggregate(accountId)))]
    const roots = await store.load(accounts.map((aggregate) => ({ aggregate, group: '', id: '' })))
    if (roots.some((root) => root && accountCodec.decode(root.value).postedMinor < 0)) return true
  }
  return false
}

/** Of no customer: whether an account is negative that has more cards than are known by name. */
export async function hasNegative(
  store: Store,
  organizationId: string,
  customerId: string,
): Promise<boolean> {
  const prefix = negativePrefix(organizationId, customerId)
  const [found] = await store.range(indexes.negative, prefix, 1)
  return found?.sortKey.startsWith(prefix) === true
}

/** A customer for people and for the API. */
export function shownCustomer(customer: Customer, { cards, negative }: CustomerCards) {
  const { clientReference, email, phoneNumber, address, idType, idLast4, kycToken } = customer
  return {
    customerId: customer.customerId,
    type: customer.type,
    clientReference: clientReference ?? null,
    name: customer.name,
    email: email ?? null,
    phoneNumber: phoneNumber ?? null,
    address: address ?? null,
    idType: idType ?? null,
    idLast4: idLast4 ?? null,
    kycToken: kycToken ?? null,
    kycStatus: customer.suspended ? ('Suspended' as const) : ('Approved' as const),
    cards,
    negative,
    createdAt: new Date(customer.createdAtMs).toISOString(),
  }
}
