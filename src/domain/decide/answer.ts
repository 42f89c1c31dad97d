import { stamp } from '../change/apply.ts'
import type { Change } from '../change/change.ts'
import { arrivalMs, type Draft, nameTransaction, openDraft, resumeDraft } from '../change/draft.ts'
import { isSafe, knowsCard, type View } from '../change/view.ts'
import { type CardEvent, isAsk } from '../record/event.ts'
import { type Answer, type EventRecord, forGood } from '../record/event-record.ts'
import { repeatedIdCode } from '../record/response-code.ts'
import { maxAskShares } from '../record/transaction.ts'
import { type Anomaly, namingAnomalies } from './anomaly.ts'
import { rememberAsk } from './ask-memory.ts'
import { bookConsequences } from './consequence.ts'
import { decide } from './decide.ts'
import type { Decided } from './decision.ts'
import { bookStandIn, raiseAsk, undoAsk } from './default-decision.ts'
import type { Delivery } from './delivery.ts'
import type { Pack } from './pack.ts'

/** The answer to a delivery, and the changes that must be committed before it is given. */
export interface Step {
  readonly answer: Answer
  readonly atMs: number
  /** Empty when the event's record already says everything. */
  readonly changes: readonly Change[]
  readonly before: View
  readonly after: View
  readonly anomalies: readonly Anomaly[]
  readonly unmatched: Decided['unmatched']
  readonly matchedRules: readonly string[]
  readonly shadowRules: readonly string[]
}

/**
 * Decides a delivery, or makes the ledger follow what its relay was already told. An ask's effect is in
 * the sums if and only if its record has claims: each branch below keeps that, whoever spoke first.
 */
export function answerDelivery(delivery: Delivery, view: View, pack: Pack): Step {
  if (delivery.said === null) return deliver(delivery, view, pack)
  if (!isAsk(delivery.event)) return sayAck(delivery, view, pack, delivery.said)
  return delivery.said.code === '000'
    ? sayApprove(delivery, view, pack, delivery.said)
    : sayDecline(delivery, view, pack, delivery.said)
}

function deliver(delivery: Delivery, view: View, pack: Pack): Step {
  const { event, slot } = delivery
  const record = view.event
  if (record === null) return decideNew(delivery, view, pack)
  const approved = isAsk(event) && record.claims.length > 0
  if (!approved || holds(record, slot)) return unchanged(delivery, view, record.answer)
  return claim(delivery, view, record.answer)
}

function sayAck(delivery: Delivery, view: View, pack: Pack, said: Answer): Step {
  if (view.event === null) return decideNew(delivery, view, pack)
  return unchanged(delivery, view, said)
}

function sayDecline(delivery: Delivery, view: View, pack: Pack, said: Answer): Step {
  const { event, slot } = delivery
  const record = view.event
  // Another delivery may have been told approve: its hold is not ours to touch.
  if (record !== null && !record.claims.includes(slot)) return unchanged(delivery, view, said)
  const draft = openDraft(view, delivery.receivedAtMs)
  if (record === null) {
    draft.make({ type: 'recorded', record: newRecord(view, said, draft.atMs, [], false, '') })
  } else {
    draft.make({ type: 'unclaimed', slot })
    if (draft.view.event!.claims.length > 0) return committed(draft, said)
    undoAsk(draft, pack)
    draft.make({ type: 'answerChanged', answer: said })
  }
  // What joins makes a second name, also when it is declined.
  const isKnown = knowsCard(view, event)
  const joins = record === null && isKnown && event.currency === view.account.currency
  if (joins) nameTransaction(draft)
  if (isKnown) draft.make({ type: 'declined', code: said.code })
  if (record === null) {
    if (isKnown) rememberAsk(draft, event, false, pack.remembers)
    bookConsequences(draft, event, pack)
  }
  return committed(draft, said, { anomalies: joins ? namingAnomalies(view) : [] })
}

function sayApprove(delivery: Delivery, view: View, pack: Pack, said: Answer): Step {
  const { event, slot, receivedAtMs } = delivery
  const record = view.event
  if (record !== null && record.claims.length > 0) {
    const raised = approvedRest(delivery, view, pack, said, record)
    if (raised !== null) return raised
    return holds(record, slot) ? unchanged(delivery, view, said) : claim(delivery, view, said)
  }
  const decided = bookStandIn(event, view, pack, receivedAtMs, said.approvedAmountMinor)
  const draft = resumeDraft(view, decided.changes, decided.after, receivedAtMs)
  if (record === null) {
    const fresh = newRecord(view, said, draft.atMs, [slot], decided.absorbed, decided.unmatched)
    draft.make({ type: 'recorded', record: fresh })
  } else {
    draft.make({ type: 'claimed', slot })
    draft.make({ type: 'answerChanged', answer: said })
  }
  return committed(draft, said, decided)
}

