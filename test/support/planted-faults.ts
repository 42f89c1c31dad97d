import { apply, stamp } from '../../src/domain/change/apply.ts'
import type { Change } from '../../src/domain/change/change.ts'
import type { View } from '../../src/domain/change/view.ts'
import { answerDelivery, type Step } from '../../src/domain/decide/answer.ts'
import type { Delivery } from '../../src/domain/decide/delivery.ts'
import { isAsk } from '../../src/domain/record/event.ts'
import type { Answer } from '../../src/domain/record/event-record.ts'
import { type Outcome, StoreError } from '../../src/store/port.ts'
import type { Planted } from './protocol-instance.ts'

/** One rule of the protocol left out; the simulation must notice each. */
export interface PlantedFault {
  /** Ends the sentence "the simulation notices when …". */
  readonly when: string
  readonly planted: Planted
  /** It shows when the store loses what it acknowledged. */
  readonly failovers?: true
}

export const plantedFaults: readonly PlantedFault[] = [
  ...claimFaults(),
  ...storeFaults(),
  ...engineFaults(),
  ...gateFaults(),
  ...lossFaults(),
]

/** Rules 2a to 2e. */
function claimFaults(): PlantedFault[] {
  return [
    {
      when: 'an approved ask is recorded without its claim (2a)',
      planted: {
        answerDelivery(delivery, view, pack) {
          const step = answerDelivery(delivery, view, pack)
          return delivery.said === null ? rewritten(step, view, unclaimedRecords) : step
        },
      },
    },
    {
      when: 'an ask is approved beyond what is available (2a)',
      planted: {
        answerDelivery(delivery, view, pack) {
          const account = { ...view.account, withheldMinor: -1_000_000 }
          const isNew = delivery.said === null && view.event === null
          if (!isNew || !isAsk(delivery.event)) return answerDelivery(delivery, view, pack)
          return rewritten(
            answerDelivery(delivery, { ...view, account }, pack),
            view,
            (change) => change,
          )
        },
      },
    },
    {
      when: 'the duplicate of a declined ask is decided again (2b)',
      planted: {
        answerDelivery(delivery, view, pack) {
          const declined = isAsk(delivery.event) && view.event?.claims.length === 0
          const again = delivery.said === null && declined
          return answerDelivery(delivery, again ? { ...view, event: null } : view, pack)
        },
      },
    },
    {
      when: 'the duplicate of an approved ask is answered without adding its claim (2b)',
      planted: {
        answerDelivery(delivery, view, pack) {
          if (delivery.said !== null || !isOthers(delivery, view))
            return answerDelivery(delivery, view, pack)
          return nothingDone(delivery, view, view.event!.answer)
        },
      },
    },
    {
      when: 'a said decline undoes a hold that it has no claim to (2c)',
      planted: {
        answerDelivery(delivery, view, pack) {
          if (!saysDecline(delivery) || !isOthers(delivery, view))
            return answerDelivery(delivery, view, pack)
          return answerDelivery({ ...delivery, slot: view.event!.claims[0]! }, view, pack)
        },
      },
    },
    {
      when: 'a said decline gives up the last claim and leaves the hold (2c)',
      planted: {
        answerDelivery(delivery, view, pack) {
          const step = answerDelivery(delivery, view, pack)
          if (!saysDecline(delivery) || view.event === null) return step
          return rewritten(step, view, (change) =>
            change.type === 'unclaimed' || change.type === 'answerChanged' ? change : null,
          )
        },
      },
    },
    {
      when: 'a said decline of an event without a record records nothing (2c)',
      planted: {
        answerDelivery(delivery, view, pack) {
          if (!saysDecline(delivery) || view.event !== null)
            return answerDelivery(delivery, view, pack)
          return nothingDone(delivery, view, delivery.said!)
        },
      },
    },
    {
      when: 'a said approve books nothing because the record was declined (2d)',
      planted: {
        answerDelivery(delivery, view, pack) {
          const declined = view.event !== null && view.event.claims.length === 0
          if (!saysApprove(delivery) || !declined) return answerDelivery(delivery, view, pack)
          return nothingDone(delivery, view, delivery.said!)
        },
      },
    },
    {
      when: 'a said approve of an approved ask adds no claim (2d)',
      planted: {
        answerDelivery(delivery, view, pack) {
          if (!saysApprove(delivery) || !isOthers(delivery, view))
            return answerDelivery(delivery, view, pack)
          return nothingDone(delivery, view, delivery.said!)
        },
      },
    },
    {
      when: 'an acknowledged advice is booked again although it has a record (2e)',
      planted: {
        answerDelivery(delivery, view, pack) {
          const again = delivery.said !== null && !isAsk(delivery.event) && view.event !== null
          return answerDelivery(delivery, again ? { ...view, event: null } : view, pack)
        },
      },
    },
  ]
}

