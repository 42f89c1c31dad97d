import type { LogSource } from '../../src/backtest/run.ts'
import type { Clock } from '../../src/clock.ts'
import type { Pack } from '../../src/domain/decide/pack.ts'
import { createSharedTally } from '../../src/domain/decide/shared-window.ts'
import type { CardSettings, Operation } from '../../src/domain/operation/operation.ts'
import type { CardEvent, RequestType } from '../../src/domain/record/event.ts'
import type { Answer } from '../../src/domain/record/event-record.ts'
import { indexes, splitSortKey } from '../../src/engine/format/layout.ts'
import { importRows } from '../../src/engine/import.ts'
import { startSweeper } from '../../src/engine/sweeper.ts'
import { compilePack } from '../../src/rules/load/compiler.ts'
import type { PackFiles } from '../../src/rules/pack/folder.ts'
import type { Store } from '../../src/store/port.ts'
import { handed, startEngine } from './engine-world.ts'
import { createRandom, eventOf, type Random } from './event-generator.ts'
import { createMemoryStore } from './memory-store.ts'

export const retentionDays = 45
const minuteMs = 60_000
const accounts = 3
const startMs = Date.UTC(2026, 8, 1, 9)

export function filesOf(files: Record<string, string>): PackFiles {
  return new Map(Object.entries({ 'pack.yaml': '{}', ...files }))
}

/** One thing that comes to a server at a time. */
export interface Arrival {
  readonly atMs: number
  readonly event: CardEvent
  /** What the watchdog says instead of the engine. */
  readonly said: Answer | null
  /** What people do before it. */
  readonly deeds?: readonly Deed[]
}

export interface Deed {
  readonly accountId: string
  readonly operation: Operation
}

/** The same with what people do between: with money, holds, refunds, charges and cards. */
export function withPeople(seed: number, arrivals: readonly Arrival[]): Arrival[] {
  const random = createRandom(seed)
  return arrivals.map((arrival, i) => {
    const earlier = arrivals.slice(0, i).map(({ event }) => event)
    const event = random.pick([...earlier.slice(-40), arrival.event])
    const refunds = earlier.filter(({ requestType }) => requestType === 'Refund')
    const captures = earlier.filter(({ requestType }) => requestType === 'Settlement')
    const operation = random.pick<() => Operation | null>([
      () => null,
      () => ({ type: 'adjust', amountMinor: random.between(-60_000, 50_000), reference: `r${i}` }),
      () => ({ type: 'releaseHold', ...placeOf(event) }),
      () => ({ type: 'grantRefund', ...placeOf(random.pick([...refunds, event])) }),
      () => ({ type: 'takeCharge', ...placeOf(random.pick([...captures, event])) }),
      () => ({ type: 'changeCard', cardId: event.cardId, set: limitsOf(random) }),
      () => ({ type: 'changeCard', cardId: event.cardId, set: statusOf(random) }),
    ])()
    if (operation === null) return arrival
    const cardId = 'cardId' in operation ? operation.cardId : event.cardId
    const accountId = `account-${Number(cardId.slice('card-'.length)) % accounts}`
    return { ...arrival, deeds: [{ accountId, operation }] }
  })
}

function placeOf({ cardId, transactionId }: CardEvent) {
  return { cardId, transactionId }
}

/** One that is frozen is mostly thawed before its next ask. */
function statusOf(random: Random): CardSettings {
  if (random.chance(0.02)) return { status: 'Terminated', terminatedBy: 'operator' }
  return { status: random.pick(['Active', 'Active', 'Active', 'Frozen']) }
}

function limitsOf(random: Random) {
  return { dailyLimitMinor: random.pick([null, 20_000, 60_000]) }
}

/** Purchases, cash and what follows them, over some days, on cards that share accounts. */
export function traffic(seed: number, count: number, cards: number): Arrival[] {
  const random = createRandom(seed)
  const arrivals: Arrival[] = []
  const asked: CardEvent[] = []
  let atMs = startMs
  for (let i = 0; i < count; i++) {
    atMs += random.chance(0.02)
      ? random.between(1, 30) * 3_600_000
      : random.between(0, 4 * minuteMs)
    const again = asked.length > 0 && random.chance(0.05)
    const follows = asked.length > 0 && random.chance(0.45)
    const event = again
      ? random.pick(asked)
      : follows
        ? adviceOn(random.pick(asked), `e${i}`, random, atMs)
        : askOn(`card-${random.between(0, cards - 1)}`, i, random, atMs)
    const fresh = !again && !follows
    if (fresh) asked.push(event)
    if (asked.length > 60) asked.shift()
    const said = fresh && random.chance(0.02) ? saidOf(random.chance(0.5)) : null
    arrivals.push({ atMs, event, said })
  }
  return arrivals
}

