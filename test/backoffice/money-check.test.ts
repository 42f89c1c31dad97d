import { expect, it } from 'vitest'
import { checkMoney, createPartsCheck, isConserved } from '../../src/backoffice/money-check.ts'
import { type Account, noAccount } from '../../src/domain/record/account.ts'
import { formatMinor } from '../../src/domain/record/money.ts'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { accountCodec } from '../../src/engine/format/codec.ts'
import { accountAggregate, walletAggregate } from '../../src/engine/format/layout.ts'
import { RecordUnreadable } from '../../src/engine/format/row-codec.ts'
import { givenWord, inboxPlace, movingEntry } from '../../src/management/transfer/transfer.ts'
import { filesOf, runLive, traffic, withPeople } from '../support/backtest-world.ts'
import { createMemoryStore } from '../support/memory-store.ts'
import { openSteps } from '../support/step-world.ts'

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

it('what is on its way counts until it has arrived, whatever is kept of what arrived before', async () => {
  const { store, steps, debit, aggregates } = await openSteps()
  const check = async () => {
    const [money] = await checkMoney(store)
    expect(isConserved(money!)).toBe(true)
    return money!.onTheWayMinor
  }
  const transfer = await debit('T1')
  const word = { kind: 'child', aggregate: 'a:account-1', group: 'i@99999' } as const
  await store.fill([{ ...word, id: 'T0', value: 'no word' }])
  expect(await check()).toBe(1_000n)
  // The word of one that was given after a loss stands at its source, under the same id.
  const given = { ...word, aggregate: 'a:account-0', group: inboxPlace(transfer).group }
  await steps.credit(transfer)
  await store.fill([{ ...given, id: 'T1', value: givenWord }])
  expect(await check()).toBe(0n)
  const unindex = [movingEntry(transfer)]
  const decide = () => ({ result: null, write: { unindex } })
  await aggregates.change({ aggregate: 'somebody', decide })
  expect(await check()).toBe(0n)
})

it('what is held, withheld and pending of an account is what its transactions say, also when others were forgotten', async () => {
  const minutes = 240
  const charging = filesOf({ 'pack.yaml': 'crossBorder: { fixed: 2.00, percent: 9 }' })
  const spread = withPeople(17, traffic(17, 500, 9)).map((arrival, i) => {
    const atMs = arrival.atMs + i * minutes * 60_000
    return { ...arrival, atMs, event: { ...arrival.event, occurredAtMs: atMs } }
  })
  const { store } = await runLive(charging, spread, 9)
  const seen = { transactions: 0, money: new Set<string>() }
  async function differences(change: (account: Account) => Partial<Account>): Promise<string[]> {
    const check = createPartsCheck()
    for await (const page of store.scan()) {
      for (const record of page) {
        if (record.kind === 'child' && record.group === 't') seen.transactions++
        if (record.kind !== 'root' || !record.aggregate.startsWith('a:')) {
          check.look(record)
          continue
        }
        const account = accountCodec.decode(record.value)
        for (const name of ['heldMinor', 'withheldMinor', 'chargesPendingMinor'] as const) {
          if (account[name] > 0) seen.money.add(name)
        }
        const changed = account.accountId === 'account-1' ? change(account) : {}
        check.look({ ...record, value: accountCodec.encode({ ...account, ...changed }) })
      }
    }
    return (await check.differences(store)).told
  }
  expect(await differences(() => ({}))).toEqual([])
  expect(seen.transactions).toBeLessThan(400)
  expect(seen.money.size).toBe(3)
  expect(await differences(({ heldMinor }) => ({ heldMinor: heldMinor + 5 }))).toEqual([
    'account-1 held: 0.05 USD more than its transactions say',
  ])
  expect(
    await differences(({ withheldMinor }) => ({ withheldMinor: withheldMinor - 100 })),
  ).toEqual(['account-1 withheld: 1.00 USD less than its transactions say'])
})

it('of many accounts that do not agree the first are told, and all are counted', async () => {
  const records = Array.from({ length: 150 }, (_, i) => {
    const accountId = `account-${i}`
    const value = accountCodec.encode({ ...noAccount, accountId, currency: 'USD', heldMinor: 5 })
    return { kind: 'root', aggregate: accountAggregate(accountId), version: 'v1', value } as const
  })
  const store = createMemoryStore()
  await store.fill(records)
  const check = createPartsCheck()
  for (const record of records) check.look(record)
  const { told, count } = await check.differences(store)
  expect(told).toHaveLength(100)
  expect(told[99]).toBe('account-99 held: 0.05 USD more than its transactions say')
  expect(count).toBe(150)
})
