import type { Change } from '../domain/change/change.ts'
import type { Delivery } from '../domain/decide/delivery.ts'
import { type AskFacts, noVerdict, type Pack, type RuleVerdict } from '../domain/decide/pack.ts'
import { transactionKey } from '../domain/ledger/ledger.ts'
import { isAsk } from '../domain/record/event.ts'
import type { Answer } from '../domain/record/event-record.ts'
import type { Transaction } from '../domain/record/transaction.ts'
import type { OpenEntry } from '../engine/format/entry-codec.ts'
import { createLane, type Decision, type Lane, transactionIn } from './lane.ts'

/** The two packs of a backtest, and the time that it is about. */
export interface Comparison {
  readonly old: Listener
  readonly newPack: Pack
  /** Both count the same in the same windows: until a decision differs, one book serves for both. */
  readonly sameCounting: boolean
  /** Asks from here on are decided anew; what came before only makes the books. */
  readonly fromMs: number
  /** Asks from here on are not decided; they tell what became of the others. */
  readonly toMs: number
}

/** A pack that remembers what its rules were asked about last, and what they said. */
export interface Listener {
  readonly pack: Pack
  readonly listening: Pack
  /** null when a check came before the rules. */
  heard: { readonly ask: AskFacts; readonly verdict: RuleVerdict } | null
}

export function listenTo(pack: Pack): Listener {
  const listener: Listener = {
    pack,
    listening: {
      ...pack,
      evaluate(ask) {
        const verdict = pack.evaluate(ask)
        listener.heard = { ask, verdict }
        return verdict
      },
    },
    heard: null,
  }
  return listener
}

/** What an entry says before its changes. */
export type Head = OpenEntry['head']

/** What was said to one ask: in the log, and by each pack on its own book. */
export interface Compared {
  readonly entry: Head
  readonly logged: Answer
  readonly old: Decision
  readonly next: Decision
  /** False while the account's state is only as good as its snapshot. */
  readonly exact: boolean
}

/** What became of a transaction by the end of the log. */
export interface Fate {
  settled: boolean
  refunded: boolean
  reversed: boolean
}

/** An ask that the two packs decide differently. */
export interface Changed {
  readonly compared: Compared
  readonly fate: Fate
}

export interface AccountReplay {
  take(entry: OpenEntry): void
  /** The decisions that differ, without those that the watchdog took over; at the end of the log. */
  changed(): Changed[]
}

export interface AccountStart {
  readonly lane: Lane
  readonly exactFromMs: number
}

