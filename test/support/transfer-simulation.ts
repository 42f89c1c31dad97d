import { vi } from 'vitest'
import { conditions, isRefused, type Refused } from '../../src/api/condition.ts'
import { createEffects, type EffectCall, type Effects } from '../../src/api/effects.ts'
import {
  createTransferDesk,
  type TransferDesk,
  walletCovers,
} from '../../src/api/money/transfer-desk.ts'
import { availableMinor } from '../../src/domain/record/account.ts'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { accountCodec } from '../../src/engine/format/codec.ts'
import { decodeEntry } from '../../src/engine/format/entry-codec.ts'
import { accountAggregate, walletAggregate } from '../../src/engine/format/layout.ts'
import { fundWallet } from '../../src/management/funding.ts'
import { type ChangeSide, createSides } from '../../src/management/transfer/side.ts'
import { createTransferSteps, type TransferSteps } from '../../src/management/transfer/step.ts'
import { startTransferSweeper } from '../../src/management/transfer/sweeper.ts'
import { decodeTransfer, decodeVerdict } from '../../src/management/transfer/transfer.ts'
import { createTransfers, type Transfers } from '../../src/management/transfer/transfers.ts'
import { decodeWallet, decodeWalletEntry } from '../../src/management/wallet.ts'
import type { Store } from '../../src/store/port.ts'
import { handed, openCards, startEngine, testEvent } from './engine-world.ts'
import {
  createMemoryState,
  createMemoryStore,
  type Fault,
  type MemoryState,
} from './memory-store.ts'

/** A rule of the protocol left out; what is not named is as it is served. */
export interface PlantedFault {
  change?(change: ChangeSide): ChangeSide
  steps?(steps: TransferSteps, change: ChangeSide): TransferSteps
  transfers?(transfers: Transfers, steps: TransferSteps): Transfers
  effects?(effects: Effects): Effects
  readonly sweeps?: boolean
}

const cards = 4
const openingMinor = 10_000
const fundedMinor = 30_000
const wallet = walletAggregate('org-1', 'USD')
const organization = { organizationId: 'org-1' }

/** Numbers that follow from a seed alone. */
function randomOf(seed: number): () => number {
  let state = seed * 2_654_435_761 + 1
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e37_79b9) | 0
    return ((state ^ (state >>> 13)) >>> 0) / 4_294_967_296
  }
}

interface Instance {
  readonly desk: TransferDesk
  readonly engine: ReturnType<typeof startEngine>
  crash(): void
}

interface Weather {
  calm: boolean
}

function startInstance(
  state: MemoryState,
  random: () => number,
  weather: Weather,
  planted: PlantedFault,
): Instance {
  let dead = false
  const later = (maxMs: number) =>
    new Promise<void>((resolve) => setTimeout(resolve, random() * maxMs))
  function fault(): Fault {
    const draw = weather.calm ? 1 : random()
    if (draw < 0.04) return { kind: 'refused' }
    if (draw < 0.1) return { kind: 'replyLost' }
    if (draw < 0.16) return { kind: 'late', release: later(8_000) }
    return draw < 0.4 ? { kind: 'delayed', until: later(200) } : { kind: 'none' }
  }
  const inner = createMemoryStore(state, { faults: fault, nowMs: Date.now })
  const never = new Promise<never>(() => {})
  const alive = <T>(work: Promise<T>): Promise<T> =>
    dead
      ? never
      : work.then(
          (value) => (dead ? never : value),
          (error) => (dead ? never : Promise.reject(error)),
        )
  const store: Store = {
    ...inner,
    commit: (commands) => (dead ? never : alive(inner.commit(commands))),
    load: (keys) => alive(inner.load(keys)),
    range: (index, after, limit) => alive(inner.range(index, after, limit)),
  }
  const clock = { nowMs: () => Date.now(), monoMs: () => Date.now() }
  const engine = startEngine(store, { clock, random })
  const aggregates = createAggregates({ store, newVersion: engine.newVersion, random })
  const effects = createEffects({ engine, aggregates, clock })
  const { nowMs } = clock
  const sides = createSides({ engine, aggregates, nowMs })
  const change = planted.change?.(sides) ?? sides
  const rightSteps = createTransferSteps(change, nowMs)
  const steps = planted.steps?.(rightSteps, change) ?? rightSteps
  const rightTransfers = createTransfers({ steps, engine, nowMs })
  const transfers = planted.transfers?.(rightTransfers, steps) ?? rightTransfers
  const sweeper = startTransferSweeper({
    store,
    steps,
    transfers,
    clock,
    intervalMs: planted.sweeps === false ? 1e9 : 1_000,
    onTrouble(message) {
      throw new Error(message)
    },
  })
  return {
    engine,
    desk: createTransferDesk(planted.effects?.(effects) ?? effects, transfers),
    crash() {
      dead = true
      sweeper.stop()
      engine.stop()
      aggregates.stop()
    },
  }
}

