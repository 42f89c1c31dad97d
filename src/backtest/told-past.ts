import { dayMs } from '../clock.ts'
import type { Entry } from '../domain/ledger/entry.ts'
import { transactionKey } from '../domain/ledger/ledger.ts'
import { isAsk } from '../domain/record/event.ts'

/** The longest window: no window counts older events. */
const longestMs = 366 * dayMs

/** Why no pack answers an event as the log says it was answered; '' where its pack does. */
export function whyNoPack({ kind, event, answer }: Entry): string {
  if (event === null || answer === null) return 'it was not answered'
  const { ruleId, code, cause } = answer
  // An advice is acknowledged whoever says it.
  if (kind === 'said' && isAsk(event)) return `it was answered by default (${cause})`
  if (ruleId.startsWith('block:')) return `it was declined by the emergency ${ruleId}`
  if (code === '115' && ruleId === '') return 'its organization was disabled then'
  return ''
}

/**
 * Chooses the events before a decision that a case can tell, the last ones. A transaction is told whole or not at
 * all, for its events would mean something else without their beginning, or without what the watchdog said; but
 * the one of the decision is always told as far as it can be.
 *
 * `alone` names the rules that look at more than one account: a case does not have what they saw.
 */
export function toldBefore(
  target: Entry,
  entries: readonly Entry[],
  alone: ReadonlySet<string>,
  most: number,
): ReadonlySet<Entry> {
  const earlier = entries.filter(({ n }) => n < target.n)
  const own = new Set(keysOf(target))
  const isOwn = (entry: Entry) => keysOf(entry).some((key) => own.has(key))
  const tellable = new Set(earlier.filter((entry) => isTellable(entry, alone)))
  const recent = [...tellable].filter(
    (entry) => entry.atMs > target.atMs - longestMs || isOwn(entry),
  )
  const ofOthers = recent.filter((entry) => !isOwn(entry))
  const ofOwn = lastOf(recent.filter(isOwn), most)
  const kept = new Set(lastOf(ofOthers, most - ofOwn.length))
  const left = earlier.filter((entry) => isBooked(entry, tellable) && !kept.has(entry))
  const partly = partlyTold(left, kept)
  const whole = [...kept].filter((entry) => !keysOf(entry).some((key) => partly.has(key)))
  return new Set([...whole, ...ofOwn])
}

/** What the watchdog said to an ask and acts of people are no steps of a case, and a later delivery is none of its own. */
function isTellable(entry: Entry, alone: ReadonlySet<string>): boolean {
  const first = entry.changes.some(({ type }) => type === 'recorded')
  const came = entry.kind === 'event' || entry.kind === 'said'
  return came && first && whyNoPack(entry) === '' && !alone.has(entry.answer?.ruleId ?? '')
}

/** Whether leaving an entry out leaves something out of its transaction; what is due comes by itself. */
function isBooked(entry: Entry, tellable: ReadonlySet<Entry>): boolean {
  const { kind, transaction, answer, changes } = entry
  if (kind === 'tended' || transaction[1] === '') return false
  if (tellable.has(entry)) return true
  if (kind === 'event' || kind === 'said') {
    const isFirst = changes.some(({ type }) => type === 'recorded')
    // A decline of its own books nothing; one that came after an approval takes it back.
    return isFirst ? answer?.code === '000' : changes.some(({ type }) => type === 'unclaimed')
  }
  return changes.some(({ type }) => type !== 'handled' && type !== 'seeded')
}

/** The transactions of which something is left out, and those that are linked to one of them. */
function partlyTold(left: readonly Entry[], kept: ReadonlySet<Entry>): ReadonlySet<string> {
  const partly = new Set(left.flatMap(keysOf))
  for (let before = -1; before < partly.size; ) {
    before = partly.size
    for (const entry of kept) {
      const keys = keysOf(entry)
      if (keys.some((key) => partly.has(key))) for (const key of keys) partly.add(key)
    }
  }
  return partly
}

function keysOf({ transaction, linked }: Entry): string[] {
  return [transaction, ...(linked === null ? [] : [linked])].map((one) => transactionKey(...one))
}

function lastOf(entries: readonly Entry[], most: number): readonly Entry[] {
  return most === 0 ? [] : entries.slice(-most)
}
