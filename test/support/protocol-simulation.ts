import { type CardEvent, isAsk } from '../../src/domain/record/event.ts'
import { createEngine } from '../../src/engine/engine.ts'
import { importRows } from '../../src/engine/import.ts'
import { testEvent, testPack } from './engine-world.ts'
import { createMemoryState, createMemoryStore, type MemoryState } from './memory-store.ts'
import { seeded } from './order.ts'
import { createInstance, type Instance, type Planted, type Process } from './protocol-instance.ts'
import { brokenPromise, type Places } from './protocol-invariants.ts'
import { createSharedStore } from './protocol-store.ts'
import { type Counts, createStory, type Story } from './protocol-story.ts'
import { installVirtualLoop, type VirtualLoop } from './virtual-loop.ts'

export interface SimulationResult {
  /** '' when every promise was kept. */
  readonly violation: string
  readonly counts: Counts
}

export interface Habits {
  /**
   * Now and then another server of the store takes over, with less than was acknowledged. No process
   * dies: what it has told would go with it.
   */
  readonly failovers?: boolean
}

/**
 * Several instances over one store, each a gate with its watchdog and journal and one engine at a
 * time, driven through everything that can go wrong by a seed. The gate's slots and the engine are
 * the real ones; the clock, the disk, the store and the messages are the simulation's. With `trace`
 * it writes down what happened.
 */
export async function simulate(
  seed: number,
  planted: Planted = {},
  trace: string[] | null = null,
  habits: Habits = {},
): Promise<SimulationResult> {
  const loop = installVirtualLoop()
  try {
    const world = createWorld(seed, planted, loop, trace, habits)
    await world.live()
    await world.comeToRest()
    const { state, story } = world
    if (story.violation === '') story.blame(brokenPromise(state, story, accountOfCard))
    const { violation, counts } = story
    return { violation, counts }
  } finally {
    loop.uninstall()
  }
}

/** Two cards share an account, and one is nobody's. */
const accountOfCard: Places = new Map([
  ['card-a', 'account-a'],
  ['card-b', 'account-b'],
  ['card-c', 'account-b'],
])
const stranger = 'card-x'

const dayMs = 86_400_000
/** Where events begin to lie at another place, as they do every 15 days. */
const boundaryMs = 15 * 1400 * dayMs

/** What somebody sets a clock to. */
const clocksMs = [0, 0, 1_500, 60 * dayMs, 60 * dayMs, -60 * dayMs, dayMs / 8, -dayMs / 8]

const opened = await openAccounts()

/** A store with all accounts open, made once and copied for each run. */
async function openAccounts(): Promise<MemoryState> {
  const state = createMemoryState()
  const nowMs = () => boundaryMs - dayMs
  const engine = createEngine({
    store: createMemoryStore(state, { nowMs }),
    clock: { nowMs, monoMs: () => 0 },
    pack: testPack,
    nonce: 'opening',
    cacheCards: 10,
    onAnswer: () => {},
    onBooked: () => {},
  })
  const rows = [...accountOfCard].map(([cardId, accountId]) => {
    const fixed = { customerId: 'customer', type: 'retail', currency: 'USD', country: 'NG' }
    return { cardId, accountId, ...fixed, balance: '100.00' }
  })
  const { problems } = await importRows(rows, engine)
  if (problems.length > 0) throw new Error(JSON.stringify(problems))
  engine.stop()
  return state
}

/** What a run is made of; of several values the seed picks one. */
interface RunKind {
  readonly oneCard: boolean
  readonly events: readonly number[]
  readonly actions: readonly number[]
  readonly faults: readonly number[]
  readonly claimFaults: readonly number[]
  readonly crashes: readonly number[]
  /** Of events, how many are advices; of deliveries, how many come at another instance too. */
  readonly advices: number
  readonly elsewhere: number
  /** How readily, by crashes, an engine is replaced while the journal is being written. */
  readonly replaced: number
  /** How readily what the store keeps back goes on. */
  readonly released: number
  /** How often the clock of a machine is set. */
  readonly clocks: number
  /** How often a gate, a process or the whole machine stands for a while. */
  readonly pauses: number
}

const broad: RunKind = {
  oneCard: false,
  events: [6, 9, 12, 15],
  actions: [25, 35, 45, 60],
  faults: [0.05, 0.2, 0.4, 0.6],
  claimFaults: [0.2, 0.8],
  crashes: [0, 0.5, 1, 4],
  advices: 0.3,
  elsewhere: 0.3,
  replaced: 1 / 16,
  released: 3,
  pauses: 1,
  clocks: 0.5,
}

/** Few events, told often, so that deliveries of one event meet. */
const narrow: RunKind = {
  ...broad,
  oneCard: true,
  events: [1, 2, 3],
  actions: [10, 20, 30, 40],
  advices: 0.15,
  elsewhere: 0.6,
}

