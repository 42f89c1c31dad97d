import type { Clock } from '../clock.ts'
import type { Operation } from '../domain/operation/operation.ts'
import { createEngine, type Engine } from '../engine/engine.ts'
import { noDeliveries } from '../engine/options.ts'
import type { Store } from '../store/port.ts'
import { within } from '../timing.ts'
import type { PackShelf } from './pack-shelf.ts'
import { ConsoleRefused } from './route.ts'
import type { Who } from './session.ts'

/** Where people's changes are made: by an engine of its own, beside that of the server. */
export interface Desk {
  engine(): Engine
  /** Resolves to whether anything was changed; throws ConsoleRefused. */
  operate(accountId: string, operation: Operation, reason: string, who: Who): Promise<boolean>
  /** Rejects when the store takes nothing for too long. */
  within<T>(work: Promise<T>): Promise<T>
  stop(): void
}

const cachedCards = 1_000
/** The engine tries for ever, as a server should; a person is told. */
const patienceMs = 8_000

export function originOf({ name }: Who): string {
  return `console ${name}`
}

export function createDesk(store: Store, clock: Clock, packs: PackShelf, nonce: string): Desk {
  let engine: Engine | null = null

  function current(): Engine {
    const pack = packs.pack()
    if (engine === null) {
      engine = createEngine({ store, clock, pack, nonce, cacheCards: cachedCards, ...noDeliveries })
    } else engine.setPack(pack)
    return engine
  }

  function inTime<T>(work: Promise<T>): Promise<T> {
    const problem = 'the store takes no commits: look whether it was done'
    return within(patienceMs, work, () => Promise.reject(new ConsoleRefused(503, problem)))
  }

  return {
    engine: current,
    within: inTime,
    async operate(accountId, operation, reason, who) {
      const done = current().operate(accountId, operation, reason, originOf(who))
      const { refused, changed } = await inTime(done)
      if (refused !== '') throw new ConsoleRefused(409, refused)
      return changed
    },
    stop: () => engine?.stop(),
  }
}
