import type { Card } from '../domain/record/card.ts'
import { type CardNarrowing, organizationCardsPrefix } from '../engine/format/card-index.ts'
import { customerCardsPrefix, indexes } from '../engine/format/layout.ts'
import { readableCards, type WholeCard } from '../management/card.ts'
import { hasNegative } from '../management/customer.ts'
import type { Store } from '../store/port.ts'
import type { Listing, Span } from './listing.ts'

/** What cards are asked for; what is absent asks for all. */
export interface CardFilters {
  readonly status?: Card['status'] | undefined
  readonly type?: Card['type'] | undefined
  readonly customerId?: string | undefined
  readonly currency?: string | undefined
  readonly negative?: boolean | undefined
}

/** The cards of an organization, or of one of its customers, that a filter lets through. */
export async function cardListing(
  store: Store,
  organizationId: string,
  filters: CardFilters,
  span: Span,
  onUnreadable: (cardId: string) => void = () => {},
): Promise<Listing<WholeCard>> {
  const { customerId } = filters
  const narrowing = await narrowingOf(store, organizationId, filters)
  const place =
    customerId === undefined
      ? {
          index: indexes.organizationCards,
          prefix: organizationCardsPrefix(organizationId, narrowing),
        }
      : { index: indexes.customerCards, prefix: customerCardsPrefix(organizationId, customerId) }
  return {
    ...place,
    ...span,
    async read(entries) {
      const places = entries.map(({ sortKey, value }) => ({
        cardId: sortKey.slice(sortKey.lastIndexOf('\n') + 1),
        accountId: value,
      }))
      const cards = await readableCards(store, places, onUnreadable)
      return cards.map((one) => {
        const own = one?.account.organizationId === organizationId
        return own && matches(one, filters) ? one : null
      })
    },
  }
}

/** The list that probably has the fewest others. */
async function narrowingOf(
  store: Store,
  organizationId: string,
  { negative, status, type, currency }: CardFilters,
): Promise<CardNarrowing> {
  if (negative && !(await hasNegative(store, organizationId, ''))) return 'negative'
  if (status !== undefined && status !== 'Active') return status
  if (type !== undefined && type !== 'retail') return type
  return currency ?? status ?? type ?? ''
}

function matches({ card, account }: WholeCard, filters: CardFilters): boolean {
  const { status, type, currency, negative } = filters
  return (
    (status === undefined || card.status === status) &&
    (type === undefined || card.type === type) &&
    (currency === undefined || account.currency === currency) &&
    (negative === undefined || account.postedMinor < 0 === negative)
  )
}
