import { type DeliveryItem, type Item, isWithdrawn } from '../item.ts'
import { createTable } from '../memory/table.ts'

/** What waits for one aggregate. One command is in flight at a time; the rest waits in order. */
export interface Queue {
  readonly aggregate: string
  /** Of events for cards that nobody knows. */
  readonly stray: boolean
  waiting: Item[]
  /** A command or a read is in flight. */
  busy: boolean
  /** It can be decided on in the next turn. */
  ready: boolean
  /** Between two tries. */
  resting: boolean
  /** Tries in a row that did not commit. */
  failures: number
  /** Another instance was turned away here, and is to have its turn before our next command. */
  crowded: boolean
  /** A batch failed as a whole: the item that did it is looked for, one by one, among so many. */
  suspects: number
}

export interface Queues {
  readonly size: number
  isOpen(aggregate: string): boolean
  find(aggregate: string): Queue | undefined
  enqueue(aggregate: string, stray: boolean, item: Item): void
  /** Queues that can be decided on now, each once, at most so many. */
  takeReady(limit: number): Queue[]
  readonly hasReady: boolean
  /** The first items, at most `limit`, that were not withdrawn meanwhile. */
  first(queue: Queue, limit: number): readonly Item[]
  /** The first `count` items leave with a command; with none, the queue waits for a read. */
  depart(queue: Queue, count: number): void
  /** The command or the read came back. */
  arrive(queue: Queue): void
  /** What could not be committed waits again, before what came later. */
  giveBack(queue: Queue, items: readonly Item[]): void
  rest(queue: Queue): void
  wake(queue: Queue): void
  /** These are decided by nobody now. */
  takeOut(queue: Queue, items: ReadonlySet<Item>): void
  /** Takes the deliveries out of a queue that cannot serve them. */
  takeDeliveries(queue: Queue): DeliveryItem[]
}

export function createQueues(): Queues {
  const queues = createTable<Queue>()
  // Not a set that is cleared in every turn: see the table.
  let readyOnes: Queue[] = []

  function look(queue: Queue): void {
    if (queue.busy || queue.resting) return
    if (queue.waiting.length === 0) {
      queue.ready = false
      queues.delete(queue.aggregate)
    } else if (!queue.ready) {
      queue.ready = true
      readyOnes.push(queue)
    }
  }

  return {
    get size() {
      return queues.size
    },
    isOpen: (aggregate) => queues.has(aggregate),
    find: (aggregate) => queues.get(aggregate),
    enqueue(aggregate, stray, item) {
      let queue = queues.get(aggregate)
      if (queue === undefined) {
        queue = {
          aggregate,
          stray,
          waiting: [],
          busy: false,
          ready: false,
          resting: false,
          failures: 0,
          crowded: false,
          suspects: 0,
        }
        queues.set(aggregate, queue)
      }
      queue.waiting.push(item)
      look(queue)
    },
    get hasReady() {
      return readyOnes.length > 0
    },
    takeReady(limit) {
      const list: Queue[] = []
      let at = 0
      for (; at < readyOnes.length && list.length < limit; at++) {
        if (takeOnce(readyOnes[at]!)) list.push(readyOnes[at]!)
      }
      readyOnes = at === readyOnes.length ? [] : readyOnes.slice(at)
      return list
    },
    first(queue, limit) {
      if (queue.waiting.some(isWithdrawn)) {
        queue.waiting = queue.waiting.filter((item) => !isWithdrawn(item))
      }
      return queue.waiting.length <= limit ? queue.waiting : queue.waiting.slice(0, limit)
    },
    depart(queue, count) {
      for (let i = 0; i < count; i++) {
        const item = queue.waiting[i]!
        if (item.kind === 'delivery') item.state = 'flying'
      }
      queue.waiting = queue.waiting.slice(count)
      queue.busy = true
    },
    arrive(queue) {
      queue.busy = false
      look(queue)
    },
    giveBack(queue, items) {
      for (const item of items) if (item.kind === 'delivery') item.state = 'waiting'
      queue.waiting = [...items, ...queue.waiting]
      queue.busy = false
    },
    rest(queue) {
      queue.busy = false
      queue.resting = true
    },
    wake(queue) {
      queue.resting = false
      look(queue)
    },
    takeOut(queue, items) {
      queue.waiting = queue.waiting.filter((item) => !items.has(item))
    },
    takeDeliveries(queue) {
      const taken: DeliveryItem[] = []
      queue.waiting = queue.waiting.filter((item) => {
        if (item.kind === 'delivery') taken.push(item)
        return item.kind !== 'delivery'
      })
      look(queue)
      return taken
    },
  }
}

/**
 * One that was emptied meanwhile is no longer ready, one that was filled again stands there twice, and one
 * that left with a command meanwhile comes back when that has arrived.
 */
function takeOnce(queue: Queue): boolean {
  const { ready } = queue
  queue.ready = false
  return ready && !queue.busy && !queue.resting
}
