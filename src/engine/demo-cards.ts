import type { Store } from '../store/port.ts'
import type { Engine } from './engine.ts'
import { accountCodec } from './format/codec.ts'
import { accountAggregate, indexes } from './format/layout.ts'
import { importRows } from './import.ts'
import type { DemoCard } from './messages.ts'

const common = {
  status: 'Active',
  organizationId: 'organization-1',
  currency: 'USD',
  country: 'US',
  expiry: '2031-12',
} as const

/** A few cards to try things on; only ever put into an empty embedded store. */
const demoCards: readonly Record<string, unknown>[] = [
  {
    ...common,
    cardId: 'card-1',
    customerId: 'customer-1',
    accountId: 'account-1',
    type: 'retail',
    balance: '500.00',
    cardLimits: { dailyLimit: '400.00', transactionLimit: '250.00' },
    blackListedMccs: ['7995'],
  },
  {
    ...common,
    cardId: 'card-2',
    customerId: 'customer-2',
    accountId: 'account-2',
    type: 'corporate',
    balance: '10000.00',
    blackListedMids: ['MID-BLOCKED'],
  },
  {
    ...common,
    cardId: 'card-3',
    customerId: 'customer-2',
    accountId: 'account-2',
    type: 'corporate',
  },
  {
    ...common,
    cardId: 'card-4',
    customerId: 'customer-3',
    accountId: 'account-4',
    type: 'lite',
    balance: '50.00',
    swipeCount: 3,
  },
]

/** Into an empty store. */
export async function addDemoCards(store: Store, engine: Engine): Promise<void> {
  if ((await store.range(indexes.cards, '', 1)).length > 0) return
  await importRows(demoCards, engine)
}

export async function findDemoCard(store: Store): Promise<DemoCard | null> {
  const [first] = await store.range(indexes.cards, '', 1)
  if (first === undefined) return null
  const [root] = await store.load([{ aggregate: accountAggregate(first.value), group: '', id: '' }])
  if (root === undefined) return null
  try {
    return { cardId: first.sortKey, currency: accountCodec.decode(root.value).currency }
  } catch {
    // No card to try is better than no engine.
    return null
  }
}
