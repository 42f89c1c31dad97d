import { accountAggregate } from '../../src/engine/format/layout.ts'
import type { Command } from '../../src/store/port.ts'
import type { Fault } from './memory-store.ts'
import type { TransferInstance } from './transfer-instance.ts'

type Step = 'debit' | 'credit' | 'close'

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

function stepOf({ put, remove }: Command): Step | null {
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
  const set = (status: 'Frozen' | 'Active') => {
    const change = { type: 'changeCard', cardId: `card-${to}`, set: { status } } as const
    return two.engine.operate(`account-${to}`, change, 'a duel')
  }
  if (random() < 0.8) await Promise.race([set('Frozen'), sleep(patienceMs)])
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
  await Promise.race([set('Active'), sleep(patienceMs)])
  const next = tricks.prepare({
    at: two,
    step: 'credit',
    aggregate: destination,
    fault: slowly(2_000),
  })
  await Promise.all([ask(two), next])
}
