import { describe, expect, it } from 'vitest'
import { checkMoney } from '../../../src/backoffice/money-check.ts'
import { readRecord } from '../../../src/backoffice/record-kind.ts'
import { repairAccount } from '../../../src/backoffice/repair.ts'
import { maxSideMinor } from '../../../src/domain/record/movement.ts'
import {
  createLostTransfers,
  type KnownTransfer,
} from '../../../src/management/transfer/lost-transfer.ts'
import { successorOf } from '../../../src/management/transfer/transfer.ts'
import { createTransfers } from '../../../src/management/transfer/transfers.ts'
import { StoreError } from '../../../src/store/port.ts'
import { nowMs, openSteps as open, tellOne } from '../../support/step-world.ts'

const dayMs = 86_400_000

describe('the steps of a transfer', () => {
  it('go on after both accounts were made anew: what is on its way and what was said is left alone', async () => {
    const { steps, debit, movedMinor, store, state } = await open()
    const [before, after] = [await debit('T1', nowMs(), 'R1'), await debit('T2', nowMs(), 'R2')]
    const first = await steps.credit(before)
    for (const accountId of ['account-0', 'account-1']) {
      state.aggregates.get(`a:${accountId}`)!.root = 'damaged'
      let versions = 0
      const newVersion = () => `repair.${accountId}.${versions++}`
      const named = { retentionMs: 45 * dayMs, nowMs: nowMs(), reason: 'test', newVersion }
      const repair = await repairAccount(store, accountId, { ...named, dryRun: false })
      expect(repair).toEqual({ refused: '', changed: ['account'] })
    }
    for (const transfer of [before, after]) {
      const verdict = await steps.credit(transfer)
      if (verdict === 'tooOld') throw new Error('too old')
      expect(await steps.close(transfer, verdict)).toMatchObject({ state: 'done' })
    }
    expect(first).toEqual(await steps.credit(before))
    expect(await movedMinor()).toEqual([-2_000, 2_000])
  })

  it('tell of money that comes into a wallet, once for each time it came', async () => {
    const { steps, lost, told, debit, state, store } = await open()
    const toWallet = { kind: 'wallet', organizationId: 'org-1', currency: 'USD' } as const
    const transfer = { ...(await debit('T1')), type: 'Withdrawal', to: toWallet } as const
    await steps.credit(transfer)
    await lost.credit(transfer)
    const word = { transferId: 'T1', type: 'Withdrawal', amount: 10, wallet: { balance: 10 } }
    expect(told).toMatchObject([word])
    // A failover takes the wallet back to what it was, and with it what it had to tell.
    expect(state.aggregates.delete('w:org-1:USD')).toBe(true)
    for (let i = 0; i < 2; i++)
      expect(await lost.credit(transfer)).toMatchObject({ state: 'credited' })
    expect(told).toMatchObject([word, word])
    expect(JSON.stringify(store.dump().aggregates)).toContain('evt-2')
    expect(store.dump().indexes.events?.map(([id]) => id)).toEqual(['evt-1', 'evt-2'])
  })

  it('refuse to move money where the word that it moved would be dropped at once', async () => {
    const { lost, debit, movedMinor } = await open()
    const old = await debit('T1', nowMs() - 50 * dayMs)
    await expect(lost.credit(old)).rejects.toThrow('would not be kept')
    expect(await movedMinor()).toEqual([-1_000, 0])
  })

  it('let a destination refuse for good: a late credit finds the refusal, not the card', async () => {
    const { steps, debit, setStatus, movedMinor, store } = await open()
    const transfer = await debit('T1')
    await setStatus('Frozen')
    const refused = await steps.credit(transfer)
    expect(refused).toMatchObject({ state: 'refused', refusal: { condition: 'cardNotActive' } })
    await setStatus('Active')
    expect(await steps.credit(transfer)).toEqual(refused)
    if (refused === 'tooOld') throw new Error('too old')
    expect(await steps.close(transfer, refused)).toEqual({ state: 'takenBack' })
    expect(store.dump().indexes.moving ?? []).toEqual([])
    expect(await steps.credit(transfer)).toEqual(refused)
    expect(await movedMinor()).toEqual([0, 0])
  })

  it('close by the id of a transfer, so that a slow driver does not touch the next attempt', async () => {
    const { steps, debit, setStatus, movedMinor } = await open()
    const first = await debit('T1')
    await setStatus('Frozen')
    const refused = await steps.credit(first)
    if (refused === 'tooOld') throw new Error('too old')
    await steps.close(first, refused)
    await setStatus('Active')
    const second = await debit('T2')
    expect(await steps.close(first, refused)).toEqual({ state: 'gone' })
    expect(await movedMinor()).toEqual([-1_000, 0])
    expect(await steps.credit(second)).toMatchObject({ state: 'credited' })
    expect(await movedMinor()).toEqual([-1_000, 1_000])
  })

  it('close what was on its way for days, and note nothing that counts no more', async () => {
    const { steps, debit, movedMinor, store } = await open()
    const old = await debit('T1', nowMs() - 5 * dayMs)
    const verdict = await steps.credit(old)
    if (verdict === 'tooOld') throw new Error('too old')
    expect(await steps.close(old, verdict)).toMatchObject({ state: 'done' })
    expect(await movedMinor()).toEqual([-1_000, 1_000])
    expect(store.dump().indexes.moving ?? []).toEqual([])
    const groups = Object.keys(store.dump().aggregates['a:account-0']!.groups)
    expect(groups.filter((group) => group.startsWith('x'))).toEqual([])
  })

  it('credit nothing after thirty days, which an inbox entry outlives', async () => {
    const { steps, debit, movedMinor, store } = await open()
    const old = await debit('T1', nowMs() - 30 * dayMs - 1)
    expect(await steps.credit(old)).toBe('tooOld')
    expect(await movedMinor()).toEqual([-1_000, 0])
    expect(store.dump().indexes.moving).toHaveLength(1)
  })

  it('say by a commit that there is none: too late, refused, or begun with another payload', async () => {
    const { steps, debit, attemptOf, movedMinor, store } = await open()
    const versionNow = () => store.dump().aggregates['a:account-0']!.version
    const states: string[] = []
    async function say(attempt: object, refusal: string | null) {
      const before = versionNow()
      const asked = { home: 'a:account-0', transfer: null, check: () => refusal }
      const { state } = await steps.debit({ ...attemptOf('T0'), ...attempt }, asked)
      expect(versionNow()).not.toBe(before)
      states.push(state)
    }
    await say({ beganAtMs: nowMs() - 60_001 }, null)
    await say({}, 'too little')
    await debit('T1')
    await say({ hash: 'another' }, null)
    expect(states).toEqual(['late', 'refused', 'other'])
    expect(await movedMinor()).toEqual([-1_000, 0])
  })

  it('are refused by a destination that would have more than can be kept', async () => {
    const { steps, debit } = await open()
    const transfer = { ...(await debit('T1')), amountMinor: maxSideMinor }
    const refused = { state: 'refused', refusal: { condition: 'amountTooLarge' } }
    expect(await steps.credit(transfer)).toMatchObject(refused)
    const toWallet = { kind: 'wallet', organizationId: 'org-1', currency: 'USD' } as const
    const withdrawal = { ...transfer, type: 'Withdrawal', to: toWallet } as const
    expect(await steps.credit(withdrawal)).toMatchObject({ state: 'credited' })
    expect(await steps.credit({ ...withdrawal, id: 'T2' })).toMatchObject(refused)
  })

  it('tell only the request that began it that it was done; any other hears that it was seen', async () => {
    const { steps, debit, attemptOf } = await open()
    const transfer = await debit('T1')
    const verdict = await steps.credit(transfer)
    if (verdict === 'tooOld') throw new Error('too old')
    await steps.close(transfer, verdict)
    const asked = { home: 'a:account-0', transfer: null, check: () => null }
    expect(await steps.debit(attemptOf('T1'), asked)).toMatchObject({ state: 'done' })
    expect(await steps.debit(attemptOf('T2'), asked)).toEqual({ state: 'seen' })
  })

  it('take another entry than its own out of the index, too, and leave its own', async () => {
    const { steps, debit, store } = await open()
    await debit('T1')
    const entries = store.dump().indexes.moving!
    const [[sortKey] = ['']] = entries
    const stale = `${sortKey.slice(0, -1)}S`
    await store.fill([
      { kind: 'index', index: 'moving', sortKey: stale, value: '', aggregate: 'a:account-0' },
    ])
    const named = { clientId: 'cli', reference: 'R' }
    expect(await steps.find('a:account-0', named, stale)).toMatchObject({ id: 'T1' })
    expect(store.dump().indexes.moving).toEqual(entries)
  })

  it('take an entry of nothing out of the index by a commit', async () => {
    const { steps, debit, store } = await open()
    const transfer = await debit('T1')
    const [[sortKey] = ['']] = store.dump().indexes.moving!
    const named = { clientId: 'cli', reference: 'R' }
    expect(await steps.find('a:account-0', named, sortKey)).toMatchObject({ id: 'T1' })
    const verdict = await steps.credit(transfer)
    if (verdict === 'tooOld') throw new Error('too old')
    await steps.close(transfer, verdict)
    const before = store.dump().aggregates['a:account-0']!.version
    expect(await steps.find('a:account-0', named, sortKey)).toBeNull()
    expect(store.dump().aggregates['a:account-0']!.version).not.toBe(before)
  })

  it.each([true, false])(
    'move what was told as done and lost once, when the next attempt under its Reference arrives: %s',
    async (arrives) => {
      const { told, verdict, steps } = await tellOne()
      await steps.close(told, verdict)
      // Another store, in which nothing of it is left.
      const after = await open()
      const next = await after.debit('T2')
      if (!arrives) await after.setStatus('Frozen')
      await after.driveAgain({ transfer: told, verdict })
      expect(await after.movedMinor()).toEqual([-1_000, 1_000])
      const [credited, refused] = [{ state: 'credited' }, { state: 'refused' }]
      expect(await after.lost.hear(next)).toMatchObject(arrives ? credited : refused)
      if (arrives) expect(await after.lost.hear(told)).toBeNull()
      else expect(await after.lost.hear(told)).toMatchObject(credited)
    },
  )

  it('are asked for a credit once by their own request, which may find debit and credit lost', async () => {
    const { steps, engine, attemptOf, debit } = await open()
    const transfer = await debit('T1')
    let credits = 0
    const transfers = createTransfers({
      engine,
      nowMs,
      steps: {
        ...steps,
        async credit() {
          credits++
          return { state: 'credited', toAfter: null }
        },
        close: async () => ({ state: 'gone' }),
      },
    })
    const plan = {
      home: 'a:account-0',
      check: () => null,
      prepare: async () => ({ transfer }),
    }
    expect(await transfers.run(attemptOf('T1'), plan)).toEqual({ state: 'busy' })
    expect(credits).toBe(1)
  })

  it.each([
    ['began', 'T1'],
    ['joined', 'T2'],
  ])(
    'are not said to have done nothing when the store is away after somebody else closed what a call %s',
    async (_name, id) => {
      const { steps, engine, attemptOf, debit } = await open()
      const transfer = await debit('T1')
      let asked = 0
      const transfers = createTransfers({
        engine,
        nowMs,
        steps: {
          ...steps,
          debit: (...given) =>
            asked++ === 0
              ? steps.debit(...given)
              : Promise.reject(new StoreError('the store is away', 'no')),
          async close(moved, verdict) {
            await steps.close(moved, verdict)
            return { state: 'gone' }
          },
        },
      })
      const plan = {
        home: 'a:account-0',
        check: () => null,
        prepare: async () => ({ transfer }),
      }
      const unknown = { message: 'the store is away', executed: 'unknown' }
      await expect(transfers.run(attemptOf(id), plan)).rejects.toMatchObject(unknown)
      expect(asked).toBe(2)
    },
  )

  it.each([
    ['all of it', -9_000, 1_000],
    ['not all of it', -9_001, 0],
  ])(
    'lost before anybody heard of them move only what the source still has: %s',
    async (_name, spent, moved) => {
      const transfer = await (await open()).debit('T1')
      const after = await open()
      const operation = { type: 'adjust', amountMinor: spent, reference: 'A' } as const
      await after.engine.operate('account-0', operation, 'test')
      await after.driveAgain({ transfer, verdict: null })
      expect(await after.movedMinor()).toEqual([-moved || 0, moved])
    },
  )

  it('give what was told, lost and then refused a successor, and take the refused one back', async () => {
    const { told, verdict } = await tellOne()
    const after = await open()
    await after.lost.refuse(told, { condition: 'cardNotActive', detail: '' })
    await after.setStatus('Frozen')
    for (let server = 0; server < 2; server++) await after.driveAgain({ transfer: told, verdict })
    expect(await after.movedMinor()).toEqual([-1_000, 1_000])
    expect(await after.lost.hear(told)).toMatchObject({ state: 'refused' })
    expect(await after.lost.hear(successorOf(told))).toMatchObject({ state: 'credited' })
    const learnt = after.learnt.map(({ transfer }) => transfer.id)
    expect(learnt).toEqual([told.id, successorOf(told).id])
  })

  it('leave records that can be read at a source that lost one, and gave another under its Reference', async () => {
    const { steps, lost, driveAgain, debit, movedMinor, state, store } = await open()
    const before = structuredClone(state.aggregates.get('a:account-0'))!
    const ends: KnownTransfer[] = []
    for (const id of ['T1', 'T2']) {
      const transfer = await debit(id)
      const verdict = await steps.credit(transfer)
      if (verdict === 'tooOld') throw new Error('too old')
      await steps.close(transfer, verdict)
      ends.push({ transfer, verdict })
      // A failover of the source alone takes the first debit.
      if (id === 'T1') state.aggregates.set('a:account-0', { ...before, version: 'lost' })
    }
    // By two servers that know it.
    for (let server = 0; server < 2; server++) await driveAgain(ends[0]!)
    expect(await movedMinor()).toEqual([-2_000, 2_000])
    expect(await lost.hasGiven(ends[0]!.transfer)).toBe(true)
    const keys: string[] = []
    for await (const page of store.scan()) {
      for (const record of page) {
        if (record.kind !== 'child' || !record.group.startsWith('i@')) continue
        keys.push(record.aggregate)
        readRecord(record, record.value)
      }
    }
    expect(keys.toSorted()).toEqual(['a:account-0', 'a:account-1', 'a:account-1'])
    await checkMoney(store)
  })

  it('note nothing as given where the source has lost the card, too, that it would be taken from', async () => {
    const { driveAgain, debit, movedMinor, lost, steps } = await open()
    const next = await debit('T2')
    const card = { kind: 'card', accountId: 'account-0', cardId: 'card-lost' } as const
    const told = { ...next, id: 'T1', hash: 'another', from: card }
    // What the destination alone kept of it.
    const verdict = await steps.credit(told)
    if (verdict === 'tooOld') throw new Error('too old')
    await expect(driveAgain({ transfer: told, verdict })).rejects.toThrow('cannot give')
    expect(await lost.hasGiven(told)).toBe(false)
    expect(await movedMinor()).toEqual([-1_000, 1_000])
  })

  it('take nothing twice from a source that has forgotten what it gave, because the store is a day ahead', async () => {
    const { steps, debit, driveAgain, movedMinor, setStoreAhead, state } = await open()
    const transfer = await debit('T1')
    const verdict = await steps.credit(transfer)
    if (verdict === 'tooOld') throw new Error('too old')
    await steps.close(transfer, verdict)
    setStoreAhead(3 * dayMs)
    state.aggregates.get('a:account-0')!.groups.clear()
    expect(await driveAgain({ transfer, verdict })).toBe('tooOld')
    expect(await movedMinor()).toEqual([-1_000, 1_000])
  })

  it('bring what was told where it was refused, though a close of before the loss ends it as done', async () => {
    const { told, verdict } = await tellOne()
    const after = await open()
    await after.lost.refuse(told, { condition: 'cardNotActive', detail: '' })
    const late = {
      ...after.steps,
      async credit(transfer: typeof told) {
        await after.steps.close(told, verdict)
        return after.steps.credit(transfer)
      },
    }
    await createLostTransfers({ ...after, steps: late })({ transfer: told, verdict })
    expect(await after.movedMinor()).toEqual([-1_000, 1_000])
  })

  it.each(['unheard', 'refused'] as const)(
    'bring what a source has given for good to a destination that lost it and refused it since, %s by who drives it',
    async (known) => {
      const { steps, lost, driveAgain, debit, setStatus, movedMinor, state, learnt } = await open()
      const before = structuredClone(state.aggregates.get('a:account-1'))!
      const transfer = await debit('T1')
      const verdict = await steps.credit(transfer)
      if (verdict === 'tooOld') throw new Error('too old')
      await steps.close(transfer, verdict)
      // A failover of the destination alone takes the credit and its word.
      state.aggregates.set('a:account-1', { ...before, version: 'lost' })
      await setStatus('Frozen')
      const refused = await steps.credit(transfer)
      expect(refused).toMatchObject({ state: 'refused' })
      const word = known === 'refused' && refused !== 'tooOld' ? refused : null
      for (let server = 0; server < 2; server++) await driveAgain({ transfer, verdict: word })
      expect(await movedMinor()).toEqual([-1_000, 1_000])
      expect(await lost.hear(transfer)).toMatchObject({ state: 'credited' })
      expect(learnt).toMatchObject([{ verdict: { state: 'credited' } }])
    },
  )
})

it('what comes to a card that has ended meanwhile is refused there, and goes back', async () => {
  const { engine, debit, steps, movedMinor } = await open()
  const transfer = await debit('T1')
  const set = { status: 'Terminated', terminatedBy: 'operator' } as const
  await engine.operate('account-1', { type: 'changeCard', cardId: 'card-1', set }, 'test')
  const verdict = await steps.credit(transfer)
  if (verdict === 'tooOld') throw new Error('too old')
  expect(verdict).toMatchObject({ state: 'refused', refusal: { condition: 'cardClosed' } })
  expect(await steps.close(transfer, verdict)).toEqual({ state: 'takenBack' })
  expect(await movedMinor()).toEqual([0, 0])
})
