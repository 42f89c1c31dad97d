import { z } from 'zod'
import type { Clock } from '../../clock.ts'
import type { Store } from '../../store/port.ts'
import { startRoutine, waitAtMost } from '../../timing.ts'
import type { Aggregates } from '../aggregates.ts'
import { instancesAggregate } from '../format/layout.ts'
import { parseStored } from '../format/row-codec.ts'

/** Which pack each instance decides by, and which release it is, as all of them tell each other. */
const record = z.record(
  z.string(),
  z.object({ version: z.string(), atMs: z.int(), release: z.string().default('') }),
)
type Instances = z.output<typeof record>

export interface PresenceOptions {
  readonly aggregates: Aggregates
  readonly clock: Clock
  /** The same for every engine of one process. */
  readonly instance: string
  readonly rulesVersion: () => string
  /** Of this program. */
  readonly release: string
}

export interface Presence {
  /** How many other live instances decide by another pack, as far as was heard. */
  readonly skew: number
  /** Tells the version now. */
  tell(): void
  /** Leaves, so that the others do not count it any more. */
  stop(): Promise<void>
}

const tellMs = 10_000
/** Who has said nothing for this long is gone. */
const goneMs = 35_000
const maxInstances = 1_000
/** Nobody waits longer for a store that is away when a server stops. */
const leaveMs = 500

export function startPresence(options: PresenceOptions): Presence {
  const { aggregates, clock, instance, release } = options
  let skew = 0

  /** What all have said, with this instance's part renewed or taken out. */
  function write(stays: boolean): Promise<void> {
    return aggregates.change({
      aggregate: instancesAggregate,
      decide({ root }) {
        const others = othersIn(root ?? '{}', instance, clock.nowMs())
        const version = options.rulesVersion()
        skew = Object.values(others).filter((other) => other.version !== version).length
        const own = stays ? { [instance]: { version, atMs: clock.nowMs(), release } } : {}
        return { result: undefined, write: { root: JSON.stringify({ ...others, ...own }) } }
      },
    })
  }

  /** What waits for a store that is away tells the newest version in the end. */
  const telling = startRoutine(tellMs, () => write(true).catch(() => {}))
  telling.now()
  return {
    get skew() {
      return skew
    },
    tell: telling.now,
    stop() {
      telling.stop()
      const left = write(false).catch(() => {})
      return waitAtMost(leaveMs, left)
    },
  }
}

export interface Instance {
  readonly name: string
  readonly rulesVersion: string
  readonly release: string
  readonly heardAtMs: number
}

/** Those that share the store and have told so of late. */
export async function readInstances(store: Store, nowMs: number): Promise<readonly Instance[]> {
  const [found] = await store.load([{ aggregate: instancesAggregate, group: '', id: '' }])
  const live = othersIn(found?.value ?? '{}', '', nowMs)
  return Object.entries(live).map(([name, { version, release, atMs }]) => ({
    name,
    rulesVersion: version,
    release,
    heardAtMs: atMs,
  }))
}

function othersIn(value: string, instance: string, nowMs: number): Instances {
  const parsed = record.safeParse(readJson(value))
  const live = Object.entries(parsed.success ? parsed.data : {})
    .filter(([name, { atMs }]) => name !== instance && Math.abs(nowMs - atMs) < goneMs)
    .slice(0, maxInstances)
  return Object.fromEntries(live)
}

/** What cannot be read is said anew by everybody within seconds. */
function readJson(value: string): unknown {
  try {
    return parseStored(value)
  } catch {
    return {}
  }
}
