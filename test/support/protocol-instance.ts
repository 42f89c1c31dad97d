import { type Clock, createTrustedClock, type TrustedClock } from '../../src/clock.ts'
import type { answerDelivery } from '../../src/domain/decide/answer.ts'
import { type CardEvent, isAsk } from '../../src/domain/record/event.ts'
import type { Answer } from '../../src/domain/record/event-record.ts'
import { createEngine, type Engine } from '../../src/engine/engine.ts'
import { createRecall, newMarks, type Recall } from '../../src/engine/memory/recall.ts'
import { startSweeper } from '../../src/engine/sweeper.ts'
import type { EngineLink, SlotJournal } from '../../src/gate/slot.ts'
import { createSlots, type Slots } from '../../src/gate/slots.ts'
import type { Command, Marks, Store } from '../../src/store/port.ts'
import { testPack } from './engine-world.ts'
import {
  createDisk,
  createJournalModel,
  type Disk,
  type DiskWeather,
  type JournalModel,
} from './journal-model.ts'
import type { MemoryState } from './memory-store.ts'
import { answerProblem, bookedProblem, type Places } from './protocol-invariants.ts'
import { isFlying, type SharedStore } from './protocol-store.ts'
import type { Counts, DeliveryStory, SlotStory, Story } from './protocol-story.ts'
import type { VirtualLoop } from './virtual-loop.ts'

/** One rule broken from the outside; each part wraps what the simulation would use. */
export interface Planted {
  readonly answerDelivery?: typeof answerDelivery
  readonly store?: (store: Store, at: EnginePlace) => Store
  readonly inbox?: (inbox: Inbox, at: EnginePlace) => Inbox
  readonly link?: (link: EngineLink, at: GatePlace) => EngineLink
  readonly journal?: (journal: SlotJournal) => SlotJournal
  readonly slots?: (slots: Slots, at: GatePlace) => Slots
  readonly incarnation?: (instance: string) => string
  readonly isRetired?: () => boolean
  readonly nonce?: () => string
  readonly recall?: (recall: Recall) => Recall
  /** What the process keeps over its engines is kept by the engine. */
  readonly forgets?: 'marks' | 'told'
  readonly contractMs?: number
  /** Also what the engine answered and the relay was not told is booked again after a loss. */
  readonly recallsAll?: boolean
  /** What it takes for the time, and where it starts from. */
  readonly clock?: (clock: TrustedClock, machine: Clock) => TrustedClock
  readonly markMs?: () => null
  /** When a delivery that waited while its process stood is taken to have arrived. */
  readonly arrivedMonoMs?: (sinceMonoMs: number, readMonoMs: number) => number
}

/** What the engine is sent, at the moment it arrives. */
type Inbox = Pick<Engine, 'deliver' | 'say' | 'recall'>

interface EnginePlace {
  readonly random: () => number
  readonly state: MemoryState
  /** Whether a command that carries something for this slot is on its way. */
  isFlying(slot: string): boolean
  /** Tells the gate, as the engine would. */
  book(slot: string): void
}

interface GatePlace {
  readonly journal: SlotJournal
  /** Replies once more to the deliveries of a slot that was answered. */
  replyAgain(slot: string, answer: Answer): void
}

/** What all instances of a run share. */
export interface Surroundings {
  readonly loop: VirtualLoop
  readonly store: SharedStore
  readonly story: Story
  readonly places: Places
  readonly planted: Planted
  readonly disk: DiskWeather
  readonly random: () => number
  readonly note: (...words: unknown[]) => void
  readonly startMs: number
  readonly defaultDecision: 'approve' | 'decline'
  readonly maxOpen: number
  readonly cacheCards: number
}

/** One instance of the server over all its lives; only its disk survives them. */
export interface Instance {
  readonly process: Process | null
  startProcess(withEngine: boolean): void
  crashProcess(): void
  startEngine(): void
  crashEngine(): void
  deliver(event: CardEvent): void
  /** It stands, or its gate alone: what is delivered waits in the kernel. */
  pause(): void
  resume(): void
  /** Somebody sets the clock of its machine; it stays so, also when its process starts again. */
  setClock(aheadMs: number): void
  /** Expires and drops what is past its time, if it may. */
  sweep(): void
}

/** One life of a gate, with one engine at a time. */
export interface Process {
  readonly id: string
  readonly clock: TrustedClock
  readonly slots: Slots
  readonly journal: JournalModel
  readonly stories: Map<string, SlotStory>
  /** Messages arrive in order, as between threads. */
  readonly toEngine: ((inbox: Inbox) => void)[]
  readonly toGate: (() => void)[]
  /** What the relay was told, and what the store has acknowledged. */
  recall: Recall
  marks: Marks
  engine: RunningEngine | null
  /** Replaced while they were stuck; what they had been sent still arrives. */
  readonly abandoned: AbandonedEngine[]
  /** Whether the gate believes that its engine is there. */
  engineSeen: boolean
  dead: boolean
  /** While it stands. */
  pause: Pause | null
}

