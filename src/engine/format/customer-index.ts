import type { customerTypes } from '../../domain/record/card.ts'
import { hash64 } from '../../domain/record/event.ts'
import type { IndexEntryPut } from '../../store/port.ts'
import { indexes } from './layout.ts'
import { newestFirst } from './newest-first.ts'

/** What a list of an organization's customers is narrowed by; each narrowing has entries of its own. */
export interface CustomerNarrowing {
  readonly type?: (typeof customerTypes)[number] | undefined
  /** As the business calls them. */
  readonly clientReference?: string | undefined
  /** What the name begins with, in any case. */
  readonly name?: string | undefined
}

/**
 * How much of a name has a list of its own, so that who types one letter after another finds few others: of
 * five letters the list of four is read, and what does not begin so is passed over.
 */
const nameLengths = [16, 8, 4, 2]

/** What the sort keys of the list with the fewest others begin with. */
export function customersPrefix(organizationId: string, narrowed: CustomerNarrowing): string {
  const { type, clientReference = '', name = '' } = narrowed
  // These may have any characters: a hash stands for them, and who reads the list compares.
  if (clientReference !== '') return `${organizationId}\n${hash64(clientReference)}\n`
  const letters = [...foldedName(name)]
  const length = nameLengths.find((least) => letters.length >= least)
  if (length !== undefined) {
    return `${organizationId}\nn${length}${hash64(letters.slice(0, length).join(''))}\n`
  }
  return `${organizationId}\n${type ?? ''}\n`
}

/** A name as it is compared. */
export function foldedName(name: string): string {
  return name.normalize('NFKD').toLowerCase()
}

/** Where a customer stands in the lists of its organization, for good. */
export function customerIndexEntries(
  customer: CustomerNarrowing & {
    readonly organizationId: string
    readonly customerId: string
    readonly name: string
    readonly createdAtMs: number
  },
): IndexEntryPut[] {
  const { organizationId, customerId, clientReference, type, createdAtMs } = customer
  const letters = [...foldedName(customer.name)]
  const narrowings: CustomerNarrowing[] = [
    {},
    { type },
    { clientReference },
    ...nameLengths
      .filter((length) => letters.length >= length)
      .map((length) => ({ name: letters.slice(0, length).join('') })),
  ]
  const prefixes = narrowings.map((narrowing) => customersPrefix(organizationId, narrowing))
  return [...new Set(prefixes)].map((prefix) => ({
    index: indexes.customers,
    sortKey: prefix + customerPlace(createdAtMs, customerId),
    value: customerId,
  }))
}

/** What follows the prefix in every list. */
export function customerPlace(createdAtMs: number, customerId: string): string {
  return `${newestFirst(createdAtMs)}\n${customerId}`
}
