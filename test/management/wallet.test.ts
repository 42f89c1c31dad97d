import { expect, it } from 'vitest'
import { emptyWallet, moveWallet } from '../../src/management/wallet.ts'

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
