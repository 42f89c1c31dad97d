const common = {
  status: 'Active',
  organizationId: 'organization-1',
  currency: 'USD',
  country: 'US',
  expiry: '2031-12',
} as const

/** A few cards to try things on; only ever put into an empty embedded store. */
export const demoCards: readonly Record<string, unknown>[] = [
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
