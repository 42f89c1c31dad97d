import type { Worklist } from '../domain/change/change.ts'
import type { Entry } from '../domain/ledger/entry.ts'
import type { Operation } from '../domain/operation/operation.ts'
import type { OperationOutcome } from '../domain/operation/outcome.ts'
import { hash64 } from '../domain/record/event.ts'
import type { Engine } from '../engine/engine.ts'
import { indexes, splitSortKey, timeSortKey } from '../engine/format/layout.ts'
import { entryIn } from '../engine/log-reading.ts'
import type { Store } from '../store/port.ts'

/** One entry of a list for people. */
export interface Work extends Listed {
  readonly entry: Entry
}

/** As it stands in a list. */
export interface Listed {
  readonly list: Worklist
  readonly sortKey: string
  /** The short name that the list shows and that commands take. */
  readonly key: string
  /** null where it cannot be read. */
  readonly entry: Entry | null
}

export function isReadableWork(listed: Listed): listed is Work {
  return listed.entry !== null
}

/** Who did something, and why, for the log; the command line is ''. */
export interface Doing {
  readonly reason: string
  readonly origin: string
}

/** The time finds the place in the list, the hash tells entries of one time apart. */
export function workKey(sortKey: string): string {
  return `${splitSortKey(sortKey).atMs.toString(36)}-${hash64(sortKey).slice(0, 6)}`
}

/** Few have the same time. */
const entriesPerLook = 20
const entriesPerRead = 500

export async function findWork(list: Worklist, key: string, store: Store): Promise<Listed | null> {
  const [, time] = /^([0-9a-z]{1,10})-[0-9a-f]{6}$/.exec(key) ?? []
  if (time === undefined) return null
  const atMs = Number.parseInt(time, 36)
  let after = timeSortKey(atMs)
  for (;;) {
    const entries = await store.range(indexes[list], after, entriesPerLook)
    const ofThatTime = entries.filter(({ sortKey }) => splitSortKey(sortKey).atMs === atMs)
    const found = ofThatTime.find(({ sortKey }) => workKey(sortKey) === key)
    if (found !== undefined) {
      return { list, sortKey: found.sortKey, key, entry: entryIn({ entry: found.value }) }
    }
    if (ofThatTime.length < entriesPerLook) return null
    after = ofThatTime.at(-1)!.sortKey
  }
}

/** Which of a list: those to which all applies that is said. */
export interface WorkChoice {
  /** An anomaly, or why an advice could not be booked. */
  readonly what?: string
  readonly card?: string
  /** Listed before this time. */
  readonly before?: number
}

/** The oldest first. A page at a time: a Redis that writes all of a long list answers nobody else meanwhile. */
export async function* chosenIn(
  list: Worklist,
  { what, card, before = Number.POSITIVE_INFINITY }: WorkChoice,
  store: Store,
): AsyncGenerator<Listed> {
  const isWanted = ({ unmatched, anomalies, event, cardId }: Entry) =>
    (what === undefined || unmatched === what || anomalies.some((one) => one === what)) &&
    (card === undefined || (event?.cardId || cardId) === card)
  for (let after = ''; ; ) {
    const page = await store.range(indexes[list], after, entriesPerRead)
    for (const { sortKey, value } of page) {
      if (splitSortKey(sortKey).atMs >= before) return
      const entry = entryIn({ entry: value })
      if (entry === null || isWanted(entry)) yield { list, sortKey, key: workKey(sortKey), entry }
    }
    if (page.length < entriesPerRead) return
    after = page.at(-1)!.sortKey
  }
}

/** Operates where the entry stands: under its account, or with the cards that nobody knows. */
export function operateAt(
  listed: Listed,
  operation: Operation,
  { reason, origin }: Doing,
  engine: Engine,
): Promise<OperationOutcome> {
  const { accountId, eventId } = isReadableWork(listed) ? namesIn(listed.entry) : namesOf(listed)
  if (accountId !== '') return engine.operate(accountId, operation, reason, origin)
  return engine.operateStray(eventId, operation, reason, origin)
}

function namesIn({ accountId, event }: Entry) {
  return { accountId, eventId: event?.eventId ?? '' }
}

/** Its place says so, too: what cannot be read must not stand in the list for ever. */
function namesOf({ sortKey }: Listed) {
  const [accountId = '', , eventKey = ''] = splitSortKey(sortKey).parts
  // An event whose id came before with other content is kept under its id, a middle dot and a hash.
  const [eventId = ''] = eventKey.split('·')
  return { accountId, eventId }
}

export function markHandled(
  listed: Listed,
  doing: Doing,
  engine: Engine,
): Promise<OperationOutcome> {
  const { list, sortKey } = listed
  return operateAt(listed, { type: 'handle', list, sortKey }, doing, engine)
}
