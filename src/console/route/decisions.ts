import { z } from 'zod'
import {
  createFilter,
  type Filter,
  type Filters,
  type FoundEntry,
  searchPage,
} from '../../backoffice/log-search.ts'
import { accountAggregate, cardKey } from '../../engine/format/layout.ts'
import { decodeCard } from '../../engine/quarantine/damage.ts'
import { lookBounds, type Office, packCursor, unpackCursor } from '../office.ts'
import { type ConsoleRoute, defineConsoleRoute } from '../route.ts'
import type { DecisionList, DecisionRow } from '../shape/decision.ts'
import { decisionRow, isDecision } from './decision-row.ts'

const shortText = z.string().min(1).max(200)
const wholeNumber = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number)

const decimal = z.string().regex(/^\d{1,12}(\.\d{1,4})?$/)

/** The filters of a page's address; what is empty is no filter. */
export const filterInput = z.preprocess(
  (given) =>
    typeof given === 'object' && given !== null
      ? Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''))
      : given,
  z.object({
    card: shortText.optional(),
    account: shortText.optional(),
    customer: shortText.optional(),
    merchant: shortText.optional(),
    mcc: shortText.optional(),
    country: shortText.optional(),
    code: shortText.optional(),
    rule: shortText.optional(),
    decidedBy: z.enum(['engine', 'default']).optional(),
    event: shortText.optional(),
    transaction: shortText.optional(),
    min: decimal.optional(),
    max: decimal.optional(),
    since: wholeNumber.optional(),
    until: wholeNumber.optional(),
    before: z.string().max(200).optional(),
    outcome: z.enum(['approved', 'declined']).optional(),
  }),
)

export type GivenFilters = z.output<typeof filterInput>

const rowsPerPage = 100

export function decisionRoutes(office: Office): ConsoleRoute[] {
  return [
    defineConsoleRoute({
      method: 'GET',
      path: '/data/decisions',
      input: filterInput,
      handle: (given) => listDecisions(given, office),
    }),
  ]
}

/** Whose an entry is its card says: those of a customer are sought some at a time, as far as one look goes. */
async function listDecisions(given: GivenFilters, office: Office): Promise<DecisionList> {
  const bounds = lookBounds(office)
  const filter = decisionFilter(given)
  const limit = given.customer === undefined ? rowsPerPage : 5 * rowsPerPage
  const rows: DecisionRow[] = []
  let next = given.before === undefined ? '' : unpackCursor(given.before)
  let looked = 0
  let lookedToMs = 0
  do {
    const maxLooked = bounds.maxLooked - looked
    const page = await searchPage(office.store, filter, next, { ...bounds, maxLooked, limit })
    rows.push(...(await decisionRows(page.found, given, office)))
    looked += page.looked
    lookedToMs = page.lookedToMs || lookedToMs
    next = page.next
  } while (
    next !== '' &&
    rows.length < rowsPerPage &&
    looked < bounds.maxLooked &&
    bounds.mayGoOn()
  )
  return { rows, looked, lookedToMs, next: next === '' ? '' : packCursor(next) }
}

export function decisionFilter(given: GivenFilters): Filter {
  const { min: minAmount, max: maxAmount, outcome, before: _, customer: __, ...same } = given
  const filters = { ...same, minAmount, maxAmount }
  const set = Object.entries(filters).filter(([, value]) => value !== undefined)
  const filter = createFilter(Object.fromEntries(set) as Filters)
  return (line) => {
    const found = filter(line)
    if (found === null || !isDecision(found.entry)) return null
    if (outcome === undefined) return found
    return (found.entry.answer?.code === '000') === (outcome === 'approved') ? found : null
  }
}

/** Those of the customer that is asked for, as pages show them. */
export async function decisionRows(
  found: readonly FoundEntry[],
  { customer }: GivenFilters,
  office: Office,
): Promise<DecisionRow[]> {
  return (await ofCustomer(found, customer, office)).map(({ cursor, entry }) =>
    decisionRow(cursor, entry, office.figures.delivered(entry.slot)),
  )
}

/** The log knows cards, not customers: each card is asked whose it is. */
async function ofCustomer(
  found: readonly FoundEntry[],
  customer: string | undefined,
  { store }: Office,
): Promise<readonly FoundEntry[]> {
  if (customer === undefined) return found
  const cards = new Map(
    found.map(({ entry }) => [
      entry.cardId,
      { aggregate: accountAggregate(entry.accountId), ...cardKey(entry.cardId) },
    ]),
  )
  const ids = [...cards.keys()].filter((id) => id !== '')
  const loaded = await store.load(ids.map((id) => cards.get(id)!))
  const owned = new Set(
    ids.filter((id, i) => {
      const value = loaded[i]?.value
      return value !== undefined && customerOf(id, value) === customer
    }),
  )
  return found.filter(({ entry }) => owned.has(entry.cardId))
}

/** A card that cannot be read is nobody's. */
function customerOf(cardId: string, value: string): string {
  try {
    return decodeCard(cardId, value).customerId
  } catch {
    return ''
  }
}