/** No command that only adds a claim gets through in time, and little else happens to hide it. */
const pointed: RunKind = {
  ...narrow,
  events: [1, 1, 2],
  actions: [12, 20, 30],
  faults: [0, 0.1],
  claimFaults: [1],
  crashes: [0.3, 1, 2],
  advices: 0,
  replaced: 1 / 3,
  released: 0.7,
  pauses: 0.3,
}

const runKinds = { broad, narrow, pointed }

interface World {
  readonly state: MemoryState
  readonly story: Story
  live(): Promise<void>
  comeToRest(): Promise<void>
}

function createWorld(
  seed: number,
  planted: Planted,
  loop: VirtualLoop,
  trace: string[] | null,
  { failovers = false }: Habits,
): World {
  const random = seeded(seed)
  const chance = (probability: number) => random() < probability
  const below = (limit: number) => Math.floor(random() * limit)
  const pick = <T>(values: readonly T[]): T => values[below(values.length)]!
  const note = (...words: unknown[]) => trace?.push([loop.nowMs.toFixed(0), ...words].join(' '))

  const state = structuredClone(opened)
  const story = createStory()
  const { counts } = story
  const kind = runKinds[pick(['broad', 'broad', 'narrow', 'narrow', 'pointed'] as const)]
  const cards = kind.oneCard
    ? [pick([...accountOfCard.keys()])]
    : [...accountOfCard.keys(), stranger]
  const maxEvents = pick(kind.events)
  const maxActions = pick(kind.actions)
  /** How much comes and goes. */
  const crashes = pick(kind.crashes)
  /** How readily messages arrive. */
  let readiness = pick([0.15, 0.5, 0.9])
  const disk = { random, failing: pick([0, 0, 0.1, 0.4]), slow: pick([0, 0, 0.1, 0.6]) }
  const faults = { faults: pick(kind.faults), claimFaults: pick(kind.claimFaults) }
  const weather = { chance, pick, note, counts, ...faults }
  const store = createSharedStore(state, weather)
  const around = {
    ...{ loop, store, story, places: accountOfCard, planted, disk, random, note },
    startMs: boundaryMs + pick([-1000, -200, 0, 1000]),
    defaultDecision: chance(0.5) ? ('approve' as const) : ('decline' as const),
    maxOpen: chance(0.2) ? 1 + below(3) : 1000,
    cacheCards: pick([1, 100]),
  }
  const instances = Array.from({ length: chance(0.6) ? 2 : 3 }, (_, i) =>
    createInstance(`i${i}`, pick([0, 0, -300, 300]), around),
  )
  note(around.defaultDecision, 'by default;', instances.length, 'instances')

  function processes(): Process[] {
    return instances.flatMap(({ process }) => process ?? [])
  }

  function nextEvent(): CardEvent {
    const known = [...story.events.values()]
    if (known.length > 0 && (known.length >= maxEvents || chance(0.35))) return pick(known)
    const eventId = `e${known.length}`
    const advice = chance(kind.advices)
    // Some advices settle an ask of the run; else every event is a transaction of its own.
    const unsettled = known.filter((event) => isAsk(event) && !isSettled(event, known))
    const ask = advice && unsettled.length > 0 && chance(0.4) ? pick(unsettled) : null
    const event = testEvent({
      eventId,
      requestType: advice ? 'Settlement' : 'Authorization',
      transactionId: ask?.transactionId ?? `t${known.length}`,
      cardId: ask?.cardId ?? pick(cards),
      amountMinor: 100 * (5 + below(55)),
      final: advice ? false : null,
    })
    story.events.set(eventId, event)
    return event
  }

  function deliverSome(): void {
    const event = nextEvent()
    const instance = pick(instances)
    instance.deliver(event)
    if (chance(0.15)) instance.deliver(event)
    if (chance(kind.elsewhere)) pick(instances).deliver(event)
  }

  async function letTimePass(): Promise<void> {
    const ms = pick([1, 3, 10, 30, 80, 150, 260, 360])
    note(ms, 'ms pass')
    for (let left = ms; left > 0; left -= 50) {
      await loop.advance(Math.min(left, 50))
      await turns(below(4))
      for (const { slots, pause } of processes()) {
        if (pause === null && chance(0.85)) slots.sweep()
      }
      for (const instance of instances) {
        // Also between what the watchdog takes and what its disk has written.
        const writing = instance.process !== null && !instance.process.journal.isEmpty
        if (writing && chance(crashes * kind.replaced)) replaceEngine(instance)
      }
    }
  }

  /** All that is in between happens to nobody but the relay, and to what the store had been sent. */
  function pauseMachine(): void {
    for (const instance of instances) instance.pause()
    for (let parts = 1 + below(3); parts > 0; parts--) {
      loop.pause(pick([40, 150, 300, 500, 2000]))
      if (chance(0.7)) deliverSome()
    }
    for (const instance of instances) instance.resume()
  }

  /** The gate of one stands, with its engine or without, while the others go on. */
  function pauseOne(): void {
    const instance = pick(instances)
    if (instance.process?.pause) instance.resume()
    else instance.pause()
  }

  function replaceEngine(instance: Instance): void {
    instance.crashEngine()
    instance.startEngine()
  }

  function startSomething(): void {
    start(pick(instances), chance(0.5))
  }

  function start(instance: Instance, withEngine: boolean): void {
    if (instance.process === null) instance.startProcess(withEngine)
    else instance.startEngine()
  }

  function crashSomething(): void {
    const instance = pick(instances)
    if (!instance.process?.engine) start(instance, chance(0.5))
    else if (failovers || chance(0.65)) instance.crashEngine()
    else instance.crashProcess()
  }

  /** As an engine does every second. */
  function lookForLosses(): void {
    void pick(instances).process?.engine?.store.losses?.look()
  }

  const actions: readonly (readonly [weight: number, act: () => void | Promise<void>])[] = [
    [6, deliverSome],
    [4, letTimePass],
    [kind.released, () => store.held.length > 0 && store.release([pick(store.held)])],
    [crashes, crashSomething],
    [crashes, startSomething],
    [kind.pauses, pauseMachine],
    [2 * kind.pauses, pauseOne],
    [kind.clocks, () => pick(instances).setClock(pick(clocksMs))],
    [2 * kind.clocks, () => pick(instances).sweep()],
    [6, () => {}],
    [failovers ? 2 : 0, () => store.failOver()],
    [failovers ? 3 : 0, lookForLosses],
  ]
  const weights = actions.reduce((sum, [weight]) => sum + weight, 0)

  async function act(): Promise<void> {
    let left = random() * weights
    for (const [weight, action] of actions) {
      left -= weight
      if (left >= 0) continue
      await action()
      return
    }
  }

  /** Messages arrive, all of those that wait or the first of them. */
  function exchange({ engine, toEngine, toGate, abandoned, pause }: Process): void {
    const some = (waiting: readonly unknown[]) =>
      chance(0.5) ? waiting.length : below(waiting.length + 1)
    if (engine !== null && chance(readiness)) {
      for (const message of toEngine.splice(0, some(toEngine))) message(engine.inbox)
    }
    for (const { inbox, toEngine: left } of abandoned) {
      if (chance(readiness)) for (const message of left.splice(0, some(left))) message(inbox)
    }
    const hears = pause === null && chance(readiness)
    if (hears) for (const message of toGate.splice(0, some(toGate))) message()
  }

  async function turns(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      for (const process of processes()) exchange(process)
      await loop.turn()
    }
    for (const error of loop.errors) story.blame(`something threw: ${error}`)
  }

  async function live(): Promise<void> {
    for (const instance of instances) {
      instance.startProcess(chance(0.5))
      instance.startEngine()
    }
    for (let i = 0; i < maxActions && story.violation === ''; i++) {
      await act()
      await turns(below(4))
    }
  }

  /**
   * Everything heals, and no watchdog speaks any more: what is open is answered by the engines, what
   * was said is booked. Some commands of before are executed only when all of that is done.
   */
  async function comeToRest(): Promise<void> {
    note('everything heals')
    Object.assign(weather, { faults: 0, claimFaults: 0 })
    Object.assign(disk, { failing: 0, slow: 0 })
    readiness = 1
    const veryLate = store.held.filter(({ kind }) => kind === 'late' && chance(0.6))
    store.release(store.held.filter((one) => !veryLate.includes(one)))
    for (const instance of instances) {
      if (instance.process === null) instance.startProcess(chance(0.5))
      instance.startEngine()
      instance.resume()
    }
    for (let i = 0; i < 200 && story.violation === ''; i++) {
      await turns(2)
      await loop.advance(10)
      if (failovers && i % 5 === 0) {
        for (const { engine } of processes()) await engine?.store.losses?.look()
        continue
      }
      if (processes().every(isAtRest)) break
    }
    store.release(veryLate)
    const idle = new Set<Process>()
    for (const process of processes()) {
      void process.engine?.engine.idle().then(() => idle.add(process))
    }
    await turns(3)
    for (const process of processes()) {
      const { id, slots, journal, engine } = process
      if (slots.size > 0) story.blame(`I4 ${id} has ${slots.size} open slots`)
      if (slots.unbooked > 0) story.blame(`I4 ${id} has ${slots.unbooked} unbooked lines`)
      if (!journal.isEmpty) story.blame(`I4 the journal of ${id} is not empty`)
      if (!idle.has(process)) story.blame(`I4 the engine of ${id} is not idle`)
      engine?.engine.stop()
      for (const { engine } of process.abandoned) engine.stop()
    }
  }

  return { state, story, live, comeToRest }
}

function isAtRest({ slots, journal, engine, toEngine, toGate }: Process): boolean {
  const { queued, recalled } = engine?.engine.stats() ?? { queued: 1, recalled: 0 }
  const waiting = toEngine.length + toGate.length + queued + recalled
  return slots.size + slots.unbooked + waiting === 0 && journal.isEmpty
}

function isSettled({ transactionId }: CardEvent, known: readonly CardEvent[]): boolean {
  return known.some((event) => !isAsk(event) && event.transactionId === transactionId)
}