interface Payload {
  readonly from: number
  readonly to: number
  readonly amountMinor: number
}

/** A place is a card, or the wallet below zero. */
function sideOf(at: number) {
  if (at < 0) return { kind: 'wallet', ...organization, currency: 'USD' } as const
  return { kind: 'card', accountId: `account-${at}`, cardId: `card-${at}` } as const
}

function ask(
  { desk }: Instance,
  reference: string,
  { from, to, amountMinor }: Payload,
): Promise<{ data: unknown } | Refused> {
  const call: EffectCall = {
    caller: { clientId: 'cli', reference, organization } as never,
    request: { hash: `${from}>${to}:${amountMinor}`, method: 'POST', path: '/' },
    nowMs: Date.now(),
  }
  const type = from < 0 ? 'TopUp' : to < 0 ? 'Withdrawal' : 'CardToCard'
  const planned = { currency: 'USD', narration: '', opening: null, data: null }
  const transfer = { ...planned, type, amountMinor, from: sideOf(from), to: sideOf(to) } as const
  return desk.run<unknown>(call, {
    home: from < 0 ? wallet : accountAggregate(`account-${from}`),
    prepare: async () => ({ transfer }),
    check(view) {
      if (view.wallet !== null) return walletCovers(view, amountMinor, 'USD')
      const has = availableMinor(view.account!.account!)
      return has >= amountMinor ? null : { condition: 'fundsMissing', detail: '' }
    },
  })
}

/** What came of all requests under one Reference. */
interface Told {
  readonly payloads: Set<string>
  done: number
  /** Answered with a failure that is final, other than that it was seen. */
  refused: number
  /** Of unknown outcome, or never answered. */
  unknown: number
}

/** One run; throws with what is wrong. Call it with fake timers. */
export async function simulateTransfers(seed: number, planted: PlantedFault = {}): Promise<void> {
  const random = randomOf(seed)
  const int = (below: number) => Math.floor(random() * below)
  const state = createMemoryState()
  const weather = { calm: true }
  const start = () => startInstance(state, random, weather, planted)
  const instances = Array.from({ length: 2 + int(2) }, start)
  await prepare(instances[0]!, state)
  weather.calm = false
  const told = new Map<string, Told>()
  let failed: unknown = null
  const work: Promise<void>[] = []

  async function request(instance: Instance, reference: string, payload: Payload) {
    const record = told.get(reference) ?? { payloads: new Set(), done: 0, refused: 0, unknown: 0 }
    told.set(reference, record)
    record.payloads.add(JSON.stringify(payload))
    const gaveUp = new Promise<null>((resolve) => setTimeout(resolve, 10_000, null))
    const answer = await Promise.race([
      ask(instance, reference, payload).catch((error: Error) => {
        if (error.name !== 'StoreError') failed ??= error
        return null
      }),
      gaveUp,
    ])
    const status =
      answer === null ? 504 : isRefused(answer) ? conditions[answer.condition].status : 200
    if (status === 200) record.done++
    else if (status >= 500) record.unknown++
    else if (status === 422) record.refused++
    return status
  }

  async function client(reference: string): Promise<void> {
    const [from, to] = pair()
    const payload = { from, to, amountMinor: 100 * (1 + int(60)) }
    const any = () => instances[int(instances.length)]!
    const twin = random() < 0.3 ? request(any(), reference, payload) : null
    if (random() < 0.15) {
      const [otherFrom, otherTo] = pair()
      const other = { from: otherFrom, to: otherTo, amountMinor: 700 }
      void request(any(), reference, other)
    }
    for (let tries = 0; tries < 3; tries++) {
      const status = await request(any(), reference, payload)
      if (status < 500 && random() < 0.7) break
      await sleep(random() * 3_000)
    }
    await twin
  }

  function pair(): readonly [number, number] {
    const from = int(cards + 1) - 1
    const to = ((from + 2 + int(cards)) % (cards + 1)) - 1
    return [from, to]
  }

  /** Spends and ends on both sides, and servers that die. */
  async function trouble(i: number): Promise<void> {
    const at = int(instances.length)
    const { engine } = instances[at]!
    const [cardId, accountId] = [`card-${int(cards)}`, `account-${int(cards)}`]
    const draw = random()
    if (draw < 0.4) {
      const event = testEvent({ eventId: `e${i}`, cardId, amountMinor: 100 * (1 + int(30)) })
      engine.deliver(handed(event, `slot-${i}`, Date.now()))
    } else if (draw < 0.55) {
      const status = random() < 0.5 ? 'Frozen' : 'Active'
      const own = accountId.replace('account', 'card')
      void engine.operate(accountId, { type: 'changeCard', cardId: own, set: { status } }, 'test')
    } else if (draw < 0.6) {
      const set = { status: 'Terminated', terminatedBy: 'operator' } as const
      void engine.operate('account-3', { type: 'changeCard', cardId: 'card-3', set }, 'test')
    } else if (draw < 0.85) {
      instances[at]!.crash()
      instances[at] = start()
    }
  }

  for (let i = 0; i < 30; i++) {
    work.push(
      client(`R${i}`).catch((error: unknown) => {
        failed ??= error
      }),
    )
    await trouble(i)
    await pass(random() * 2_000)
    checkConserved(state)
  }
  await pass(90_000)
  weather.calm = true
  await pass(60_000)
  await Promise.all(work)
  for (const instance of instances) instance.crash()
  if (failed !== null) throw failed
  checkConserved(state)
  checkAtRest(state)
  checkOnce(state, told)
}

