import type { Operation } from '../../domain/operation/operation.ts'
import type { OperationOutcome } from '../../domain/operation/outcome.ts'
import { StoreError } from '../../store/port.ts'
import { accountAggregate, strayAggregate } from '../format/layout.ts'
import type { Queues } from '../queue/queue.ts'
import { type AccountChange, newChange } from './account-change.ts'

/** What people and the sweeper ask of accounts: it waits in the same queues as events. */
export interface Requests {
  /** The origin names who did it, for the log; '' for the command line. */
  operate(
    accountId: string,
    operation: Operation,
    reason: string,
    origin?: string,
  ): Promise<OperationOutcome>
  /** The same where events are kept whose card nobody knew. */
  operateStray(
    eventId: string,
    operation: Operation,
    reason: string,
    origin?: string,
  ): Promise<OperationOutcome>
  /**
   * Resolves after the commit. Rejects with a StoreError when the store could not be used for long, with
   * what is known of the outcome, and with what `decide` throws.
   */
  change<T>(change: AccountChange<T>): Promise<T>
  sweepTransaction(
    accountId: string,
    cardId: string,
    transactionId: string,
    sortKey: string,
  ): Promise<void>
}

/** Changes that wait or are on their way; those of deliveries are the gate's to bound. */
const maxChanges = 10_000

export function createRequests(queues: Queues, schedule: () => void): Requests {
  let changes = 0

  function operateOn(
    aggregate: string,
    stray: boolean,
    operation: Operation,
    reason: string,
    origin: string,
  ): Promise<OperationOutcome> {
    return new Promise((done) => {
      const outcome = { refused: '', changed: false }
      const item = { kind: 'operation', operation, reason, origin, outcome, done } as const
      queues.enqueue(aggregate, stray, { ...item })
      schedule()
    })
  }

  return {
    operate: (accountId, operation, reason, origin = '') =>
      operateOn(accountAggregate(accountId), false, operation, reason, origin),
    operateStray: (eventId, operation, reason, origin = '') =>
      operateOn(strayAggregate(eventId), true, operation, reason, origin),
    async change(change) {
      if (changes >= maxChanges) throw new StoreError('too much waits for the store', 'no')
      const { item, settled } = newChange(change)
      changes++
      queues.enqueue(accountAggregate(change.accountId), false, item)
      schedule()
      return settled.finally(() => changes--)
    },
    sweepTransaction(accountId, cardId, transactionId, sortKey) {
      return new Promise((done) => {
        const item = { kind: 'sweep', cardId, transactionId, sortKey, done } as const
        queues.enqueue(accountAggregate(accountId), false, { ...item })
        schedule()
      })
    },
  }
}