export function createAccountReplay(
  comparison: Comparison,
  onCompared: (compared: Compared) => void,
  start: AccountStart = { lane: createLane(), exactFromMs: 0 },
): AccountReplay {
  const { old: listener, newPack, sameCounting, fromMs, toMs } = comparison
  const oldPack = listener.pack
  const oldLane = start.lane
  /** The same lane as the old one for as long as nothing tells them apart. */
  let newLane = sameCounting ? oldLane : oldLane.copy()
  const changed = new Map<string, Changed>()
  const fates = new Map<string, Fate>()
  const due = createDueList()

  function part(): void {
    if (newLane === oldLane) newLane = oldLane.copy()
  }

  /** Transactions that the log does not sweep, because only the new pack has them so. */
  function sweepOwn(nowMs: number): void {
    for (let key = due.next(nowMs); key !== null; key = due.next(nowMs)) {
      const [cardId = '', id = ''] = key.split('\n')
      const mine = transactionIn(newLane.book, cardId, id)
      const theirs = transactionIn(oldLane.book, cardId, id)
      if (mine === null || mine.dueAtMs > nowMs || mine.dueAtMs === theirs?.dueAtMs) continue
      newLane.sweepTransaction(cardId, id, newPack, mine.dueAtMs)
      noteDue(transactionIn(newLane.book, cardId, id))
    }
  }

  function noteDue(transaction: Transaction | null): void {
    if (transaction === null || transaction.dueAtMs === 0) return
    const { dueAtMs, cardId, transactionId } = transaction
    due.add(dueAtMs, transactionKey(cardId, transactionId))
  }

  function keepNew(decision: Decision): void {
    newLane.keep(decision)
    const { transaction, linked } = decision.step.after
    noteDue(transaction)
    noteDue(linked)
  }

  /** On one book only the rules can tell the packs apart: mostly it is enough to ask them. */
  function decideNew(delivery: Delivery, pack: Pack, old: Decision): Decision {
    const { heard } = listener
    if (newLane !== oldLane || !isFirst(old)) return newLane.decide(delivery, pack)
    if (heard === null) return old
    const verdict = pack.evaluate(heard.ask)
    if (verdict.decline?.code !== heard.verdict.decline?.code) return newLane.decide(delivery, pack)
    const { matched: matchedRules, shadow: shadowRules, decline } = verdict
    const answer = { ...old.step.answer, ruleId: decline?.ruleId ?? '' }
    return { before: old.before, step: { ...old.step, answer, matchedRules, shadowRules } }
  }

  function takeDelivery(entry: Head, delivery: Delivery): void {
    const decided = isAsk(delivery.event) && delivery.said === null
    const compared = decided ? entry.answer : null
    const blocked = blockIn(entry)
    const [oldUsed, newUsed] =
      blocked === null
        ? [listener.listening, newPack]
        : [withBlock(oldPack, blocked), withBlock(newPack, blocked)]
    listener.heard = null
    let old = oldLane.decide(delivery, oldUsed)
    const tripped = trippedIn(entry, old, oldPack)
    if (tripped !== null) old = oldLane.decide(delivery, tripped)
    const shared = newLane === oldLane
    const next =
      tripped !== null
        ? newLane.decide(delivery, newUsed)
        : shared && !decided
          ? old
          : decideNew(delivery, newUsed, old)
    const same = sameAnswer(old.step.answer, next.step.answer)
    if (shared && !same) part()
    oldLane.keep(old)
    if (newLane !== oldLane) keepNew(next)
    if (compared === null) return
    // A delivery that came again is answered as the first one was.
    if (!isFirst(old)) return
    const exact = entry.atMs >= start.exactFromMs
    const both = { entry, logged: compared, old, next, exact }
    onCompared(both)
    if (!same) changed.set(entry.eventKey, { compared: both, fate: fateOf(entry) })
  }

  function fateOf(entry: Head): Fate {
    const [cardId, id] = entry.transaction
    const key = transactionKey(cardId, id)
    const known = fates.get(key)
    if (known !== undefined) return known
    const t = transactionIn(oldLane.book, cardId, id)
    const fate = {
      settled: (t?.settledMinor ?? 0) > 0,
      refunded: (t?.refundedMinor ?? 0) > 0 || (t?.linkedCreditMinor ?? 0) > 0,
      reversed: t?.voided === true || (t?.reversedMinor ?? 0) > 0,
    }
    fates.set(key, fate)
    return fate
  }

  function tellFates({ head, whole }: OpenEntry): void {
    if (fates.size === 0) return
    const { transaction, linked } = head
    const fate = fates.get(transactionKey(...transaction))
    const original = linked === null ? undefined : fates.get(transactionKey(...linked))
    if (fate === undefined && original === undefined) return
    for (const change of whole().changes) {
      if (fate !== undefined) tellFate(fate, change)
      if (original !== undefined && change.type === 'refunded') original.refunded = true
    }
  }

  /** Before the time of the backtest the log is followed; new windows count what it tells. */
  function warmUp(entry: OpenEntry, delivery: Delivery | null): void {
    oldLane.follow(entry.whole())
    if (newLane === oldLane) return
    if (delivery === null) takeOther(entry, newLane)
    else keepNew(followed(entry.head, delivery, newLane, newPack))
  }

  function takeOther({ head, whole }: OpenEntry, lane: Lane): void {
    const [cardId, id] = head.transaction
    if (head.kind !== 'tended') lane.repeat(whole(), newPack)
    else lane.sweepTransaction(cardId, id, newPack, head.atMs)
    if (id !== '') noteDue(transactionIn(newLane.book, cardId, id))
  }

  return {
    take(entry) {
      const { kind, atMs, transaction, eventKey } = entry.head
      if (atMs < toMs) {
        if (newLane !== oldLane) sweepOwn(atMs)
        const delivery = deliveryOf(entry.head)
        if (atMs < fromMs) warmUp(entry, delivery)
        else if (delivery !== null) takeDelivery(entry.head, delivery)
        else {
          const apart = newLane !== oldLane
          if (kind === 'tended') oldLane.sweepTransaction(...transaction, oldPack, atMs)
          else oldLane.follow(entry.whole())
          if (apart) takeOther(entry, newLane)
        }
      }
      tellFates(entry)
      // What the watchdog said stays said, whatever a pack would have decided.
      if (kind === 'said') changed.delete(eventKey)
    },
    changed: () => [...changed.values()],
  }
}

