import { isAlias } from '../../src/domain/change/book.ts'
import type { Entry } from '../../src/domain/ledger/entry.ts'
import { createLedger, transactionKey } from '../../src/domain/ledger/ledger.ts'
import { availableMinor } from '../../src/domain/record/account.ts'
import { type CardEvent, isAsk } from '../../src/domain/record/event.ts'
import { type Answer, type EventRecord, forGood } from '../../src/domain/record/event-record.ts'
import { openHold, type Transaction } from '../../src/domain/record/transaction.ts'
import { accountCodec, eventCodec, transactionCodec } from '../../src/engine/format/codec.ts'
import { decodeEntry } from '../../src/engine/format/entry-codec.ts'
import { accountAggregate, strayAggregate } from '../../src/engine/format/layout.ts'
import { encodeBook } from './book-text.ts'
import type { MemoryState } from './memory-store.ts'
import { type SlotStory, type Story, wasToldApprove } from './protocol-story.ts'

/** Which account each card that is known belongs to. */
export type Places = ReadonlyMap<string, string>

/** Thrown by the checks; the message names the promise that was broken. */
class Broken extends Error {}

function must(holds: boolean, promise: string): asserts holds {
  if (!holds) throw new Broken(promise)
}

function aggregateOf(event: CardEvent, places: Places): string {
  const accountId = places.get(event.cardId)
  return accountId === undefined ? strayAggregate(event.eventId) : accountAggregate(accountId)
}

function recordOf(state: MemoryState, event: CardEvent, places: Places): EventRecord | null {
  const aggregate = state.aggregates.get(aggregateOf(event, places))
  for (const [group, rows] of aggregate?.groups ?? []) {
    const text = group.startsWith('e@') ? rows.get(event.eventId) : undefined
    if (text !== undefined) return eventCodec.decode(text)
  }
  return null
}

function transactionOf(state: MemoryState, event: CardEvent, places: Places): Transaction | null {
  const rows = state.aggregates.get(aggregateOf(event, places))?.groups.get('t')
  const text = rows?.get(transactionKey(event.cardId, event.transactionId))
  const found = text === undefined ? null : transactionCodec.decode(text)
  return found === null || isAlias(found) ? null : found
}

/** I0: what an engine answers is in the store by then; '' when it is. */
export function answerProblem(
  state: MemoryState,
  { slot, event }: SlotStory,
  answer: Answer,
  places: Places,
): string {
  const record = recordOf(state, event, places)
  if (record === null) return `I0 ${event.eventId} was answered ${answer.code} without a record`
  const approved = isAsk(event) && answer.code === '000'
  if (approved && !isClaimed(record, slot)) {
    return `I0 ${event.eventId} was approved for ${slot} without a claim`
  }
  return ''
}

/** I0: what an engine calls booked is in the store by then; '' when it is. */
export function bookedProblem(state: MemoryState, slot: SlotStory, places: Places): string {
  const { event, said, saidUncertain } = slot
  const record = recordOf(state, event, places)
  const what = `I0 ${said?.code} said for ${event.eventId} in ${slot.slot} is booked`
  if (said === null) return `${what} and was never said`
  if (said.code !== '000') {
    if (record?.claims.includes(slot.slot)) return `${what} and is claimed`
    return record === null && saidUncertain ? `${what} and has no record` : ''
  }
  if (record === null) return `${what} and has no record`
  return isAsk(event) && !isClaimed(record, slot.slot) ? `${what} and has no claim` : ''
}

function isClaimed({ claims }: EventRecord, slot: string): boolean {
  return claims.includes(slot) || claims.includes(forGood)
}

/** All that must hold once everything has come to rest; '' when it does. */
export function brokenPromise(state: MemoryState, story: Story, places: Places): string {
  try {
    const byEvent = slotsByEvent(story)
    for (const event of story.events.values()) {
      const slots = byEvent.get(event.eventId) ?? []
      if (isAsk(event)) checkAsk(state, event, slots, story, places)
      else checkAdvice(state, event, slots, places)
      // What one instance was told may be lost when another is asked the same.
      if (story.counts.failovers + story.counts.failBacks === 0) checkDuplicates(event, slots)
    }
    checkAnswered(story)
    checkSums(state)
    checkLog(state, story)
  } catch (error) {
    if (error instanceof Broken) return error.message
    throw error
  }
  return ''
}

function slotsByEvent(story: Story): Map<string, SlotStory[]> {
  const byEvent = new Map<string, SlotStory[]>()
  for (const slot of story.slots) {
    const list = byEvent.get(slot.event.eventId)
    if (list === undefined) byEvent.set(slot.event.eventId, [slot])
    else list.push(slot)
  }
  return byEvent
}

