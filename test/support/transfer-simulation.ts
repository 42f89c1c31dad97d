import { vi } from 'vitest'
import { conditions, isRefused } from '../../src/api/condition.ts'
import type { Command } from '../../src/store/port.ts'
import { handed, testEvent } from './engine-world.ts'
import { contradict, createTricks, forget, overtake } from './transfer-duel.ts'
import { type PlantedFault, startInstance, type TransferInstance } from './transfer-instance.ts'
import {
  checkAtRest,
  checkConserved,
  checkCovered,
  checkOnce,
  creditedIn,
  type ReferenceStory,
} from './transfer-invariants.ts'
import { createTransferNodes } from './transfer-nodes.ts'
import {
  accounts,
  ask,
  busyCards,
  cards,
  duelCards,
  type Payload,
  pass,
  prepare,
  wallet,
} from './transfer-world.ts'

const references = 24

/** Numbers that follow from a seed alone. */
function randomOf(seed: number): () => number {
  let state = seed * 2_654_435_761 + 1
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e37_79b9) | 0
    return ((state ^ (state >>> 13)) >>> 0) / 4_294_967_296
  }
}

/** A run must not depend on those before it; some go over midnight, where groups change. */
function beginTime(seed: number): void {
  vi.clearAllTimers()
  vi.setSystemTime(Date.UTC(2026, 10, 16) - (seed % 8 === 6 ? 15_000 : 10 * 3_600_000))
}