/** Section 4, and steps 3 and 6 where they stand on it. */
function storeFaults(): PlantedFault[] {
  return [
    {
      when: 'a commit is reported before it is durable, and then is lost (3)',
      planted: {
        store: (store, { random }) => ({
          ...store,
          commit: async (commands) =>
            random() < 0.1 ? commands.map(() => 'committed' as const) : store.commit(commands),
        }),
      },
    },
    {
      when: 'what was in a command of unknown outcome is closed without a commit (6)',
      planted: {
        store: (store) => ({
          ...store,
          async commit(commands) {
            const real = commands.filter(
              ({ log, put, index }) => log.length + put.length + index.length > 0,
            )
            const outcomes = real.length > 0 ? await store.commit(real) : []
            return commands.map((command) => outcomes[real.indexOf(command)] ?? 'committed')
          },
        }),
      },
    },
    {
      when: 'an unknown outcome is taken for a refusal (6)',
      planted: {
        store: (store) => ({
          ...store,
          async commit(commands) {
            try {
              return await store.commit(commands)
            } catch {
              throw new StoreError('not executed, it is believed', 'no')
            }
          },
        }),
      },
    },
    {
      when: 'keys that were assumed absent are not checked',
      planted: {
        store: (store) => ({
          ...store,
          commit: (commands) =>
            store.commit(commands.map((command) => ({ ...command, mustBeAbsent: [] }))),
        }),
      },
    },
    {
      when: 'versions are not checked',
      planted: {
        store: (store, { state }) => ({
          ...store,
          commit: (commands) =>
            store.commit(
              commands.map((command) => ({
                ...command,
                expectedVersion: state.aggregates.get(command.aggregate)?.version ?? null,
              })),
            ),
        }),
      },
    },
    { when: 'a conflict is taken for a commit', planted: mistaking('conflict') },
    { when: 'a key that exists is taken for a commit', planted: mistaking('exists') },
    {
      when: 'engines use the same version tokens',
      planted: { nonce: () => 'n' },
    },
  ]
}

function mistaking(mistaken: Outcome): Planted {
  return {
    store: (store) => ({
      ...store,
      async commit(commands) {
        const outcomes = await store.commit(commands)
        return outcomes.map((outcome) => (outcome === mistaken ? 'committed' : outcome))
      },
    }),
  }
}

/** Steps 3 and 8. */
function engineFaults(): PlantedFault[] {
  return [
    {
      when: 'what the gate says while a command is in flight is not heard (3)',
      planted: {
        inbox: ({ say, ...rest }, { isFlying }) => ({
          ...rest,
          say(delivery) {
            if (!isFlying(delivery.slot)) say(delivery)
          },
        }),
      },
    },
    {
      when: 'a decline of what is in flight is dropped as if it only waited (8)',
      planted: {
        inbox: ({ say, ...rest }, { isFlying, book }) => ({
          ...rest,
          say(delivery) {
            const { slot, said } = delivery
            if (said.code !== '000' && isFlying(slot)) book(slot)
            else say(delivery)
          },
        }),
      },
    },
    {
      when: 'an engine that was replaced goes on with what it had been sent (7)',
      planted: { isRetired: () => false },
    },
  ]
}