function deliveryOf({ kind, event, slot, atMs, answer }: Head): Delivery | null {
  if ((kind !== 'event' && kind !== 'said') || event === null) return null
  return { event, slot, receivedAtMs: atMs, said: kind === 'said' ? answer : null }
}

function isFirst({ before }: Decision): boolean {
  return before.event === null
}

function sameAnswer(a: Answer, b: Answer): boolean {
  return a.code === b.code && a.approvedAmountMinor === b.approvedAmountMinor
}

/** An emergency block is no rule of either pack: it stands on both books. */
function blockIn({ answer }: Head): RuleVerdict['decline'] {
  if (answer === null || !answer.ruleId.startsWith('block:')) return null
  const { ruleId, code } = answer
  return { ruleId, code }
}

function withBlock(pack: Pack, decline: RuleVerdict['decline']): Pack {
  return { ...pack, evaluate: () => ({ matched: [], shadow: [], decline }) }
}

/** The pack as its breakers had it at that moment, where the log shows that one had tripped. */
function trippedIn(entry: Head, { step }: Decision, pack: Pack): Pack | null {
  const { ruleId } = step.answer
  if (ruleId === '' || !entry.shadowRules.includes(ruleId)) return null
  return pack.inShadow?.(new Set(entry.shadowRules)) ?? null
}

/** The answer of the log on a book that counts otherwise. */
function followed(entry: Head, delivery: Delivery, lane: Lane, pack: Pack): Decision {
  const { answer } = entry
  if (answer === null || delivery.said !== null) return lane.decide(delivery, pack)
  const { ruleId, code } = answer
  const decline = ruleId === '' ? null : { ruleId, code }
  const decided = lane.decide(delivery, {
    ...pack,
    evaluate: () => (decline === null ? noVerdict : { ...noVerdict, decline }),
  })
  if (sameAnswer(decided.step.answer, answer)) return decided
  // Another switch would have stood in its way: what was answered was answered.
  return lane.decide({ ...delivery, said: answer }, pack)
}

function tellFate(fate: Fate, change: Change): void {
  if (change.type === 'captured') fate.settled ||= change.amountMinor > 0
  else if (change.type === 'refunded') fate.refunded = true
  else if (change.type === 'voided' || change.type === 'reduced') fate.reversed = true
}

interface DueList {
  add(atMs: number, key: string): void
  /** The next key whose time has come; null for none. */
  next(nowMs: number): string | null
}

/** Soonest first. What is added is mostly later than all the rest. */
function createDueList(): DueList {
  let list: { atMs: number; key: string }[] = []
  let head = 0
  return {
    add(atMs, key) {
      let at = list.length
      while (at > head && list[at - 1]!.atMs > atMs) at--
      const same = list[at - 1]
      if (at > head && same?.atMs === atMs && same.key === key) return
      list.splice(at, 0, { atMs, key })
    },
    next(nowMs) {
      const first = list[head]
      if (first === undefined || first.atMs > nowMs) return null
      head++
      if (head > 1000) {
        list = list.slice(head)
        head = 0
      }
      return first.key
    },
  }
}
