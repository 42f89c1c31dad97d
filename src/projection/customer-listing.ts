import { negativePrefix } from '../engine/format/account-cards.ts'
import { customerPlace, customersPrefix, foldedName } from '../engine/format/customer-index.ts'
import { customerAggregate, indexes } from '../engine/format/layout.ts'
import { RecordUnreadable, unlessUnreadable } from '../engine/format/row-codec.ts'
import { type Customer, decodeCustomer, hasNegative, sumOfCards } from '../management/customer.ts'
import type { IndexEntry, Store } from '../store/port.ts'
import type { Listing, Span } from './listing.ts'

/** What customers are asked for; what is absent asks for all. */
export interface CustomerFilters {
  readonly type?: Customer['type'] | undefined
  readonly clientReference?: string | undefined
  /** What the name begins with, in any case. */
  readonly name?: string | undefined
  readonly negative?: boolean | undefined
}

export interface ListedCustomer {
  readonly customer: Customer
  readonly sum: Awaited<ReturnType<typeof sumOfCards>>
}

/** The customers of an organization that a filter lets through. */
export async function customerListing(
  store: Store,
  organizationId: string,
  filters: CustomerFilters,
  span: Span,
  onUnreadable: (customerId: string) => void = () => {},
): Promise<Listing<ListedCustomer>> {
  const prefix = customersPrefix(organizationId, { ...filters, name: listedStart(filters.name) })
  const negative = filters.negative
    ? await negativeCustomers(store, organizationId, onUnreadable)
    : null
  return {
    index: indexes.customers,
    prefix,
    ...span,
    ...(negative !== null && { range: rangeOver(negative, prefix) }),
    async read(entries) {
      const customers = await readCustomers(
        store,
        entries.map(({ value }) => value),
        onUnreadable,
      )
      return Promise.all(
        customers.map(async (customer) => {
          if (customer === null || !matches(customer, filters)) return null
          const sum = await sumOfCards(store, customer).catch(passOver)
          if (sum === null) {
            onUnreadable(customer.customerId)
            return null
          }
          const { negative = sum.negative } = filters
          return sum.negative === negative ? { customer, sum } : null
        }),
      )
    },
  }
}

/** An account that cannot be read says nothing of its customer, and keeps no other from the list. */
function passOver(error: unknown): null {
  if (error instanceof RecordUnreadable) return null
  throw error
}

/** With more of them, those that are negative are looked for among all customers. */
const maxNegative = 2_000

/**
 * All customers that are negative, in the order of the lists; null when they are too many, or not all known
 * by name. The index names them under their accounts, in no order of time: an account's commit knows no
 * more of its customers than their ids.
 */
async function negativeCustomers(
  store: Store,
  organizationId: string,
  onUnreadable: (customerId: string) => void,
): Promise<readonly string[] | null> {
  if (await hasNegative(store, organizationId, '')) return null
  const prefix = negativePrefix(organizationId, '').slice(0, -1)
  const entries = await store.range(indexes.negative, prefix, maxNegative + 1)
  const own = entries.filter(({ sortKey }) => sortKey.startsWith(prefix))
  if (own.length > maxNegative) return null
  const ids = new Set(own.map(({ sortKey }) => sortKey.slice(prefix.length).split('\n')[0]!))
  const customers = await readCustomers(store, [...ids], onUnreadable)
  return customers
    .flatMap((one) => (one === null ? [] : [customerPlace(one.createdAtMs, one.customerId)]))
    .sort()
}

function rangeOver(places: readonly string[], prefix: string) {
  return async (after: string, limit: number): Promise<readonly IndexEntry[]> =>
    places
      .map((place) => ({ sortKey: prefix + place, value: place.slice(place.indexOf('\n') + 1) }))
      .filter(({ sortKey }) => sortKey > after)
      .slice(0, limit)
}

async function readCustomers(
  store: Store,
  ids: readonly string[],
  onUnreadable: (customerId: string) => void,
): Promise<readonly (Customer | null)[]> {
  const found = await store.load(
    ids.map((id) => ({ aggregate: customerAggregate(id), group: '', id: '' })),
  )
  return found.map((root, i) => {
    if (root === undefined) return null
    const customer = unlessUnreadable(() => decodeCustomer(root.value))
    if (customer === null) onUnreadable(ids[i]!)
    return customer
  })
}

function matches(
  customer: Customer,
  { type, clientReference, name = '' }: CustomerFilters,
): boolean {
  return (
    (type === undefined || customer.type === type) &&
    (clientReference === undefined || customer.clientReference === clientReference) &&
    comparedName(customer.name).startsWith(comparedName(name))
  )
}

/** A Σ has another small letter where a word ends, and what was typed so far may end before its word does. */
function listedStart(name = ''): string {
  return name.replace(/[Σσς]+$/, '')
}

function comparedName(name: string): string {
  return foldedName(name).replaceAll('ς', 'σ')
}