/** Steps 1, 4, 5 and 7. */
function gateFaults(): PlantedFault[] {
  return [
    {
      when: 'a gate that starts again names its slots as before (1)',
      planted: { incarnation: (instance) => instance },
    },
    {
      when: 'an answer that comes after the watchdog has spoken is given too (4)',
      planted: {
        slots: (slots, { replyAgain }) =>
          passed(slots, {
            onAnswer(slot, answer) {
              replyAgain(slot, answer)
              return slots.onAnswer(slot, answer)
            },
          }),
      },
    },
    {
      when: 'an answer that nobody heard counts as given',
      planted: { slots: (slots) => listening(slots, () => true) },
    },
    {
      when: 'a wall clock that jumps is believed',
      planted: {
        clock: (trusted, machine) => ({ ...trusted, ...machine, isDoubted: () => false }),
      },
    },
    {
      when: 'a process that starts believes its wall clock',
      planted: { markMs: () => null },
    },
    {
      when: 'what waited while the process stood counts as just arrived',
      planted: { arrivedMonoMs: (_sinceMonoMs, readMonoMs) => readMonoMs },
    },
    {
      when: 'what is said past the contract limit counts as heard',
      planted: { contractMs: Number.POSITIVE_INFINITY },
    },
    {
      when: 'what nobody heard is not journaled',
      planted: withoutUnheardLines(),
    },
    {
      when: 'the watchdog speaks before its journal is flushed (5)',
      planted: { journal: () => ({ append: async () => {}, drop: () => {} }) },
    },
    {
      when: 'the journal forgets what was said once the engine was told (5)',
      planted: {
        link: (link, { journal }) => ({
          get alive() {
            return link.alive
          },
          deliver: link.deliver,
          say(delivery) {
            link.say(delivery)
            journal.drop(delivery.slot)
          },
        }),
      },
    },
    {
      when: 'what was said is told to one engine only (5)',
      planted: {
        link(link) {
          const told = new Set<string>()
          return {
            get alive() {
              return link.alive
            },
            deliver: link.deliver,
            say(delivery) {
              if (!told.has(delivery.slot)) link.say(delivery)
              told.add(delivery.slot)
            },
          }
        },
      },
    },
    {
      when: 'open slots are not sent to the next engine (7)',
      planted: {
        link(link) {
          const sent = new Set<string>()
          return {
            get alive() {
              return link.alive
            },
            deliver(delivery) {
              if (!sent.has(delivery.slot)) link.deliver(delivery)
              sent.add(delivery.slot)
            },
            say: link.say,
          }
        },
      },
    },
    {
      when: 'the journal is not replayed (7)',
      planted: { slots: (slots) => passed(slots, { restore() {} }) },
    },
    {
      when: 'the next engine is not told that a dead one may have acted (6)',
      planted: {
        link: (link) => ({
          get alive() {
            return link.alive
          },
          deliver: (delivery) => link.deliver({ ...delivery, mayStillCommit: false }),
          say: (delivery) => link.say({ ...delivery, mayStillCommit: false }),
        }),
      },
    },
  ]
}