/** I1: the effect is there exactly when a delivery was told approve. */
function checkAsk(
  state: MemoryState,
  event: CardEvent,
  slots: readonly SlotStory[],
  story: Story,
  places: Places,
): void {
  const { eventId } = event
  const claims = recordOf(state, event, places)?.claims ?? []
  const effects = effectsOf(state, event, places, claims)
  must(effects <= 1, `I2 ask ${eventId} holds ${effects} times`)
  must(effects === Math.min(1, claims.length), `I1 ask ${eventId}: claims and sums differ`)
  const approved = slots.filter(wasToldApprove)
  must(approved.length === 0 || effects === 1, `I1 ask ${eventId} was approved and holds nothing`)
  const excused = slots.filter(({ excuse }) => excuse !== '')
  if (effects === 1 && approved.length === 0) {
    must(
      excused.some(({ slot }) => claims.includes(slot)),
      `I1 ask ${eventId} holds money and nobody was told approve`,
    )
    story.counts.overHolds++
  }
  if (claims.includes(forGood)) return
  const rightful = new Set([...approved, ...excused].map(({ slot }) => slot))
  for (const claim of claims) {
    must(rightful.has(claim), `I1 ask ${eventId} is claimed for ${claim}, told decline`)
  }
  for (const { slot } of approved) {
    must(claims.includes(slot), `I1 ask ${eventId} lost the claim of ${slot}, told approve`)
  }
}

/** How often an ask is in the sums; of a card that nobody knows, only its claims tell. */
function effectsOf(
  state: MemoryState,
  event: CardEvent,
  places: Places,
  claims: readonly string[],
): number {
  if (!places.has(event.cardId)) return Math.min(1, claims.length)
  const sum = transactionOf(state, event, places)?.authorizedMinor ?? 0
  return sum / (event.amountMinor ?? 1)
}

/** I2: an advice is booked at most once, and exactly once when it was acknowledged. */
function checkAdvice(
  state: MemoryState,
  event: CardEvent,
  slots: readonly SlotStory[],
  places: Places,
): void {
  const { eventId } = event
  const acknowledged = slots.some(wasToldApprove)
  const isRecorded = recordOf(state, event, places) !== null
  must(!acknowledged || isRecorded, `I2 advice ${eventId} was acknowledged and not recorded`)
  if (!places.has(event.cardId)) return
  const sum = transactionOf(state, event, places)?.settledMinor ?? 0
  const effects = sum / (event.amountMinor ?? 1)
  must(effects === (isRecorded ? 1 : 0), `I2 advice ${eventId} is booked ${effects} times`)
}

/** I5: unless a watchdog spoke, all deliveries of an event hear the same. */
function checkDuplicates(event: CardEvent, slots: readonly SlotStory[]): void {
  if (slots.some(({ said }) => said !== null)) return
  const heard = new Set(
    slots.flatMap(({ told, hungUp }) =>
      hungUp ? [] : told.map((answer) => JSON.stringify(answer)),
    ),
  )
  must(heard.size <= 1, `I5 deliveries of ${event.eventId} heard ${[...heard].join(' and ')}`)
}

function checkAnswered({ deliveries }: Story): void {
  for (const { event, replies, lost } of deliveries) {
    must(replies <= 1, `I4 a delivery of ${event.eventId} was answered ${replies} times`)
    must(replies === 1 || lost, `I4 a delivery of ${event.eventId} was never answered`)
  }
}

/** I2: an account is the sum of its transactions. */
function checkSums(state: MemoryState): void {
  for (const [name, { root, groups }] of state.aggregates) {
    if (!name.startsWith('a:')) continue
    const account = accountCodec.decode(root)
    let heldMinor = 0
    let postedMinor = account.openingMinor
    for (const text of groups.get('t')?.values() ?? []) {
      const t = transactionCodec.decode(text)
      if (isAlias(t)) continue
      heldMinor += openHold(t)
      postedMinor -= t.settledMinor
    }
    must(account.heldMinor === heldMinor, `I2 ${name} holds ${account.heldMinor}, not ${heldMinor}`)
    must(
      account.postedMinor === postedMinor,
      `I2 ${name} has posted ${account.postedMinor}, not ${postedMinor}`,
    )
  }
}

/** I3 and I6: the log, from empty, gives what the store holds, and no engine approval overdrew. */
function checkLog(state: MemoryState, story: Story): void {
  const logs = new Map<string, Entry[]>()
  for (const { entry: text } of state.log) {
    const entry = decodeEntry(text)
    const { accountId, event } = entry
    const aggregate =
      accountId === '' ? strayAggregate(event?.eventId ?? '') : accountAggregate(accountId)
    const log = logs.get(aggregate)
    if (log === undefined) logs.set(aggregate, [entry])
    else log.push(entry)
    story.counts.logEntries++
  }
  for (const [aggregate, { root, groups }] of state.aggregates) {
    if (aggregate.startsWith('d:')) continue
    const ledger = createLedger()
    const log = logs.get(aggregate) ?? []
    const book = ledger.book(log[0]?.accountId ?? '')
    log.forEach((entry, n) => {
      must(entry.n === n, `I6 the log of ${aggregate} has ${entry.n} where ${n} should be`)
      const before = book.account()
      ledger.replay(entry)
      const after = book.account()
      if (before === null || after === null || entry.kind !== 'event' || !placesHold(entry)) return
      const floor = Math.min(0, availableMinor(before))
      must(availableMinor(after) >= floor, `I3 the engine overdrew ${aggregate} at entry ${n}`)
    })
    const kept = [root]
    for (const rows of groups.values()) kept.push(...rows.values())
    const replayed = Object.values(encodeBook(book))
    must(
      kept.sort().join('\n') === replayed.sort().join('\n'),
      `I6 the log of ${aggregate} does not give its records`,
    )
  }
}

function placesHold({ changes }: Entry): boolean {
  return changes.some(({ type }) => type === 'holdPlaced')
}
