import { expect, it } from 'vitest'
import { indexes } from '../../src/engine/format/layout.ts'
import { RecordUnreadable } from '../../src/engine/format/row-codec.ts'
import { createKycFollowUp } from '../../src/kyc/follow-up.ts'
import { StoreError } from '../../src/store/port.ts'
import { createMemoryState, createMemoryStore } from '../support/memory-store.ts'

it('16 open verifications are followed up at once; when one ends, the next is', async () => {
  const state = createMemoryState()
  const tokens = Array.from({ length: 20 }, (_, i) => `kyc_${String(i).padStart(2, '0')}`)
  const entries = tokens.map((token) => [`${'0'.repeat(15)}\n${token}`, token] as const)
  state.indexes.set(indexes.kycsDue, new Map(entries))
  const ends: (() => void)[] = []
  const begun: string[] = []
  const followUp = createKycFollowUp({
    store: createMemoryStore(state),
    clock: { nowMs: () => 1, monoMs: () => 1 },
    desk: {
      followUp: (token) => {
        begun.push(token)
        return new Promise((resolve) => ends.push(resolve as () => void))
      },
    },
    owns: () => true,
    onTrouble: () => {},
  })
  await followUp.look()
  await followUp.look()
  followUp.wake('kyc_19')
  expect(begun).toEqual(tokens.slice(0, 16))
  ends[3]!()
  await new Promise((resolve) => setImmediate(resolve))
  state.indexes.get(indexes.kycsDue)!.delete(entries[3]![0])
  await followUp.look()
  expect(begun).toEqual(tokens.slice(0, 17))
})

it('those that fail by themselves rest for a minute, and keep no other from being followed up', async () => {
  const state = createMemoryState()
  const tokens = Array.from({ length: 117 }, (_, i) => `kyc_${String(i).padStart(3, '0')}`)
  const entries = tokens.map((token) => [`${'0'.repeat(15)}\n${token}`, token] as const)
  state.indexes.set(indexes.kycsDue, new Map(entries))
  const begun: string[] = []
  let troubles = 0
  let ms = 1
  const followUp = createKycFollowUp({
    store: createMemoryStore(state),
    clock: { nowMs: () => ms, monoMs: () => ms },
    desk: {
      async followUp(token) {
        begun.push(token)
        if (token !== 'kyc_116') throw new RecordUnreadable('a KYC was written by a newer release')
      },
    },
    owns: () => true,
    onTrouble: () => {
      troubles++
    },
  })
  const look = async () => {
    await followUp.look()
    await new Promise((resolve) => setImmediate(resolve))
    ms += 500
  }
  for (let i = 0; i < 8; i++) await look()
  expect([begun, troubles]).toEqual([tokens, 116])
  ms += 60_000
  await look()
  expect(begun.slice(117)).toEqual(tokens.slice(0, 16))
})

it("what is not due, or is another instance's, is left alone, and nothing rests because the store is away", async () => {
  const state = createMemoryState()
  const entries = ['a', 'b', 'c'].map((token, i) => {
    return [`${String(i + 10).padStart(15, '0')}\n${token}`, token] as const
  })
  state.indexes.set(indexes.kycsDue, new Map(entries))
  const begun: string[] = []
  const followUp = createKycFollowUp({
    store: createMemoryStore(state),
    clock: { nowMs: () => 11, monoMs: () => 11 },
    desk: {
      async followUp(token) {
        begun.push(token)
        throw new StoreError('the store is away', 'no')
      },
    },
    owns: (token) => token !== 'a',
    onTrouble: () => {},
  })
  for (let i = 0; i < 2; i++) {
    await followUp.look()
    await new Promise((resolve) => setImmediate(resolve))
  }
  followUp.wake('a')
  expect(begun).toEqual(['b', 'b'])
})

it('of more than 10,000 that fail by themselves, the one that failed longest ago is tried again sooner', async () => {
  const tried: string[] = []
  const followUp = createKycFollowUp({
    store: createMemoryStore(createMemoryState()),
    clock: { nowMs: () => 1, monoMs: () => 1 },
    desk: {
      async followUp(token) {
        tried.push(token)
        throw new RecordUnreadable('a KYC was written by a newer release')
      },
    },
    owns: () => true,
    onTrouble: () => {},
  })
  const wake = async (token: string) => {
    followUp.wake(token)
    await new Promise((resolve) => setImmediate(resolve))
  }
  for (let i = 0; i < 10_000; i++) await wake(`kyc_${i}`)
  await wake('kyc_0')
  expect(tried).toHaveLength(10_000)
  await wake('kyc_10000')
  await wake('kyc_0')
  await wake('kyc_2')
  expect(tried.slice(10_000)).toEqual(['kyc_10000', 'kyc_0'])
})

it('those that a node which is away does not have are followed up', async () => {
  const begun: string[] = []
  const store = createMemoryStore(createMemoryState())
  const entries = [{ sortKey: `${'0'.repeat(15)}\nkyc_1`, value: 'kyc_1' }]
  const followUp = createKycFollowUp({
    store: {
      ...store,
      range: () => Promise.reject(new StoreError('a node is away', 'no')),
      rangeReachable: async () => ({ entries, unread: 1 }),
    },
    clock: { nowMs: () => 1, monoMs: () => 1 },
    desk: { followUp: async (token) => void begun.push(token) },
    owns: () => true,
    onTrouble: () => {},
  })
  await followUp.look()
  expect(begun).toEqual(['kyc_1'])
})