/** What a failover loses is found by the marks, and booked again by what the process has kept. */
function lossFaults(): PlantedFault[] {
  const faults: Omit<PlantedFault, 'failovers'>[] = [
    {
      when: 'a mark that is too low is taken as it is',
      planted: {
        store: ({ losses, ...store }) => ({
          ...store,
          losses: {
            ...losses!,
            watch: (listener) =>
              losses!.watch({ ...listener, onLoss: () => void losses!.resume().catch(() => {}) }),
          },
        }),
      },
    },
    {
      when: 'what the engine answered is kept as told although the watchdog had spoken',
      planted: { recallsAll: true },
    },
    { when: 'what was told is kept by the engine', planted: { forgets: 'told' } },
    { when: 'what was acknowledged is kept by the engine', planted: { forgets: 'marks' } },
    {
      when: 'what was told is let go before the replicas have it',
      planted: {
        recall: (recall) => ({
          ...recall,
          onCheckpoint(number) {
            recall.onCheckpoint(number)
            recall.onKept(number, Number.POSITIVE_INFINITY)
          },
        }),
      },
    },
    {
      when: 'what is being booked again is let go because the marks are in order',
      planted: {
        recall: (recall) => ({
          ...recall,
          onCheckpoint(number) {
            recall.onRepeated()
            recall.onCheckpoint(number)
          },
        }),
      },
    },
    {
      when: 'an engine that ends while it books again leaves the rest',
      planted: { recall: (recall) => ({ ...recall, onEngineStart() {} }) },
    },
  ]
  return faults.map((fault) => ({ ...fault, failovers: true }))
}

type SlotsOf = ReturnType<NonNullable<Planted['slots']>>

/** A spread would freeze what the getters say. */
function passed(slots: SlotsOf, changed: Partial<SlotsOf>): SlotsOf {
  const same: SlotsOf = {
    shown: slots.shown,
    get size() {
      return slots.size
    },
    get unbooked() {
      return slots.unbooked
    },
    get unheard() {
      return slots.unheard
    },
    get damaged() {
      return slots.damaged
    },
    open: slots.open,
    onAnswer: slots.onAnswer,
    onBooked: slots.onBooked,
    onStandIn: slots.onStandIn,
    onSetAside: slots.onSetAside,
    sweep: slots.sweep,
    onEngineStart: slots.onEngineStart,
    restore: slots.restore,
    drained: slots.drained,
  }
  return Object.assign(same, changed)
}

/** The gate is told otherwise whether the relay was there. */
function listening(slots: SlotsOf, hears: (heard: boolean, slot: string) => boolean): SlotsOf {
  return passed(slots, {
    open(event, atMs, monoMs, reply, backlog) {
      const listened: typeof reply = (answer, slot, origin) =>
        hears(reply(answer, slot, origin), slot)
      slots.open(event, atMs, monoMs, listened, backlog)
    },
  })
}

function withoutUnheardLines(): Planted {
  const unheard = new Set<string>()
  return {
    slots: (slots) =>
      listening(slots, (heard, slot) => {
        if (!heard) unheard.add(slot)
        return heard
      }),
    journal: (journal) => ({
      append: async (line, withinMs) =>
        unheard.has(line.slot) ? undefined : journal.append(line, withinMs),
      drop: journal.drop,
    }),
  }
}

function saysDecline({ event, said }: Delivery): boolean {
  return said !== null && isAsk(event) && said.code !== '000'
}

function saysApprove({ event, said }: Delivery): boolean {
  return said !== null && isAsk(event) && said.code === '000'
}

/** An approved ask that this delivery has no claim to. */
function isOthers({ event, slot }: Delivery, view: View): boolean {
  const claims = view.event?.claims ?? []
  return isAsk(event) && claims.length > 0 && !claims.includes(slot)
}

function nothingDone({ receivedAtMs }: Delivery, view: View, answer: Answer): Step {
  const atMs = Math.max(receivedAtMs, view.account.lastArrivalMs)
  const nothing = { anomalies: [], unmatched: '', matchedRules: [], shadowRules: [] } as const
  return { answer, atMs, changes: [], before: view, after: view, ...nothing }
}

function unclaimedRecords(change: Change): Change {
  return change.type === 'recorded'
    ? { ...change, record: { ...change.record, claims: [] } }
    : change
}

/** The step with some changes altered or, where null, left out. */
function rewritten(step: Step, view: View, alter: (change: Change) => Change | null): Step {
  const changes = step.changes.flatMap((change) => alter(change) ?? [])
  if (changes.length === 0) return { ...step, changes, after: view }
  let after = view
  for (const change of changes) after = apply(after, change, step.atMs)
  return { ...step, changes, after: stamp(view, after, step.atMs, 'event') }
}
