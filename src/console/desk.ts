import type { Clock } from '../clock.ts'
import type { Operation } from '../domain/operation/operation.ts'
import { createEngine, type Engine } from '../engine/engine.ts'
import type { Store } from '../store/port.ts'
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
      const unexpected = () => {
        throw new Error('nobody delivers events here')
      }
      engine = createEngine({
        store,
        clock,
        pack,
        nonce,
        cacheCards: cachedCards,
        onAnswer: unexpected,
        onBooked: unexpected,
      })
    } else engine.setPack(pack)
    return engine
  }

  function within<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const late = new ConsoleRefused(503, 'the store takes no commits: look whether it was done')
      const timer = setTimeout(() => reject(late), patienceMs)
      work.then(resolve, reject).finally(() => clearTimeout(timer))
    })
  }

  return {
    engine: current,
    within,
    async operate(accountId, operation, reason, who) {
      const done = current().operate(accountId, operation, reason, originOf(who))
      const { refused, changed } = await within(done)
      if (refused !== '') throw new ConsoleRefused(409, refused)
      return changed
    },
    stop: () => engine?.stop(),
  }
}
