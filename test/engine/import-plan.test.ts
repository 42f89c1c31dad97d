import { describe, expect, it } from 'vitest'
import { createImportPlan } from '../../src/engine/import-plan.ts'
import type { ReadRow } from '../../src/wire/card-row.ts'

const row = (cardId: string, given: Record<string, unknown> = {}) => ({
  cardId,
  customerId: 'customer',
  accountId: 'shared',
  type: 'retail',
  currency: 'USD',
  ...given,
})

describe('an import plan', () => {
  it('gives every card of an account what any row said of it, in any order', () => {
    const rows = [row('a'), row('b', { balance: '77', country: 'NG' }), row('c', { balance: 77 })]
    for (const order of [rows, [...rows].reverse(), [rows[1], rows[0], rows[2]]]) {
      const plan = createImportPlan()
      const read = order.map((json) => plan.add(json) as ReadRow)
      for (const { account } of read.map(plan.complete)) {
        expect(account).toMatchObject({ openingMinor: 7700, postedMinor: 7700, country: 'NG' })
      }
    }
  })

  it('names what contradicts an earlier row', () => {
    const plan = createImportPlan()
    plan.add(row('a', { balance: '77', country: 'NG', organizationId: 'one' }))
    const other = { balance: '78', country: 'US', organizationId: 'two' }
    expect(plan.add(row('b', other))).toEqual([
      { field: 'country', message: 'account shared has NG by an earlier row' },
      { field: 'organizationId', message: 'account shared has one by an earlier row' },
      { field: 'balance', message: 'account shared has 77.00 by an earlier row' },
    ])
    expect(plan.add(row('b', { balance: '77', currency: 'EUR' }))).toEqual([
      { field: 'currency', message: 'account shared has USD by an earlier row' },
    ])
    expect(plan.add(row('a'))).toMatchObject([{ field: 'cardId' }])
  })

  it('takes no more rows than it can keep in memory', () => {
    const plan = createImportPlan(2)
    for (const cardId of ['a', 'b']) expect(plan.add(row(cardId))).toMatchObject({ card: {} })
    expect(plan.add(row('c'))).toEqual([
      { field: '', message: 'more than 2 rows: divide the file, rows of one account together' },
    ])
  })
})