interface Pause {
  readonly sinceMonoMs: number
  readonly waiting: DeliveryStory[]
}

interface RunningEngine {
  readonly engine: Engine
  readonly store: Store
  readonly inbox: Inbox
  /** Nobody hears it any more. */
  retire(): void
}

interface AbandonedEngine extends RunningEngine {
  readonly toEngine: ((inbox: Inbox) => void)[]
}

const budgetMs = 250
const lastCallMs = 350
const contractMs = 400

export function createInstance(name: string, skewMs: number, around: Surroundings): Instance {
  const { loop, story, places, planted, random, note } = around
  const { counts } = story
  const disk = createDisk()
  let aheadMs = 0
  const machine: Clock = {
    nowMs: () => Math.floor(around.startMs + loop.nowMs + skewMs + aheadMs),
    monoMs: () => loop.nowMs,
  }
  /** The last time that was trusted, on its disk. */
  let markMs = machine.nowMs() - 1_000
  let lives = 0
  let engines = 0
  let process: Process | null = null

  function startProcess(withEngine: boolean): void {
    const id = planted.incarnation?.(name) ?? `${name}-${lives}`
    lives++
    note(id, 'starts')
    const trusted = createTrustedClock(planted.markMs ? null : markMs, machine, machine.monoMs)
    trusted.remember(null)
    const clock = planted.clock?.(trusted, machine) ?? trusted
    const stories = new Map<string, SlotStory>()
    const journal = createJournalModel(disk, around.disk)
    const place: GatePlace = {
      journal,
      replyAgain(slot, answer) {
        const { told = [] } = stories.get(slot) ?? {}
        if (told.length > 0) told.push(answer)
      },
    }
    // Its parts speak of the process, so they are made after it.
    const born: Omit<Process, 'slots'> = {
      id,
      clock,
      journal,
      stories,
      toEngine: [],
      toGate: [],
      recall: recallOf(() => born),
      marks: newMarks(id),
      engine: null,
      abandoned: [],
      engineSeen: false,
      dead: false,
      pause: null,
    }
    const link = linkOf(born)
    const watched = watchedJournal(born)
    const slots = createSlots({
      clock,
      link: planted.link?.(link, place) ?? link,
      journal: planted.journal?.(watched) ?? watched,
      incarnation: id,
      budgetMs,
      lastCallMs,
      contractMs: planted.contractMs ?? contractMs,
      defaultDecisionOf: () => around.defaultDecision,
      maxOpen: around.maxOpen,
      trouble: () => (born.engineSeen ? '' : 'engineDown'),
      rulesVersion: () => 'test',
    })
    process = Object.assign(born, { slots: planted.slots?.(slots, place) ?? slots })
    const lines = [...disk.lines.values()]
    counts.replayedLines += lines.length
    for (const { slot, event } of lines) {
      note(slot, event.eventId, 'is replayed')
      stories.set(slot, story.slots.find((earlier) => earlier.slot === slot)!)
    }
    if (withEngine) startEngine()
    process.slots.restore(lines)
  }

  function recallOf(of: () => Omit<Process, 'slots'>): Recall {
    const recall = createRecall({
      // As soon as it is known to be kept.
      keptMs: -1,
      send(told, last) {
        const { engine, toEngine } = of()
        if (engine !== null) toEngine.push((inbox) => inbox.recall(told, last))
      },
    })
    return planted.recall?.(recall) ?? recall
  }

  function storyOf({ stories }: Pick<Process, 'stories'>, slot: string, event: CardEvent) {
    const found = stories.get(slot) ?? story.openSlot(slot, event)
    stories.set(slot, found)
    return found
  }

  function linkOf(of: Omit<Process, 'slots'>): EngineLink {
    const post = (message: (inbox: Inbox) => void) => {
      // What is posted to an engine that died unnoticed is lost.
      if (of.engine !== null) of.toEngine.push(message)
    }
    return {
      get alive() {
        return of.engineSeen && !of.dead
      },
      deliver(delivery) {
        if (of.dead) return
        const { slot, event } = delivery
        storyOf(of, slot, event).handed = true
        // Memory would approve some; should the watchdog speak, these are not declined.
        if (random() < 0.1) (of as Process).slots.onStandIn(slot)
        post((inbox) => inbox.deliver(delivery))
      },
      say(delivery) {
        if (of.dead) return
        const told = storyOf(of, delivery.slot, delivery.event)
        told.said = delivery.said
        told.saidUncertain = delivery.mayStillCommit
        post((inbox) => inbox.say(delivery))
      },
    }
  }

  function watchedJournal(of: Omit<Process, 'slots'>): SlotJournal {
    return {
      append(line, withinMs) {
        if (of.dead) return new Promise(() => {})
        const told = storyOf(of, line.slot, line.event)
        told.said = line.said
        told.unwritten = true
        note(line.slot, line.event.eventId, 'journals', line.said.code)
        const appended = of.journal.append(line, withinMs)
        appended.then(
          () => {
            told.unwritten = false
          },
          () => counts.journalFailures++,
        )
        return appended
      },
      drop: of.journal.drop,
    }
  }

  function startEngine(): void {
    const of = process
    if (of === null || of.engine !== null) return
    const number = engines++
    note(of.id, 'starts engine', number)
    // Nobody listens any more to the one before.
    of.toGate.length = 0
    if (planted.forgets === 'marks') of.marks = newMarks(`${of.id}/${number}`)
    if (planted.forgets === 'told') of.recall = recallOf(() => of)
    const flying = new Set<readonly Command[]>()
    let alive = true
    const isRetired = planted.isRetired ?? (() => !alive)
    const post = (message: () => void) => {
      if (alive && !of.dead) of.toGate.push(message)
    }
    const book = (slot: string, told: string | null = null) => {
      if (!alive) return
      of.stories.get(slot)!.booked = true
      post(() => {
        if (told !== null) of.recall.note(slot, told, loop.nowMs)
        of.slots.onBooked(slot)
      })
    }
    const { state } = around.store
    const place = { random, state, book, isFlying: (slot: string) => isFlying(flying, slot) }
    const { clock } = of
    const opened = around.store.open(clock.nowMs, flying, of.marks)
    const store = planted.store?.(opened, place) ?? opened
    const engine = createEngine({
      store,
      clock,
      pack: testPack,
      nonce: planted.nonce?.() ?? `${name}e${number}`,
      cacheCards: around.cacheCards,
      isRetired,
      onAnswer(slot, answer, _origin, told) {
        if (!alive) return
        note(slot, 'engine', number, 'answers', answer.code)
        const problem = answerProblem(state, of.stories.get(slot)!, answer, places)
        // What was read before a failover may be answered after it, and is booked again.
        if (around.store.failovers === 0) story.blame(problem)
        post(() => {
          const given = of.slots.onAnswer(slot, answer) || planted.recallsAll === true
          if (told !== null && given) of.recall.note(slot, told, loop.nowMs)
        })
      },
      onBooked(slot, told) {
        if (!alive) return
        note(slot, 'engine', number, 'has booked')
        const problem = bookedProblem(state, of.stories.get(slot)!, places)
        if (around.store.failovers === 0) story.blame(problem)
        book(slot, told)
      },
      onLoss: () => post(() => of.recall.onLost()),
      onRepeated: () => post(() => of.recall.onRepeated()),
      onCheckpoint: (number) => post(() => of.recall.onCheckpoint(number)),
      onKept: (number) => post(() => of.recall.onKept(number, loop.nowMs)),
      ...(planted.answerDelivery && { answerDelivery: planted.answerDelivery }),
      random: () => random() * 0.1,
    })
    const retire = () => {
      alive = false
    }
    const stop = () => {
      retire()
      engine.stop()
    }
    const inbox = planted.inbox?.(engine, place) ?? engine
    of.engine = { engine: { ...engine, stop }, store, inbox, retire }
    of.engineSeen = true
    of.recall.onEngineStart()
    of.slots.onEngineStart()
  }

  function stopEngine(of: Process): void {
    of.engine?.engine.stop()
    of.engine = null
    of.toEngine.length = 0
  }

  /** It is stuck, not dead: it goes on with what it has been sent, when another engine may be there. */
  function abandonEngine(of: Process): void {
    if (of.engine === null) return
    of.engine.retire()
    of.abandoned.push({ ...of.engine, toEngine: of.toEngine.splice(0) })
    of.engine = null
    counts.abandonedEngines++
  }

  /** The parts of what was said that a process took with it, as the design admits. */
  function excuse(slot: SlotStory, { lines }: Disk): void {
    const { told, said, handed, booked, unwritten } = slot
    if (told.length === 0) {
      slot.excuse = 'died before its reply'
    } else if ((slot.hungUp || slot.late) && said?.code === '000') {
      const forgotten = unwritten && !booked && !lines.has(slot.slot)
      if (forgotten) slot.excuse = 'died before it had journaled that nobody heard it'
    } else if (said !== null && said.code !== '000') {
      const kept = lines.get(slot.slot)?.said.code
      // The approval that it first meant to give may have got to the disk after all.
      const forgotten = handed && !booked && kept === undefined
      if (forgotten || kept === '000') slot.excuse = 'died after a decline that was not journaled'
    }
  }

  return {
    get process() {
      return process
    },
    startProcess,
    startEngine,
    crashEngine() {
      if (process === null || process.engine === null) return
      note(process.id, 'loses its engine')
      counts.engineCrashes++
      if (random() < 0.4) abandonEngine(process)
      else stopEngine(process)
      // What it had posted arrives up to some point; what it was sent is gone.
      process.toGate.splice(Math.floor(random() * (process.toGate.length + 1)))
      // The gate may notice only when another engine starts.
      process.engineSeen = random() < 0.5
    },
    crashProcess() {
      if (process === null) return
      note(process.id, 'dies')
      counts.processCrashes++
      stopEngine(process)
      for (const { engine } of process.abandoned) engine.stop()
      process.dead = true
      process.journal.crash()
      for (const delivery of story.deliveries) {
        if (delivery.process === process && delivery.replies === 0) delivery.lost = true
      }
      for (const slot of process.stories.values()) excuse(slot, disk)
      process = null
    },
    setClock(ms) {
      note(name, 'has its clock set', ms, 'ms ahead')
      counts.clockJumps++
      aheadMs = ms
    },
    sweep() {
      if (process === null) return
      const { clock, engine } = process
      clock.observe()
      if (clock.isDoubted()) {
        counts.doubts++
        return
      }
      markMs = clock.nowMs()
      if (engine === null) return
      counts.sweeps++
      const sweeper = startSweeper({
        ...engine,
        clock,
        intervalMs: 2 ** 30,
        logRetentionMs: 400 * 86_400_000,
        onError: () => {},
      })
      // What the store cannot take now is for the next time.
      sweeper.sweep().then(sweeper.stop, sweeper.stop)
    },
    pause() {
      if (process === null || process.pause !== null) return
      note(process.id, 'stands')
      counts.pauses++
      process.pause = { sinceMonoMs: loop.nowMs, waiting: [] }
    },
    resume() {
      const of = process
      if (of === null || of.pause === null) return
      note(of.id, 'goes on')
      const { sinceMonoMs, waiting } = of.pause
      of.pause = null
      const arrivedMonoMs = planted.arrivedMonoMs?.(sinceMonoMs, loop.nowMs) ?? sinceMonoMs
      for (const delivery of waiting) {
        counts.readAfterPause++
        take(of, delivery, arrivedMonoMs)
      }
    },
    deliver(event) {
      const of = process
      if (of === null) return
      const sentMonoMs = loop.nowMs
      const delivery = { event, process: of, sentMonoMs, replies: 0, lost: false }
      story.deliveries.push(delivery)
      counts.deliveries++
      const { eventId, cardId, requestType, amountMinor } = event
      note(of.id, 'is given', requestType, eventId, cardId, amountMinor)
      if (of.pause === null) take(of, delivery, sentMonoMs)
      else of.pause.waiting.push(delivery)
    },
  }

  function take(of: Process, delivery: DeliveryStory, arrivedMonoMs: number): void {
    const { event } = delivery
    of.slots.open(event, of.clock.nowMs(), arrivedMonoMs, (answer, slot) => {
      if (of.dead) return true
      delivery.replies++
      const told = storyOf(of, slot, event)
      // Now and then the relay has hung up: it does what the default decision says.
      told.hungUp ??= answer?.decidedBy === 'engine' && isAsk(event) && random() < 0.08
      // So it does when the answer comes too late, or never.
      const tooLate = loop.nowMs - delivery.sentMonoMs >= contractMs
      const late = isAsk(event) && (tooLate || answer === null)
      told.late ||= late
      const believed =
        told.hungUp || late ? { ...anyAnswer, ...byDefault(around.defaultDecision) } : answer
      told.told.push(believed)
      if (answer?.decidedBy === 'default') told.said ??= answer
      const how = told.hungUp ? 'hung up on' : late ? 'is told too late' : 'is told'
      note(slot, event.eventId, how, answer?.code, answer?.decidedBy)
      if (told.hungUp) counts.unheard++
      else if (late) counts.tooLate++
      else countReply(event, answer, counts)
      return !told.hungUp
    })
  }
}

const anyAnswer: Answer = {
  code: '000',
  decidedBy: 'engine',
  cause: '',
  ruleId: '',
  approvedAmountMinor: null,
  rulesVersion: 'test',
}

function byDefault(decision: 'approve' | 'decline'): Pick<Answer, 'code' | 'decidedBy' | 'cause'> {
  return { code: decision === 'approve' ? '000' : '176', decidedBy: 'default', cause: 'deadline' }
}

function countReply(event: CardEvent, answer: Answer | null, counts: Counts): void {
  if (answer === null) counts.unanswerable++
  else if (!isAsk(event)) counts.acknowledged++
  else if (answer.decidedBy === 'engine') {
    if (answer.code === '000') counts.engineApprovals++
    else counts.engineDeclines++
  } else if (answer.code === '000') counts.watchdogApprovals++
  else counts.watchdogDeclines++
}
