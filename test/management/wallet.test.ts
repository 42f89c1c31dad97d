import { expect, it } from 'vitest'
import { maxSideMinor } from '../../src/domain/record/movement.ts'
import {
  decodeWalletEntry,
  emptyWallet,
  moveWallet,
  type Wallet,
} from '../../src/management/wallet.ts'

const funding = {
  transferId: 'trf-1',
  type: 'WalletFunding',
  cardId: '',
  reference: 'r-1',
  narration: '',
  atMs: 1,
} as const

it('is funded with no more than can be added up exactly, in all its life', () => {
  const wallet = { ...emptyWallet('org-1', 'USD'), fundedMinor: Number.MAX_SAFE_INTEGER - 5 }
  expect(moveWallet(wallet, { ...funding, amountMinor: 6 })).toBe('full')
  expect(moveWallet(wallet, { ...funding, amountMinor: 5 })).toMatchObject({
    wallet: { balanceMinor: 5, fundedMinor: Number.MAX_SAFE_INTEGER },
  })
})

it('gives no more than it has and gets no more than can be kept, but for what is only put right', () => {
  const wallet = { ...emptyWallet('org-1', 'USD'), balanceMinor: 5 }
  const moving = (amountMinor: number) => ({ ...funding, type: 'TopUp', amountMinor }) as const
  const left = (from: Wallet, amountMinor: number, always = false) => {
    const moved = moveWallet(from, moving(amountMinor), always)
    return typeof moved === 'string' ? moved : moved.wallet.balanceMinor
  }
  expect([left(wallet, -5), left(wallet, -6), left(wallet, -6, true)]).toEqual([0, 'short', -1])
  // One that a loss has left below zero still gets.
  expect(left({ ...wallet, balanceMinor: -5 }, 3)).toBe(-2)
  const room = maxSideMinor - 5
  expect([left(wallet, room), left(wallet, room + 1), left(wallet, room + 1, true)]).toEqual([
    maxSideMinor,
    'full',
    maxSideMinor + 1,
  ])
})

it('counts its entries, which never go back in time, and as funded only what came from outside', () => {
  const wallet = { ...emptyWallet('org-1', 'USD'), lastAtMs: 10 }
  const first = moveWallet(wallet, { ...funding, amountMinor: 7 })
  if (typeof first === 'string') throw new Error(first)
  const second = moveWallet(first.wallet, { ...funding, type: 'Withdrawal', amountMinor: 2 })
  if (typeof second === 'string') throw new Error(second)
  const sums = { balanceMinor: 9, fundedMinor: 7, entryCount: 2, lastAtMs: 10 }
  expect(second.wallet).toMatchObject(sums)
  expect(decodeWalletEntry(second.entry.value)).toMatchObject({ atMs: 10, balanceMinor: 9 })
  expect(second.entry.sortKey < first.entry.sortKey).toBe(true)
})
