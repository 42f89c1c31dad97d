import { expect, it } from 'vitest'
import { maxSideMinor } from '../../src/domain/record/movement.ts'
import { indexes } from '../../src/engine/format/layout.ts'
import { fundWallet } from '../../src/management/funding.ts'
import { decodeWallet } from '../../src/management/wallet.ts'

const funding = {
  organizationId: 'org-1',
  currency: 'USD',
  transferId: 'trf_1',
  reference: 'wire-1',
  narration: '',
  atMs: Date.UTC(2026, 10, 15, 10),
}
const empty = { root: null, child: () => null }

it('is one commit with what is told of it, which has a sequence of its own', () => {
  const sequences: number[] = []
  const tell = ({ sequence }: { readonly sequence: number }) => {
    sequences.push(sequence)
    const put = [{ group: 'v@1', id: `evt-${sequence}`, value: '' }]
    const index = [{ index: 'deliveries', sortKey: `evt-${sequence}`, value: '' }]
    return { event: sequence, write: { put, index } }
  }
  const first = fundWallet(empty, { ...funding, amountMinor: 100 }, tell)!
  const second = fundWallet(
    { ...empty, root: first.write.root },
    { ...funding, amountMinor: 50 },
    tell,
  )!
  expect(sequences).toEqual([1, 2])
  expect(decodeWallet(second.write.root).balanceMinor).toBe(150)
  expect(second.told).toBe(2)
  expect(second.write.put).toMatchObject([{ id: 'evt-2' }])
  expect(second.write.index.map(({ index }) => index)).toEqual([
    indexes.walletEntries,
    'deliveries',
  ])
})

it('is refused where the wallet would have too much', () => {
  expect(fundWallet(empty, { ...funding, amountMinor: maxSideMinor + 1 })).toBeNull()
})
