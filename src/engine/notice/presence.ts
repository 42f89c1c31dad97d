import { z } from 'zod'
import type { Clock } from '../../clock.ts'
import type { Store } from '../../store/port.ts'
import { instancesAggregate } from '../format/layout.ts'
import { parseJson } from '../format/row-codec.ts'

/** Which pack each instance decides by, as all of them tell each other. */
const record = z.record(z.string(), z.object({ version: z.string(), atMs: z.int() }))
type Instances = z.output<typeof record>

export interface PresenceOptions {
  readonly store: Store
  readonly clock: Clock
  /** The same for every engine of one process. */
  readonly instance: string
  readonly rulesVersion: () => string
  readonly newVersion: () => string
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
const maxTries = 5

export function startPresence(options: PresenceOptions): Presence {
  const { store, clock, instance } = options
  let skew = 0
  let telling: Promise<void> = Promise.resolve()

  /** What all have said, with this instance's part renewed or taken out. */
  async function write(stays: boolean): Promise<void> {
    for (let tries = 0; tries < maxTries; tries++) {
      const [found] = await store.load([{ aggregate: instancesAggregate, group: '', id: '' }])
      const others = othersIn(found?.value ?? '{}', instance, clock.nowMs())
      const version = options.rulesVersion()
      skew = Object.values(others).filter((other) => other.version !== version).length
      const own = stays ? { [instance]: { version, atMs: clock.nowMs() } } : {}
      const [outcome] = await store.commit([
        {
          aggregate: instancesAggregate,
          expectedVersion: found?.version ?? null,
          newVersion: options.newVersion(),
          root: JSON.stringify({ ...others, ...own }),
          mustBeAbsent: [],
          put: [],
          remove: [],
          index: [],
          unindex: [],
          log: [],
        },
      ])
      if (outcome === 'committed') return
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 50 * (tries + 1)))
    }
  }

  /** One at a time; a store that is away is told later. */
  function tell(stays = true): Promise<void> {
    telling = telling.then(() => write(stays)).catch(() => {})
    return telling
  }

  void tell()
  const timer = setInterval(tell, tellMs, true)
  timer.unref()
  return {
    get skew() {
      return skew
    },
    tell: () => void tell(),
    stop() {
      clearInterval(timer)
      return tell(false)
    },
  }
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
    return parseJson(value)
  } catch {
    return {}
  }
}
