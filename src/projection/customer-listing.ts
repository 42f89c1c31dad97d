import { customerAggregate, customersPrefix, indexes } from '../engine/format/layout.ts'
import { type Customer, decodeCustomer, sumOfCards } from '../management/customer.ts'
import type { Store } from '../store/port.ts'
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
export function customerListing(
  store: Store,
  organizationId: string,
  filters: CustomerFilters,
  span: Span,
): Listing<ListedCustomer> {
  return {
    index: indexes.customers,
    prefix: customersPrefix(organizationId, filters.clientReference),
    ...span,
    async read(entries) {
      const keys = entries.map(({ value }) => ({
        aggregate: customerAggregate(value),
        group: '',
        id: '',
      }))
      const found = await store.load(keys)
      return Promise.all(
        found.map(async (root) => {
          const customer = root === undefined ? null : decodeCustomer(root.value)
          if (customer === null || !matches(customer, filters)) return null
          const sum = await sumOfCards(store, customer)
          const { negative = sum.negative } = filters
          return sum.negative === negative ? { customer, sum } : null
        }),
      )
    },
  }
}

function matches(
  customer: Customer,
  { type, clientReference, name = '' }: CustomerFilters,
): boolean {
  return (
    (type === undefined || customer.type === type) &&
    (clientReference === undefined || customer.clientReference === clientReference) &&
    folded(customer.name).startsWith(folded(name))
  )
}

function folded(name: string): string {
  return name.normalize('NFKD').toLowerCase()
}