async function prepare({ engine }: Instance, state: MemoryState): Promise<void> {
  const store = createMemoryStore(state, { nowMs: Date.now })
  const opening = openCards(engine, cards, String(openingMinor / 100))
  await pass(100)
  await opening
  const aggregates = createAggregates({ store, newVersion: () => 'funded' })
  const funding = aggregates.change({
    aggregate: wallet,
    decide(view) {
      const given = { ...organization, currency: 'USD', amountMinor: fundedMinor }
      const named = { transferId: 'trf_0', reference: 'start', narration: '', atMs: Date.now() }
      return { result: null, write: fundWallet(view, { ...given, ...named })!.write }
    },
  })
  await pass(10)
  await funding
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms)
}

function* childrenOf(state: MemoryState, isGroup: (group: string) => boolean) {
  for (const [aggregate, { groups }] of state.aggregates) {
    for (const [group, children] of groups) {
      if (isGroup(group)) for (const [id, value] of children) yield { aggregate, id, value }
    }
  }
}

function verdictsOf(state: MemoryState): Map<string, string> {
  const verdicts = new Map<string, string>()
  for (const { id, value } of childrenOf(state, (group) => group.startsWith('i@'))) {
    verdicts.set(id, decodeVerdict(value).state)
  }
  return verdicts
}

/** What is in the wallet, on cards and on its way is what was funded. */
function checkConserved(state: MemoryState): void {
  const verdicts = verdictsOf(state)
  const { balanceMinor } = decodeWallet(state.aggregates.get(wallet)!.root)
  let sumMinor = balanceMinor
  for (let i = 0; i < cards; i++) {
    const account = accountCodec.decode(
      state.aggregates.get(accountAggregate(`account-${i}`))!.root,
    )
    sumMinor += account.movedMinor
    if (account.postedMinor < 0) throw new Error('an account gave more than it had')
  }
  for (const { value } of childrenOf(state, (group) => group === 'x')) {
    const { id, amountMinor } = decodeTransfer(value)
    if (verdicts.get(id) !== 'credited') sumMinor += amountMinor
  }
  if (sumMinor !== fundedMinor) throw new Error(`not conserved: ${sumMinor - fundedMinor}`)
}

function checkAtRest(state: MemoryState): void {
  const pending = [...childrenOf(state, (group) => group === 'x')]
  const moving = state.indexes.get('moving')?.size ?? 0
  if (pending.length + moving > 0) {
    throw new Error(`${pending.length} transfers are on their way for ever, ${moving} are listed`)
  }
}

/** How many transfers of each Reference have arrived. */
function arrivalsOf(state: MemoryState): Map<string, number> {
  const arrived = new Map<string, string>()
  for (const { entry } of state.log) {
    for (const change of decodeEntry(entry).changes) {
      if (change.type !== 'moved' || change.movement.takesBack || change.amountMinor < 0) continue
      arrived.set(change.movement.transferId, change.movement.reference)
    }
  }
  for (const value of state.indexes.get('wallet-entries')?.values() ?? []) {
    const { transferId, type, reference } = decodeWalletEntry(value)
    if (type === 'Withdrawal') arrived.set(transferId, reference)
  }
  const times = new Map<string, number>()
  for (const reference of arrived.values()) times.set(reference, (times.get(reference) ?? 0) + 1)
  return times
}

/** Each Reference moved money at most once, and as its callers were told. */
function checkOnce(state: MemoryState, told: ReadonlyMap<string, Told>): void {
  const arrivals = arrivalsOf(state)
  for (const [reference, { done, refused, unknown, payloads }] of told) {
    const times = arrivals.get(reference) ?? 0
    if (times > 1) throw new Error(`${reference} moved money ${times} times`)
    if (done > 0 && times === 0) throw new Error(`${reference} was told done, and nothing moved`)
    const onlyRefused = done === 0 && unknown === 0 && refused > 0 && payloads.size === 1
    if (onlyRefused && times > 0) throw new Error(`${reference} was refused, and money moved`)
  }
}