function askOn(cardId: string, i: number, random: Random, atMs: number): CardEvent {
  const mid = `M${random.between(1, 12)}`
  return eventOf({
    eventId: `e${i}`,
    requestType: random.pick<RequestType>([
      'Authorization',
      'Authorization',
      'PreAuthorization',
      'CashWithdrawal',
    ]),
    transactionId: `t${i}`,
    cardId,
    amountMinor: random.pick([0, 500, 1500, 4000, 9000, 25_000]),
    merchant: {
      mid,
      mcc: random.pick(['5411', '7995', '5541', '4829']),
      name: `Shop ${mid}`,
      city: 'Lagos',
      country: random.pick(['US', 'US', 'NG', 'GB']),
    },
    occurredAtMs: atMs,
  })
}

function adviceOn(ask: CardEvent, eventId: string, random: Random, atMs: number): CardEvent {
  const requestType = random.pick<RequestType>([
    'Settlement',
    'Settlement',
    'Settlement',
    'PartialReversal',
    'Reversal',
    'Refund',
  ])
  const amountMinor = requestType === 'PartialReversal' ? 100 : ask.amountMinor
  return { ...ask, eventId, requestType, amountMinor, occurredAtMs: atMs }
}

function saidOf(approves: boolean): Answer {
  return {
    code: approves ? '000' : '176',
    decidedBy: 'default',
    cause: 'deadline',
    ruleId: '',
    approvedAmountMinor: null,
    rulesVersion: '',
  }
}

export interface LiveRun {
  readonly store: Store
  /** By event id, what the first delivery was told. */
  readonly answers: Map<string, Answer>
  /** Of what people did, that which was not refused. */
  readonly deeds: ReadonlySet<Deed>
}

interface PackChange {
  readonly atMs: number
  readonly files: PackFiles
  /** Before the first event of the new pack; `meetNext` lets one more come meanwhile. */
  readonly after?: (
    store: Store,
    pack: Pack,
    clock: Clock,
    meetNext: () => Promise<void>,
  ) => Promise<void>
}

/** A server's engine with this pack meets the traffic, its sweeper beside it; `change` swaps the pack. */
export async function runLive(
  files: PackFiles,
  arrivals: readonly Arrival[],
  cards: number,
  change: PackChange | null = null,
): Promise<LiveRun> {
  const store = createMemoryStore()
  let nowMs = startMs - minuteMs
  const clock: Clock = { nowMs: () => nowMs, monoMs: () => performance.now() }
  const pack = compilePack(files, retentionDays)
  const shared = { ...createSharedTally(), missing: () => null, size: 0, stop: async () => {} }
  const engine = startEngine(store, { clock, pack, shared })
  const sweeper = startSweeper({
    engine,
    store,
    clock: { ...clock, isDoubted: () => false },
    intervalMs: 1 << 30,
    logRetentionMs: 400 * 86_400_000,
    onError: (error) => {
      throw error
    },
  })
  await importRows(cardRows(cards), engine)
  const answers = new Map<string, Answer>()
  const deeds = new Set<Deed>()
  let left = change
  let i = 0
  async function meetNext(): Promise<void> {
    const { atMs, event, said } = arrivals[i]!
    nowMs = atMs
    if (left !== null && atMs >= left.atMs) {
      const { files: nextFiles, after } = left
      left = null
      const pack = compilePack(nextFiles, retentionDays)
      engine.setPack(pack)
      await after?.(store, pack, clock, meetNext)
      return
    }
    const [next] = await store.range(indexes.due, '', 1)
    if (next !== undefined && splitSortKey(next.sortKey).atMs <= atMs) await sweeper.sweep()
    for (const deed of arrivals[i]!.deeds ?? []) {
      const { refused } = await engine.operate(deed.accountId, deed.operation, 'test')
      if (refused === '') deeds.add(deed)
    }
    const slot = `s${i++}`
    if (said === null) engine.deliver(handed(event, slot, atMs))
    else engine.say({ ...handed(event, slot, atMs), said })
    await engine.idle()
    const answer = said ?? engine.answers.get(slot)
    if (answer !== undefined && !answers.has(event.eventId)) answers.set(event.eventId, answer)
  }
  while (i < arrivals.length) await meetNext()
  sweeper.stop()
  engine.stop()
  return { store, answers, deeds }
}

function cardRows(cards: number) {
  return Array.from({ length: cards }, (_, i) => ({
    cardId: `card-${i}`,
    customerId: `customer-${i}`,
    accountId: `account-${i % accounts}`,
    type: i % 5 === 4 ? 'lite' : 'retail',
    ...(i % 5 === 4 ? { swipeCount: 12 } : {}),
    currency: 'USD',
    country: 'US',
    ...(i < accounts ? { balance: '4000.00' } : {}),
    cardLimits: i % 2 === 0 ? { dailyLimit: '600.00' } : {},
  }))
}

export function sourceOf(store: Store): LogSource {
  return {
    async *lines() {
      for (let after = ''; ; ) {
        const page = await store.readLog(after, 500)
        if (page.length === 0) return
        after = page.at(-1)!.cursor
        yield page.map(({ entry }) => entry)
      }
    },
    snapshots: async () => new Map(),
  }
}
