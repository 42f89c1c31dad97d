import { expect, it } from 'vitest'
import type { Entry } from '../../src/domain/ledger/entry.ts'
import { rowsOf } from '../../src/projection/entry-rows.ts'

const owner = { organizationId: 'org-1', customerId: 'customer-1', currency: 'USD' }
const entry: Entry = {
  kind: 'operated',
  n: 6,
  atMs: 1_000,
  accountId: 'account-1',
  cardId: 'card-1',
  transaction: ['card-1', 'txn-1'],
  linked: null,
  eventKey: '',
  event: null,
  slot: '',
  answer: null,
  unmatched: '',
  reason: '',
  anomalies: [],
  matchedRules: [],
  shadowRules: [],
  changes: [{ type: 'chargeTaken', amountMinor: 23 }],
}

it('has the Reference of the call that took a pending charge', () => {
  const charge = { type: 'CrossBorderCharge', amountMinor: 23, transactionId: 'txn-1' }
  const called = { ...entry, origin: 'api cli_1 Ref-1' }
  expect(rowsOf(called, owner)).toMatchObject([{ ...charge, reference: 'Ref-1' }])
  expect(rowsOf(entry, owner)).toMatchObject([{ ...charge, reference: '' }])
})
