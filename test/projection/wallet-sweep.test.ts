import { describe, expect, it } from 'vitest'
import { dayMs } from '../../src/clock.ts'
import { indexes, walletAggregate } from '../../src/engine/format/layout.ts'
import { fundWallet } from '../../src/management/funding.ts'
import { decodeWalletEntry, readWallets } from '../../src/management/wallet.ts'
import { createWalletSweep } from '../../src/projection/wallet-sweep.ts'
import { openSweptWorld, retentionDays, startMs, sweepRound } from '../support/swept-world.ts'

async function openWorld(organizationIds: readonly string[] = ['org-1', 'org-2']) {
  const world = await openSweptWorld(organizationIds)
  const { time, state, store, aggregates, settings } = world
  const fund = (organizationId: string, currency: string) =>
    aggregates.change({
      aggregate: walletAggregate(organizationId, currency),
      decide(view) {
        const named = { transferId: `t${time.ms}`, reference: 'r', narration: '', atMs: time.ms }
        const given = { organizationId, currency, amountMinor: 100 }
        return { result: null, write: fundWallet(view, { ...given, ...named })!.write }
      },
    })
  const turn = createWalletSweep(world.swept)
  const sweep = () => sweepRound(turn)
  const entries = () => [...(state.indexes.get(indexes.walletEntries) ?? [])]
  const walletsOf = (organizationId: string) =>
    readWallets(store, organizationId, settings.currencies)
  return { ...world, fund, turn, sweep, entries, walletsOf }
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
    expect(await sweep()).toBe(2)
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

  it('leave though the record of an organization cannot be read, its own too', async () => {
    const { time, fund, sweep, entries, damage } = await openWorld()
    for (const id of ['org-1', 'org-2']) await fund(id, 'USD')
    time.ms += (retentionDays + 1) * dayMs
    damage('org-1')
    await sweep()
    expect(entries()).toEqual([])
  })

  it('leave the others when one wallet cannot be written, and go on with it in the next round', async () => {
    const { time, fund, swept, entries } = await openWorld()
    for (const id of ['org-1', 'org-2']) await fund(id, 'USD')
    time.ms += (retentionDays + 1) * dayMs
    let fails = true
    const change: typeof swept.aggregates.change = (given) =>
      fails && given.aggregate === walletAggregate('org-1', 'USD')
        ? Promise.reject(new Error('damaged'))
        : swept.aggregates.change(given)
    const turn = createWalletSweep({ ...swept, aggregates: { ...swept.aggregates, change } })
    await expect(turn()).rejects.toThrow('damaged')
    await sweepRound(turn)
    expect(entries()).toHaveLength(1)
    fails = false
    await sweepRound(turn)
    expect(entries()).toEqual([])
  })

  it('leave though as many as are looked at together cannot be taken out, and a round comes to its end', async () => {
    const { time, state, swept, fund, entries } = await openWorld()
    for (let i = 0; i < 201; i++) await fund('org-1', 'USD')
    await fund('org-2', 'USD')
    time.ms += (retentionDays + 1) * dayMs
    const all = state.indexes.get(indexes.walletEntries)!
    const stay = entries().slice(0, 200)
    const change: typeof swept.aggregates.change = async (given) => {
      const changed = await swept.aggregates.change(given)
      for (const [sortKey, value] of stay) all.set(sortKey, value)
      return changed
    }
    const turn = createWalletSweep({ ...swept, aggregates: { ...swept.aggregates, change } })
    for (let turns = 0; (await turn()) && turns < 10; ) expect(++turns).toBeLessThan(10)
    expect(entries()).toHaveLength(200)
  })

  it('are looked for in a few wallets a turn, however many there are', async () => {
    const ids = Array.from({ length: 100 }, (_, i) => `org-${i}`)
    const { time, store, swept, fund, entries } = await openWorld(ids)
    for (const id of ids) await fund(id, 'USD')
    let reads = 0
    const range: typeof store.range = (...given) => {
      reads++
      return store.range(...given)
    }
    const turn = createWalletSweep({ ...swept, store: { ...store, range } })
    const readsOfTurns: number[] = []
    for (let more = true; more; reads = 0) {
      more = await turn()
      readsOfTurns.push(reads)
    }
    expect(readsOfTurns.length).toBe(4)
    expect(Math.max(...readsOfTurns)).toBeLessThanOrEqual(64)
    time.ms += (retentionDays + 1) * dayMs
    await sweepRound(turn)
    expect(entries()).toEqual([])
  })
})
