import { describe, expect, it } from 'vitest'
import { noAccount } from '../../../src/domain/record/account.ts'
import { noCard } from '../../../src/domain/record/card.ts'
import { walletAggregate } from '../../../src/engine/format/layout.ts'
import { fundWallet } from '../../../src/management/funding.ts'
import { createLostTransfers } from '../../../src/management/transfer/lost-transfer.ts'
import {
  successorOf,
  type Transfer,
  type TransferVerdict,
} from '../../../src/management/transfer/transfer.ts'
import { readWallets } from '../../../src/management/wallet.ts'
import { nowMs, openSteps as open, tellOne } from '../../support/step-world.ts'

const dayMs = 86_400_000
const frozen = { condition: 'cardNotActive', detail: '' } as const
const wallet = { kind: 'wallet', organizationId: 'org-1', currency: 'USD' } as const

type World = Awaited<ReturnType<typeof open>>

async function creditOf({ steps }: World, transfer: Transfer): Promise<TransferVerdict> {
  const verdict = await steps.credit(transfer)
  if (verdict === 'tooOld') throw new Error('too old')
  return verdict
}

function fund({ aggregates }: World, amountMinor: number): Promise<null> {
  const named = { transferId: 'trf_0', reference: 'wire', narration: '', atMs: nowMs() }
  const funding = { ...named, organizationId: 'org-1', currency: 'USD', amountMinor }
  return aggregates.change({
    aggregate: walletAggregate('org-1', 'USD'),
    decide: (view) => ({ result: null, write: fundWallet(view, funding)!.write }),
  })
}

async function walletMinor({ store }: World): Promise<number> {
  return (await readWallets(store, 'org-1', ['USD']))[0]!.balanceMinor
}

async function topUp(): Promise<Transfer> {
  return { ...(await (await open()).debit('T1')), type: 'TopUp', from: wallet }
}

const [accountId, cardId] = ['account-9', 'card-9']

async function issueOf(): Promise<Transfer> {
  const named = { accountId, organizationId: 'org-1', currency: 'USD', country: 'US' }
  return {
    ...(await topUp()),
    type: 'InitialFunding',
    to: { kind: 'card', accountId, cardId },
    opening: {
      account: { ...noAccount, ...named },
      card: { ...noCard, cardId, accountId, customerId: 'customer', type: 'retail' },
      put: [{ group: 'cd', id: cardId, value: '{"format":1}' }],
      terminates: '',
    },
    data: { cardId },
  }
}

