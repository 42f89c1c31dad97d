import { readCardRow } from '../../wire/card-row.ts'

const cardDefaults = {
  cardId: 'c1',
  customerId: 'cust-1',
  type: 'retail',
  currency: 'USD',
  country: 'US',
  balance: '100.00',
}

/** A card row as the API has it: scenarios write limits beside the other fields. */
export function rowOf(given: Record<string, unknown>): Record<string, unknown> {
  const { dailyLimit, transactionLimit, country, ...rest } = {
    ...cardDefaults,
    ...given,
  } as Record<string, unknown>
  const limits = { dailyLimit, transactionLimit }
  const cardLimits = Object.fromEntries(Object.entries(limits).filter(([, v]) => v !== undefined))
  return { ...rest, ...(country === '' ? {} : { country }), cardLimits }
}

export function readRow(given: Record<string, unknown>) {
  const row = readCardRow(rowOf(given))
  if (Array.isArray(row)) throw new Error(row.map((p) => `${p.field}: ${p.message}`).join('; '))
  return row
}

/** The settings of the changed row that the change names. */
export function settingsOf(given: Record<string, unknown>, set: Record<string, unknown>) {
  const { card } = readRow({ ...given, ...set })
  const names = {
    status: ['status', 'terminatedBy'],
    dailyLimit: ['dailyLimitMinor'],
    transactionLimit: ['transactionLimitMinor'],
    whiteListedMccs: ['allowedMccs'],
    blackListedMccs: ['blockedMccs'],
    whiteListedMids: ['allowedMids'],
    blackListedMids: ['blockedMids'],
    unblockedMids: ['unblockedMids'],
    contactlessPayment: ['contactlessPayment'],
    metadata: ['metadata'],
  } as const
  const picked = Object.keys(set).flatMap((name) => names[name as keyof typeof names])
  return Object.fromEntries(picked.map((name) => [name, card[name]]))
}
