import { expect, it } from 'vitest'
import { checkMoney, isConserved } from '../../src/backoffice/money-check.ts'
import { formatMinor } from '../../src/domain/record/money.ts'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { walletAggregate } from '../../src/engine/format/layout.ts'
import { RecordUnreadable } from '../../src/engine/format/row-codec.ts'
import { createMemoryStore } from '../support/memory-store.ts'

it('adds up exactly what all wallets have together, also beyond 2^53', async () => {
  const store = createMemoryStore()
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
  const put = (organizationId: string, balanceMinor: number, fundedMinor: number) => {
    const sums = { currency: 'IDR', balanceMinor, fundedMinor, entryCount: 0, lastAtMs: 0 }
    const wallet = { format: 1, organizationId, ...sums }
    return aggregates.change({
      aggregate: walletAggregate(organizationId, 'IDR'),
      decide: () => ({ result: null, write: { root: JSON.stringify(wallet) } }),
    })
  }
  const most = Number.MAX_SAFE_INTEGER
  await put('org-1', most, most)
  await put('org-2', 2, 2)
  const [whole] = await checkMoney(store)
  expect(isConserved(whole!)).toBe(true)
  expect(formatMinor(whole!.fundedMinor, 'IDR')).toBe('90071992547409.93')
  await put('org-2', 1, 2)
  const [short] = await checkMoney(store)
  expect(isConserved(short!)).toBe(false)
})

it('a wallet that has lost a part is one that cannot be read', async () => {
  const value = '{"format":1,"organizationId":"org-1","currency":"USD","balanceMinos":5}'
  const store = createMemoryStore()
  const aggregate = walletAggregate('org-1', 'USD')
  await store.fill([{ kind: 'root', aggregate, version: 'v1', value }])
  await expect(checkMoney(store)).rejects.toThrow(RecordUnreadable)
})
