import { createAggregates } from '../../src/engine/aggregates.ts'
import { indexes } from '../../src/engine/format/layout.ts'
import { createLostSteps } from '../../src/management/transfer/lost-step.ts'
import {
  createLostTransfers,
  type KnownTransfer,
} from '../../src/management/transfer/lost-transfer.ts'
import { createSides } from '../../src/management/transfer/side.ts'
import { createTransferSteps } from '../../src/management/transfer/step.ts'
import { openCards, startEngine } from './engine-world.ts'
import { createMemoryState, createMemoryStore } from './memory-store.ts'

export const nowMs = () => Date.UTC(2026, 10, 15, 10)

/** Two cards with 100.00 each, and what moves money between them. */
export async function openSteps() {
  const state = createMemoryState()
  const store = createMemoryStore(state, { nowMs })
  const clock = { nowMs, monoMs: nowMs }
  const engine = startEngine(store, { clock })
  await openCards(engine, 2, '100.00')
  const aggregates = createAggregates({ store, newVersion: engine.newVersion })
  const change = createSides({ engine, aggregates, nowMs })
  const told: object[] = []
  const prepareBeside = async () => (data: object) => {
    told.push(data)
    const id = `evt-${told.length}`
    const put = [{ group: 'v@99999', id, value: JSON.stringify(data) }]
    return { put, index: [{ index: indexes.events, sortKey: id, value: '' }] }
  }
  const steps = createTransferSteps(change, nowMs, prepareBeside)
  const lost = createLostSteps(change, nowMs, prepareBeside)
  const attemptOf = (id: string, seenAtMs = nowMs(), reference = 'R') => {
    const named = { clientId: 'cli', reference, hash: 'h', path: '/', id }
    return { ...named, seenAtMs, beganAtMs: nowMs() }
  }
  const debit = async (id: string, seenAtMs = nowMs(), reference = 'R') => {
    const { beganAtMs: _, ...attempt } = attemptOf(id, seenAtMs, reference)
    const sides = {
      from: { kind: 'card', accountId: 'account-0', cardId: 'card-0' },
      to: { kind: 'card', accountId: 'account-1', cardId: 'card-1' },
    } as const
    const planned = { type: 'CardToCard', amountMinor: 1_000, currency: 'USD', ...sides } as const
    const more = { narration: '', opening: null, data: null, fromAfter: null }
    const asked = { home: 'a:account-0', check: () => null }
    const transfer = { ...attempt, ...planned, ...more }
    const debited = await steps.debit(attemptOf(id, seenAtMs, reference), { ...asked, transfer })
    if (debited.state !== 'moving') throw new Error(debited.state)
    return debited.transfer
  }
  const setStatus = (status: 'Active' | 'Frozen') =>
    engine.operate('account-1', { type: 'changeCard', cardId: 'card-1', set: { status } }, 't')
  const movedMinor = async () => {
    const views = ['account-0', 'account-1'].map((accountId) =>
      engine.change({
        accountId,
        origin: '',
        decide: ({ account }) => ({ result: account!.movedMinor, write: null }),
      }),
    )
    return Promise.all(views)
  }
  const learnt: KnownTransfer[] = []
  const keep = (one: KnownTransfer) => void learnt.push(one)
  let storeAheadMs = 0
  const storeNowMs = async () => nowMs() + storeAheadMs
  const setStoreAhead = (ms: number) => {
    storeAheadMs = ms
  }
  const driveAgain = createLostTransfers({ steps, lost, engine, keep, storeNowMs })
  const known = {
    state,
    store,
    steps,
    lost,
    told,
    attemptOf,
    driveAgain,
    engine,
    aggregates,
    keep,
    learnt,
  }
  return { ...known, storeNowMs, setStoreAhead, debit, setStatus, movedMinor }
}

/** One that has arrived, in a store that is lost afterwards. */
export async function tellOne() {
  const { steps, debit } = await openSteps()
  const told = await debit('T1')
  const verdict = await steps.credit(told)
  if (verdict === 'tooOld') throw new Error('too old')
  return { told, verdict, steps }
}