describe('a transfer that the store has lost', () => {
  it('is looked at by commits, also where nothing is to be done', async () => {
    const { lost, debit, store } = await open()
    const transfer = await debit('T1')
    const versions = () =>
      ['a:account-0', 'a:account-1'].map((home) => store.dump().aggregates[home]!.version)
    async function changedBy(step: () => Promise<unknown>) {
      const before = versions()
      await step()
      const after = versions()
      return after.map((version, i) => version !== before[i])
    }
    expect(await changedBy(() => lost.hear(transfer))).toEqual([false, true])
    expect(await changedBy(() => lost.debit(transfer, 'told'))).toEqual([true, false])
    expect(await changedBy(() => lost.hasGiven(transfer))).toEqual([true, false])
    // On its way, it can still be given back.
    expect(await lost.hasGiven(transfer)).toBe(false)
    await lost.refuse(transfer, frozen)
    expect(await changedBy(() => lost.refuse(transfer, frozen))).toEqual([false, true])
    await lost.credit(transfer)
    expect(await changedBy(() => lost.credit(transfer))).toEqual([false, true])
    // A word that it has arrived stays.
    expect(await lost.refuse(transfer, frozen)).toMatchObject({ state: 'credited' })
  })

  it.each([
    ['told', true],
    ['asked', undefined],
  ] as const)('says at its source that it must arrive only when it was %s', async (as, must) => {
    const { told } = await tellOne()
    const { lost, steps } = await open()
    expect(await lost.debit(told, as)).toBe('pending')
    const found = await steps.find('a:account-0', told, '')
    expect(found?.id).toBe('T1')
    expect(found?.mustArrive).toBe(must)
  })

  it('and that nobody was told of moves nothing beside another under its Reference', async () => {
    const { told } = await tellOne()
    const after = await open()
    const next = await after.debit('T2')
    await after.driveAgain({ transfer: told, verdict: null })
    expect(await after.movedMinor()).toEqual([-1_000, 0])
    expect(await after.lost.hear(told)).toMatchObject({ state: 'refused' })
    expect(await after.lost.hear(next)).toBeNull()
  })

  it('and that was told moves beside another payload under its Reference', async () => {
    const { told, verdict } = await tellOne()
    const after = await open()
    await after.debit('T2')
    const other = { ...told, hash: 'another' }
    for (let server = 0; server < 2; server++) {
      await after.driveAgain({ transfer: other, verdict })
      expect(await after.movedMinor()).toEqual([-2_000, 1_000])
    }
  })

  it('and was given back moves nothing more after the next one under its Reference has arrived', async () => {
    const world = await open()
    const first = await world.debit('T1')
    const refused = await world.lost.refuse(first, frozen)
    await world.steps.close(first, refused!)
    const next = await world.debit('T2')
    await world.steps.close(next, await creditOf(world, next))
    await world.driveAgain({ transfer: first, verdict: refused })
    expect(await world.movedMinor()).toEqual([-1_000, 1_000])
    expect(await world.lost.hear(first)).toEqual(refused)
  })

  it('by its destination alone is brought again by who has only met it on its way', async () => {
    const world = await open()
    const before = structuredClone(world.state.aggregates.get('a:account-1'))!
    const transfer = await world.debit('T1')
    await world.steps.close(transfer, await creditOf(world, transfer))
    world.state.aggregates.set('a:account-1', { ...before, version: 'lost' })
    await world.driveAgain({ transfer, verdict: null })
    expect(await world.movedMinor()).toEqual([-1_000, 1_000])
  })

  it.each([
    ['by nobody', null],
    ['as refused', { state: 'refused', refusal: frozen }],
  ] as const)(
    'is taken from its source when its credit comes late, and it was heard of %s',
    async (_name, verdict) => {
      const { told } = await tellOne()
      const after = await open()
      const spent = { type: 'adjust', amountMinor: -9_500, reference: 'A' } as const
      await after.engine.operate('account-0', spent, 'test')
      const lost: typeof after.lost = {
        ...after.lost,
        async refuse(transfer, refusal) {
          await after.steps.credit(transfer)
          return after.lost.refuse(transfer, refusal)
        },
      }
      await createLostTransfers({ ...after, lost })({ transfer: told, verdict })
      expect(await after.movedMinor()).toEqual([-1_000, 1_000])
    },
  )

  it('moves under its second id also where another has given it back before who drives it', async () => {
    const { told, verdict } = await tellOne()
    const after = await open()
    await after.lost.refuse(told, frozen)
    const steps: typeof after.steps = {
      ...after.steps,
      async close(transfer, word) {
        if (transfer.id === told.id) await after.steps.close(transfer, word)
        return after.steps.close(transfer, word)
      },
    }
    let closes = 0
    const once: typeof after.steps = {
      ...steps,
      close: (...given) => (closes++ === 0 ? steps : after.steps).close(...given),
    }
    await createLostTransfers({ ...after, steps: once })({ transfer: told, verdict })
    expect(await after.movedMinor()).toEqual([-1_000, 1_000])
    expect(await after.lost.hear(successorOf(told))).toMatchObject({ state: 'credited' })
  })

  it.each([
    ['takes what it has told from a wallet that has less', 'credited', 999, -1, 1_000],
    ['takes what nobody knows as arrived from a wallet that has all of it', null, 1_000, 0, 1_000],
    ['takes nothing that nobody knows as arrived from one that has less', null, 999, 999, 0],
  ])('%s', async (_name, heard, fundedMinor, left, arrived) => {
    const transfer = await topUp()
    const after = await open()
    await fund(after, fundedMinor)
    const verdict = heard === null ? null : ({ state: 'credited', toAfter: null } as const)
    await after.driveAgain({ transfer, verdict })
    expect(await walletMinor(after)).toBe(left)
    expect((await after.movedMinor())[1]).toBe(arrived)
  })

  it('is driven again until an hour before its source may forget it', async () => {
    const { told, verdict } = await tellOne()
    const after = await open()
    after.setStoreAhead(dayMs - 3_600_000 + 1)
    expect(await after.driveAgain({ transfer: told, verdict })).toBe('tooOld')
    expect(await after.movedMinor()).toEqual([0, 0])
    after.setStoreAhead(dayMs - 3_600_000)
    expect(await after.driveAgain({ transfer: told, verdict })).toBe('driven')
    expect(await after.movedMinor()).toEqual([-1_000, 1_000])
  })

  it('and that was to open a card is nowhere while its wallet lacks the money, and told as no failure', async () => {
    const issue = await issueOf()
    const after = await open()
    await fund(after, 999)
    const drive = () => after.driveAgain({ transfer: issue, verdict: null })
    expect(await drive()).toBe('nowhere')
    expect(await walletMinor(after)).toBe(999)
    // Its own request was still on the way: what it has opened, the wallet has given.
    await creditOf(after, issue)
    expect(await drive()).toBe('driven')
    expect(await walletMinor(after)).toBe(-1)
  })

  it('and that issued a card issues it again, with all that is kept of it', async () => {
    const world = await open()
    await fund(world, 5_000)
    const issue = await issueOf()
    const kept = issue.opening!.put[0]!
    const attempt = { ...issue, beganAtMs: nowMs() }
    const home = walletAggregate('org-1', 'USD')
    await world.steps.debit(attempt, { home, transfer: issue, check: () => null })
    await world.steps.close(issue, await creditOf(world, issue))
    const readAll = () =>
      world.store.load([
        { aggregate: `a:${accountId}`, group: kept.group, id: kept.id },
        { aggregate: `a:${accountId}`, group: 'c', id: cardId },
      ])
    const before = (await readAll()).map((one) => one?.value)
    expect(before[0]).toBe(kept.value)
    expect(world.state.aggregates.delete(`a:${accountId}`)).toBe(true)
    await world.driveAgain({ transfer: issue, verdict: null })
    expect((await readAll()).map((one) => one?.value)).toEqual(before)
    expect(await walletMinor(world)).toBe(4_000)
  })
})
