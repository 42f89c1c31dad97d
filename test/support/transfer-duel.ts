import { accountAggregate } from '../../src/engine/format/layout.ts'
import type { Command } from '../../src/store/port.ts'
import type { Fault } from './memory-store.ts'
import type { TransferInstance } from './transfer-instance.ts'

export type Step = 'debit' | 'credit' | 'close'

/** What goes wrong with one commit, of one server, at one aggregate. */
interface Trick {
  readonly at: TransferInstance
  readonly step: Step
  readonly aggregate: string
  readonly fault: Fault
}

export interface Tricks {
  /** Resolves when it was played, or when nothing came that it could be played on. */
  prepare(trick: Trick): Promise<void>
  faultFor(at: TransferInstance, commands: readonly Command[]): Fault | null
}

const patienceMs = 3_000
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

export function createTricks(): Tricks {
  const prepared = new Map<Trick, () => void>()
  return {
    prepare(trick) {
      const played = new Promise<void>((resolve) => prepared.set(trick, resolve))
      return Promise.race([played, sleep(patienceMs).then(() => void prepared.delete(trick))])
    },
    faultFor(at, commands) {
      for (const [trick, play] of prepared) {
        const { aggregate, step, fault } = trick
        const own = commands.find((command) => command.aggregate === aggregate)
        if (trick.at !== at || own === undefined || stepOf(own) !== step) continue
        prepared.delete(trick)
        play()
        return fault
      }
      return null
    },
  }
}

export function stepOf({ put, remove }: Command): Step | null {
  if (put.some(({ group }) => group === 'x')) return 'debit'
  if (put.some(({ group }) => group.startsWith('i@'))) return 'credit'
  return remove.some(({ group }) => group === 'x') ? 'close' : null
}

interface DuelWorld {
  readonly tricks: Tricks
  readonly random: () => number
  /** Two different servers that live. */
  readonly pair: () => readonly [TransferInstance, TransferInstance]
  readonly crash: (instance: TransferInstance) => void
  /** Asks for the one transfer that the duel is about; `allowed` false: the organization does not let it. */
  readonly ask: (at: TransferInstance, allowed?: boolean) => Promise<number>
  /** Replicas take over everywhere that lack the last second. */
  readonly lose: () => void
  readonly from: number
  readonly to: number
}

/**
 * A debit is on its way while its server dies; another refuses the retry, and the client believes it. Nobody
 * else touches the source, so only the refusal's own commit keeps the late command from being executed.
 */
export async function contradict(world: DuelWorld): Promise<void> {
  const { tricks, random, crash, ask, from } = world
  const [one, two] = world.pair()
  const fault = { kind: 'late', release: sleep(1_500 + random() * 2_000) } as const
  const aggregate = accountAggregate(`account-${from}`)
  const late = tricks.prepare({ at: one, step: 'debit', aggregate, fault })
  void ask(one)
  await late
  crash(one)
  await sleep(1)
  await ask(two, false)
}

/**
 * A second server joins a transfer that is under way and is refused. One of the two is slow to close it, and
 * does so when the other has, and the next attempt under the same Reference is on its way.
 */
export async function overtake(world: DuelWorld): Promise<void> {
  const { tricks, random, ask, from, to } = world
  const [one, two] = world.pair()
  const source = accountAggregate(`account-${from}`)
  const destination = accountAggregate(`account-${to}`)
  const slowly = (ms: number): Fault => ({ kind: 'delayed', until: sleep(ms) })
  if (random() < 0.8) await setStatus(two, to, 'Frozen')
  const slow = random() < 0.5 ? one : two
  const arriving = { at: one, step: 'credit', aggregate: destination } as const
  const begun = tricks.prepare({ ...arriving, fault: slowly(100 + random() * 200) })
  const closing = { at: slow, step: 'close', aggregate: source } as const
  const closed = tricks.prepare({ ...closing, fault: slowly(800 + random() * 400) })
  const first = ask(one)
  await begun
  const second = ask(two)
  await closed
  await Promise.race([slow === one ? second : first, sleep(patienceMs)])
  await setStatus(two, to, 'Active')
  const next = tricks.prepare({
    at: two,
    step: 'credit',
    aggregate: destination,
    fault: slowly(2_000),
  })
  await Promise.all([ask(two), next])
}

/**
 * The store loses both sides of a transfer: its server waits for the reply of its close, or has told its client that
 * it is done. The client asks again elsewhere, is refused now and then, and that comes before the first is driven
 * again.
 */
export async function forget(world: DuelWorld): Promise<void> {
  const { tricks, random, ask, lose, from, to } = world
  const [one, two] = world.pair()
  const source = accountAggregate(`account-${from}`)
  const closing = { at: one, step: 'close', aggregate: source } as const
  const closed = tricks.prepare({ ...closing, fault: { kind: 'replyLost' } })
  const first = ask(one)
  await (random() < 0.3 ? closed : Promise.race([first, sleep(patienceMs)]))
  lose()
  const slowly = (ms: number): Fault => ({ kind: 'delayed', until: sleep(ms + random() * ms) })
  const again = tricks.prepare({ at: one, step: 'debit', aggregate: source, fault: slowly(2_500) })
  const destination = accountAggregate(`account-${to}`)
  const arriving = { at: two, step: 'credit', aggregate: destination } as const
  if (random() < 0.5) {
    void setStatus(two, to, 'Frozen')
    void tricks.prepare({ ...arriving, fault: slowly(4_000) })
  }
  await again
  await ask(two)
  await setStatus(two, to, 'Active')
}

/** Not for ever: the store may be away. */
function setStatus({ engine }: TransferInstance, at: number, status: 'Frozen' | 'Active') {
  const change = { type: 'changeCard', cardId: `card-${at}`, set: { status } } as const
  const changed = engine.operate(`account-${at}`, change, 'a duel')
  return Promise.race([changed, sleep(patienceMs)])
}
