import { failureText } from '../../store/failure-text.ts'
import { accountAggregate, directoryKey, strayAggregate } from '../format/layout.ts'
import { type DeliveryItem, isWithdrawn } from '../item.ts'
import type { Directory } from '../memory/directory.ts'
import type { Damage } from '../quarantine/damage.ts'
import type { Queues } from './queue.ts'
import type { StoreWatch } from './store-watch.ts'

/** Brings deliveries to the queue of the account that their card belongs to. */
export interface Placing {
  place(item: DeliveryItem): void
  /** To where events are kept whose card nobody knows. */
  enqueueStray(item: DeliveryItem): void
  /** Looks up the cards that memory does not know. */
  resolve(): void
}

export interface PlacingOptions {
  readonly directory: Directory
  readonly queues: Queues
  readonly random: () => number
  readonly schedule: () => void
  /** Nobody can read whose card it is. */
  readonly onDamaged: (item: DeliveryItem, damage: Damage) => void
  readonly noteStore: StoreWatch['note']
}

const maxPauseMs = 200

export function createPlacing(options: PlacingOptions): Placing {
  const { directory, queues, random, schedule } = options
  let unresolved: DeliveryItem[] = []

  /** Finds the accounts of all cards of this turn in one read. */
  function resolve(): void {
    // While the store is away, most are withdrawn before their cards can be looked up.
    const items = unresolved.filter((item) => !isWithdrawn(item))
    unresolved = []
    if (items.length === 0) return
    const found = directory.resolve(items.map(({ event }) => event.cardId))
    found.then(
      (accounts) => {
        for (const item of items) {
          const accountId = accounts.get(item.event.cardId)
          if (accountId === '') options.onDamaged(item, placeDamage(item.event.cardId))
          else enqueue(item, accountId)
        }
        schedule()
      },
      (error) => {
        options.noteStore(failureText(error), 'read')
        setTimeout(() => {
          unresolved = unresolved.concat(items)
          schedule()
        }, random() * maxPauseMs)
      },
    )
  }

  function place(item: DeliveryItem): void {
    const accountId = directory.accountOf(item.event.cardId)
    if (accountId === undefined) unresolved.push(item)
    else enqueue(item, accountId)
    schedule()
  }

  function enqueue(item: DeliveryItem, accountId: string | undefined): void {
    if (isWithdrawn(item)) return
    if (accountId === undefined) enqueueStray(item)
    else queues.enqueue(accountAggregate(accountId), false, item)
  }

  function enqueueStray(item: DeliveryItem): void {
    queues.enqueue(strayAggregate(item.event.eventId), true, item)
    schedule()
  }

  return { place, enqueueStray, resolve }
}

function placeDamage(cardId: string): Damage {
  const { aggregate, group, id } = directoryKey(cardId)
  return { aggregate, key: { group, id }, problem: 'it names no account' }
}