/** One run; throws with what is wrong. Call it with fake timers. Every other seed has failovers. */
export async function simulateTransfers(seed: number, planted: PlantedFault = {}): Promise<void> {
  beginTime(seed)
  const random = randomOf(seed)
  const int = (below: number) => Math.floor(random() * below)
  const mayLose = seed % 2 === 0
  const nodes = createTransferNodes()
  const weather = { calm: true }
  const start = (): TransferInstance => {
    const onPartition = () => crash(instances.indexOf(started))
    const trick = (commands: readonly Command[]) => tricks.faultFor(started, commands)
    const given = { nodes, random, weather, planted, mayLose, onPartition, trick }
    const started = startInstance(given)
    return started
  }
  const tricks = createTricks()
  const instances: TransferInstance[] = []
  for (let i = 2 + int(2); i > 0; i--) instances.push(start())
  const any = () => instances[int(instances.length)]!
  await prepare(instances[0]!, nodes)
  weather.calm = false
  const stories = new Map<string, ReferenceStory>()
  const work: Promise<unknown>[] = []
  let lossMs = 0
  let failed: unknown = null
  const fail = (error: unknown) => {
    failed ??= error
  }

  function storyOf(reference: string): ReferenceStory {
    const blank = { payloads: new Set<string>(), asked: 0, open: 0, done: 0 }
    const story = stories.get(reference) ?? { ...blank, endsRefused: false, sawLoss: false }
    stories.set(reference, story)
    return story
  }

  /** Resolves to the status that its client sees; 503 when the connection broke. */
  async function request(
    instance: TransferInstance,
    reference: string,
    payload: Payload,
    mostMinor = 10_000,
  ) {
    const story = storyOf(reference)
    story.payloads.add(JSON.stringify(payload))
    const number = ++story.asked
    // One that was under way may have an end of its own, whatever this one is told.
    const alone = story.open === 0
    story.open++
    story.endsRefused = false
    const beganMs = Date.now()
    let isOpen = true
    const leave = () => {
      if (isOpen) story.open--
      isOpen = false
    }
    void instance.died.then(leave)
    const asking = ask(instance, reference, payload, mostMinor)
      .catch((error: Error) => {
        if (error.name !== 'StoreError') fail(error)
        return null
      })
      .then((answer) => {
        leave()
        return answer
      })
    const patience = createPatience()
    const answer = await Promise.race([asking, instance.died, patience.ended])
    patience.clear()
    if (beganMs < lossMs + 5_000) story.sawLoss ||= lossMs > 0
    if (answer === null) return 503
    if (isRefused(answer)) {
      const { status } = conditions[answer.condition]
      story.endsRefused = status === 422 && alone && story.asked === number
      return status
    }
    story.done++
    const { transferId } = answer.data as { transferId?: string }
    const isThere = transferId !== undefined && creditedIn(nodes).has(transferId)
    if (!isThere && !isMending()) fail(new Error(`${reference} was told done before it arrived`))
    return 200
  }

  /** Asks again after what broke and what was refused, and now and then after what was done. */
  async function client(reference: string): Promise<void> {
    const payload = anyPayload()
    const asksAgain = random() < 0.8
    let mostMinor = random() < 0.1 ? 0 : 10_000
    for (let tries = 0; tries < 6; tries++) {
      if (random() < 0.5) work.push(request(any(), reference, payload))
      if (random() < 0.06) work.push(request(any(), reference, anyPayload()))
      const at = int(instances.length)
      if (random() < 0.2) setTimeout(crash, random() * 250, at)
      const status = await request(instances[at]!, reference, payload, mostMinor)
      if (!asksAgain || random() < (status === 422 ? 0.3 : status < 500 ? 0.8 : 0.1)) return
      // What may be moved at once is lowered now and then.
      if (status >= 500 && random() < 0.4) mostMinor = 0
      await sleep(random() * 150)
    }
  }

  /** The first of its cards gives to the second. */
  function duel(i: number): Promise<void> {
    const from = cards + 2 * (i % (duelCards / 2))
    const payload = { from, to: from + 1, amountMinor: 100 * (1 + int(20)) }
    const one = int(instances.length)
    const other = (one + 1 + int(instances.length - 1)) % instances.length
    const duels = [contradict, overtake, ...(mayLose ? [forget, forget, forget] : [])]
    return duels[i % duels.length]!({
      tricks,
      random,
      from,
      to: from + 1,
      pair: () => [instances[one]!, instances[other]!],
      crash: (instance) => crash(instances.indexOf(instance)),
      lose: () => failOver([0, 1], 1_000),
      ask(at, allowed = true) {
        const asked = request(at, `D${i}`, payload, allowed ? undefined : 0)
        work.push(asked)
        return asked
      },
    })
  }

  function anyPayload(): Payload {
    const from = int(cards + 1) - 1
    const other = ((from + 2 + int(cards)) % (cards + 1)) - 1
    const to = from === 0 || random() < 0.4 ? other : 0
    return { from, to, amountMinor: 100 * (1 + int(60)) }
  }

  const isMending = () =>
    Date.now() < lossMs + 3_000 || instances.some(({ kept }) => kept.isMending)

  /** Cards freeze and thaw all the time; one of them ends. */
  async function flutter(): Promise<void> {
    while (!weather.calm) {
      const at = random() < 0.8 ? 0 : int(busyCards)
      const set = { status: random() < 0.5 ? 'Frozen' : 'Active' } as const
      void any().engine.operate(
        `account-${at}`,
        { type: 'changeCard', cardId: `card-${at}`, set },
        'test',
      )
      await sleep(20 + random() * 150)
    }
  }

  /** Spends on both sides, servers that die, nodes that forget. */
  async function trouble(i: number): Promise<void> {
    const at = int(instances.length)
    const draw = random()
    if (draw < 0.35) {
      const amountMinor = 100 * (1 + int(10))
      const event = testEvent({ eventId: `e${i}`, cardId: `card-${int(busyCards)}`, amountMinor })
      instances[at]!.engine.deliver(handed(event, `slot-${i}`, Date.now()))
    } else if (draw < 0.4) {
      const set = { status: 'Terminated', terminatedBy: 'operator' } as const
      const ends = { type: 'changeCard', cardId: 'card-3', set } as const
      void instances[at]!.engine.operate('account-3', ends, 'test')
    } else if (draw < 0.55) crash(at)
    else if (draw < 0.8 && mayLose) await loseSome()
  }

  /** What a dead server has told, nobody could drive again: so replicas have it, and none dies in between. */
  function crash(at: number): void {
    if (weather.calm || isMending() || instances[at] === undefined) return
    instances[at]!.crash()
    nodes.catchUp()
    instances[at] = start()
  }

  function failOver(at: readonly number[], lostMs: number): void {
    lossMs = Date.now()
    for (const node of at) nodes.failOver(node, lossMs - lostMs)
    for (const story of stories.values()) story.sawLoss = true
  }

  async function loseSome(): Promise<void> {
    failOver([int(2)], random() * 1_000)
    while (isMending()) await pass(100)
  }

  work.push(flutter().catch(fail))
  for (let i = 0; i < references; i++) {
    work.push(client(`R${i}`).catch(fail))
    if (i % 5 === 2) work.push(duel((i - 2) / 5).catch(fail))
    await trouble(i)
    await pass(random() * 1_500)
    // What a loss took is not driven again yet.
    if (!isMending()) checkConserved(nodes, wallet, accounts)
    if (!mayLose) checkCovered(nodes, wallet, accounts)
  }
  await pass(40_000)
  weather.calm = true
  await pass(40_000)
  await Promise.all(work)
  for (const instance of instances) instance.crash()
  if (failed !== null) throw failed
  checkConserved(nodes, wallet, accounts)
  checkAtRest(nodes)
  checkOnce(nodes, stories)
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Of a client; cleared, because time passes more slowly where many timers wait. */
function createPatience() {
  let timer: NodeJS.Timeout | undefined
  const ended = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, 10_000, null)
  })
  return { ended, clear: () => clearTimeout(timer) }
}