/** Of an ask of which we had approved a part, and the default more; null for any other. */
function approvedRest(
  { event, slot, receivedAtMs }: Delivery,
  view: View,
  pack: Pack,
  said: Answer,
  record: EventRecord,
): Step | null {
  const minorOf = (answer: Answer) => answer.approvedAmountMinor ?? event.amountMinor ?? 0
  const restMinor = minorOf(said) - minorOf(record.answer)
  if (restMinor <= 0 || !isBooked(view)) return null
  const draft = openDraft(view, receivedAtMs)
  if (!holds(record, slot)) draft.make({ type: 'claimed', slot })
  draft.make({ type: 'answerChanged', answer: said })
  raiseAsk(draft, event, pack, restMinor)
  return isSafe(draft.view) ? committed(draft, said) : null
}

/** What could not be booked has nothing in the sums that could be more. */
function isBooked({ transaction: { asks }, eventKey, event }: View): boolean {
  // The share of one of very many asks is no longer kept.
  const mayBeDropped = asks.length >= maxAskShares && event?.unmatched === ''
  return mayBeDropped || asks.some((ask) => ask.eventKey === eventKey)
}

function decideNew({ event, slot, receivedAtMs, said }: Delivery, view: View, pack: Pack): Step {
  const decided = view.otherContent
    ? refuseOther(event, view)
    : decide(event, view, pack, receivedAtMs)
  const answer: Answer = said ?? {
    code: decided.code,
    decidedBy: 'engine',
    cause: '',
    ruleId: decided.ruleId,
    approvedAmountMinor: decided.approvedAmountMinor,
    rulesVersion: pack.version,
  }
  const draft = resumeDraft(view, decided.changes, decided.after, receivedAtMs)
  const claims = isAsk(event) && answer.code === '000' ? [slot] : []
  const { absorbed, unmatched } = decided
  const record = newRecord(view, answer, draft.atMs, claims, absorbed, unmatched)
  draft.make({ type: 'recorded', record })
  return committed(draft, answer, decided)
}

/** The event id came before with other content: an ask is refused, an advice waits for people. */
function refuseOther(event: CardEvent, view: View): Decided {
  return {
    code: isAsk(event) ? repeatedIdCode : '000',
    approvedAmountMinor: null,
    ruleId: '',
    matchedRules: [],
    shadowRules: [],
    absorbed: false,
    anomalies: [],
    unmatched: isAsk(event) ? '' : 'other content',
    changes: [],
    after: view,
  }
}

function holds(record: EventRecord, slot: string): boolean {
  return record.claims.includes(slot) || record.claims.includes(forGood)
}

function newRecord(
  { contentHash }: View,
  answer: Answer,
  atMs: number,
  claims: readonly string[],
  absorbed: boolean,
  unmatched: EventRecord['unmatched'],
): EventRecord {
  return { contentHash, answer, claims, absorbed, unmatched, atMs }
}

function claim(delivery: Delivery, view: View, answer: Answer): Step {
  const draft = openDraft(view, delivery.receivedAtMs)
  draft.make({ type: 'claimed', slot: delivery.slot })
  return committed(draft, answer)
}

function unchanged(delivery: Delivery, view: View, answer: Answer): Step {
  const atMs = arrivalMs(view, delivery.receivedAtMs)
  const nothing = [] as const
  return {
    answer,
    atMs,
    changes: nothing,
    before: view,
    after: view,
    anomalies: nothing,
    unmatched: '',
    matchedRules: nothing,
    shadowRules: nothing,
  }
}

function committed(draft: Draft, answer: Answer, decided: Partial<Decided> = {}): Step {
  const { anomalies = [], unmatched = '', matchedRules = [], shadowRules = [] } = decided
  const { before, atMs, changes } = draft
  const after = stamp(before, draft.view, atMs, 'event')
  return { answer, atMs, changes, before, after, anomalies, unmatched, matchedRules, shadowRules }
}
