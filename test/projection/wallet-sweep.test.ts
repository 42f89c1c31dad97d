import { describe, expect, it } from 'vitest'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { indexes, walletAggregate } from '../../src/engine/format/layout.ts'
import { fundWallet } from '../../src/management/funding.ts'
import { addOrganization } from '../../src/management/organization.ts'
import { decodeWalletEntry, readWallets } from '../../src/management/wallet.ts'
import { sweepWalletEntries } from '../../src/projection/wallet-sweep.ts'
import { createMemoryState, createMemoryStore } from '../support/memory-store.ts'

const dayMs = 86_400_000
const retentionDays = 30
const startMs = Date.UTC(2026, 0, 1, 12)

async function openWorld() {
  const time = { ms: startMs, doubted: false }
  const state = createMemoryState()
  const clock = { nowMs: () => time.ms, monoMs: () => time.ms, isDoubted: () => time.doubted }
  const store = createMemoryStore(state, { nowMs: clock.nowMs })
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
  const settings = {
    name: 'Acme',
    country: 'US',
    currencies: ['NGN', 'USD'],
    defaultDecision: 'decline' as const,
    maxTopUpMinor: {},
    minimumBalanceMinor: {},
    cardValidityMonths: 36,
  }
  for (const id of ['org-1', 'org-2']) await addOrganization(aggregates, id, settings, startMs)
  const fund = (organizationId: string, currency: string) =>
    aggregates.change({
      aggregate: walletAggregate(organizationId, currency),
      decide(view) {
        const named = { transferId: `t${time.ms}`, reference: 'r', narration: '', atMs: time.ms }
        const given = { organizationId, currency, amountMinor: 100 }
        return { result: null, write: fundWallet(view, { ...given, ...named })!.write }
      },
    })
  const sweep = async () => {
    let turns = 0
    while (await sweepWalletEntries({ store, aggregates, clock, retentionDays })) turns++
    return turns
  }
  const entries = () => [...(state.indexes.get(indexes.walletEntries) ?? [])]
  const walletsOf = (organizationId: string) =>
    readWallets(store, organizationId, settings.currencies)
  return { time, fund, sweep, entries, walletsOf }
}

describe('entries of a wallet whose time is over', () => {
  it('leave its statement, those of every wallet and no others, and its sums stay', async () => {
    const { time, fund, sweep, entries, walletsOf } = await openWorld()
    for (let day = 0; day < 40; day++) {
      time.ms = startMs + day * dayMs
      await fund('org-1', 'USD')
      await fund('org-2', 'NGN')
    }
    const before = await walletsOf('org-1')
    await sweep()
    expect(entries()).toHaveLength(2 * 31)
    const oldestMs = Math.min(...entries().map(([, value]) => decodeWalletEntry(value).atMs))
    expect(oldestMs).toBe(time.ms - retentionDays * dayMs)
    expect(await walletsOf('org-1')).toEqual(before)
    expect(before[1]).toMatchObject({ balanceMinor: 4_000, fundedMinor: 4_000, entryCount: 40 })
    time.ms += 100 * dayMs
    await sweep()
    expect(entries()).toEqual([])
    await fund('org-1', 'USD')
    expect(entries().map(([, value]) => decodeWalletEntry(value).balanceMinor)).toEqual([4_100])
  })

  it('go in portions', async () => {
    const { time, fund, sweep, entries } = await openWorld()
    for (let i = 0; i < 401; i++) await fund('org-2', 'USD')
    time.ms += (retentionDays + 1) * dayMs
    expect(await sweep()).toBe(3)
    expect(entries()).toEqual([])
  })

  it('stay while the clock is doubted', async () => {
    const { time, fund, sweep, entries } = await openWorld()
    await fund('org-1', 'USD')
    time.ms += 400 * dayMs
    time.doubted = true
    await sweep()
    expect(entries()).toHaveLength(1)
  })
})
