import { expect, it } from 'vitest'
import { dayMs } from '../../../src/clock.ts'
import { noAccount } from '../../../src/domain/record/account.ts'
import { noCard } from '../../../src/domain/record/card.ts'
import { indexes, walletAggregate } from '../../../src/engine/format/layout.ts'
import { fundWallet } from '../../../src/management/funding.ts'
import { createSides } from '../../../src/management/transfer/side.ts'
import { createTransferSteps } from '../../../src/management/transfer/step.ts'
import { takeBack } from '../../../src/management/transfer/take-back.ts'
import type { Transfer } from '../../../src/management/transfer/transfer.ts'
import { readWallets } from '../../../src/management/wallet.ts'
import { nowMs, openSteps } from '../../support/step-world.ts'

const wallet = { organizationId: 'org-1', currency: 'USD' } as const
const [accountId, cardId] = ['account-9', 'card-9']

/** 10.00 of 50.00 on their way from the wallet to a card that is opened with them. */
async function openIssue(ageMs: number, other: Partial<Transfer> = {}) {
  const world = await openSteps()
  const { aggregates, engine, store } = world
  const home = walletAggregate(wallet.organizationId, wallet.currency)
  const named = { transferId: 'trf_0', reference: 'wire', narration: '', atMs: nowMs() }
  const funding = { ...named, ...wallet, amountMinor: 5_000 }
  const decide = (view: Parameters<typeof fundWallet>[0]) => {
    return { result: null, write: fundWallet(view, funding)!.write }
  }
  await aggregates.change({ aggregate: home, decide })
  const seenAtMs = nowMs() - ageMs
  const { beganAtMs: _, ...attempt } = world.attemptOf('trf_issue', seenAtMs)
  const transfer: Transfer = {
    ...attempt,
    type: 'InitialFunding',
    amountMinor: 1_000,
    currency: 'USD',
    from: { kind: 'wallet', ...wallet },
    to: { kind: 'card', accountId, cardId },
    narration: '',
    opening: {
      account: { ...noAccount, accountId, organizationId: 'org-1', currency: 'USD', country: 'US' },
      card: { ...noCard, cardId, accountId, customerId: 'customer', type: 'lite' },
      put: [],
      terminates: '',
    },
    fromAfter: null,
    data: { cardId },
    ...other,
  }
  const thenMs = () => seenAtMs
  const then = createTransferSteps(createSides({ engine, aggregates, nowMs: thenMs }), thenMs)
  await then.debit({ ...attempt, beganAtMs: seenAtMs }, { home, transfer, check: () => null })
  const walletMinor = async () => (await readWallets(store, 'org-1', ['USD']))[0]!.balanceMinor
  const isOpen = async () => (await store.range(indexes.moving, '', 9)).length > 0
  const end = () => takeBack('trf_issue', { store, engine, aggregates, nowMs })
  return { ...world, then, transfer, walletMinor, isOpen, end }
}

it('what was to open a card goes back, though nobody has opened the account that would refuse it', async () => {
  const { end, isOpen, walletMinor, steps, transfer } = await openIssue(31 * dayMs)
  expect(await walletMinor()).toBe(4_000)
  expect(await end()).toBe('takenBack')
  expect([await isOpen(), await walletMinor()]).toEqual([false, 5_000])
  expect(await steps.credit(transfer)).toBe('tooOld')
  expect(await end()).toBe('unknown')
})

it('what was to open a card waits for an hour more, in which a clock that is late may open it', async () => {
  const { end, isOpen, walletMinor } = await openIssue(30 * dayMs + 3_600_000)
  expect(await end()).toBe('opening')
  expect([await isOpen(), await walletMinor()]).toEqual([true, 4_000])
  expect(await (await openIssue(30 * dayMs)).end()).toBe('young')
})

it('what has opened its card is done', async () => {
  const { end, isOpen, walletMinor, then, transfer } = await openIssue(31 * dayMs)
  expect(await then.credit(transfer)).toMatchObject({ state: 'credited' })
  expect(await end()).toBe('done')
  expect([await isOpen(), await walletMinor()]).toEqual([false, 4_000])
})

it('what nobody knows any more of is not taken back: it may have arrived', async () => {
  const { end, isOpen, walletMinor } = await openIssue(46 * dayMs)
  expect(await end()).toBe('forgotten')
  expect([await isOpen(), await walletMinor()]).toEqual([true, 4_000])
  expect(await (await openIssue(45 * dayMs)).end()).toBe('takenBack')
})

it('what was to go to an account that the store has lost goes back', async () => {
  const { end, isOpen, walletMinor } = await openIssue(31 * dayMs, {
    type: 'TopUp',
    opening: null,
    data: null,
  })
  expect(await end()).toBe('takenBack')
  expect([await isOpen(), await walletMinor()]).toEqual([false, 5_000])
})
