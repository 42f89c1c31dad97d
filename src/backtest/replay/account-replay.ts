import { gather } from '../../domain/change/book.ts'
import type { Step } from '../../domain/decide/answer.ts'
import { type AskVerdict, approvedMinor, judgeAsk } from '../../domain/decide/decide.ts'
import type { Delivery } from '../../domain/decide/delivery.ts'
import { inShadow, type Pack, type RuleVerdict, withDisabled } from '../../domain/decide/pack.ts'
import { countShared } from '../../domain/decide/shared-window.ts'
import type { Entry } from '../../domain/ledger/entry.ts'
import { transactionKey } from '../../domain/ledger/ledger.ts'
import { type CardEvent, isAsk } from '../../domain/record/event.ts'
import type { Answer } from '../../domain/record/event-record.ts'
import type { Transaction } from '../../domain/record/transaction.ts'
import type { OpenEntry } from '../../engine/format/entry-codec.ts'
import type { Likeness } from '../counting.ts'
import { createDueList } from './due-list.ts'
import { createFates, type Fate } from './fate.ts'
import { answerAsLogged, deliveryOf, type Head, sameAnswer } from './logged-answer.ts'
import {
  createReplayedAccount,
  type Decision,
  operationOf,
  type ReplayedAccount,
  transactionIn,
} from './replayed-account.ts'

/** The two packs of a backtest, and the time that it is about. */
export interface PackComparison {
  readonly oldPack: Pack
  readonly newPack: Pack
  /** The new pack with the rules in shadow that its breakers have tripped by then. */
  readonly newPackAt: (atMs: number) => Pack
  /** Rules of the old pack whose answers the log may contradict. */
  readonly approximate: readonly string[]
  /** Unless they count apart, one book serves for both packs until a decision differs. */
  readonly counting: Likeness
  /** Asks from here on are decided anew; earlier entries only fill the books. */
  readonly fromMs: number
  /** Entries from here on are not decided; they tell how earlier transactions ended. */
  readonly toMs: number
}

/** The answers to one ask: of the log, and of each pack on its own book. */
export interface Compared {
  readonly entry: Head
  readonly logged: Answer
  readonly old: Decision
  readonly next: Decision
  /** False while the account's state is only as good as its snapshot. */
  readonly exact: boolean
}

/** An ask that the two packs decide differently; it is kept to the end, so without the records of its decisions. */
export interface Changed {
  readonly entry: Head
  readonly was: Answer
  readonly is: Answer
  readonly fate: Fate
}

export interface AccountReplay {
  replay(entry: OpenEntry): void
  /** At the end of the log, the decisions that differ, without those that the watchdog took over. */
  changed(): Changed[]
  /** A server told its windows from the log, and the new pack's book, which shared what they had counted, was apart by then. */
  untold(): boolean
}

export interface AccountStart {
  readonly account: ReplayedAccount
  readonly exactFromMs: number
}

export function createAccountReplay(
  comparison: PackComparison,
  onCompared: (compared: Compared) => void,
  start: AccountStart = { account: createReplayedAccount(), exactFromMs: 0 },
): AccountReplay {
  const { oldPack, newPack, newPackAt, counting, fromMs, toMs } = comparison
  const oldAccount = start.account
  // One and the same account until the packs decide differently.
  let newAccount = counting === 'apart' ? oldAccount.copy() : oldAccount
  let untold = false
  const changed = new Map<string, Changed>()
  const fates = createFates(oldAccount.book)
  const due = createDueList()

  /** Sweeps transactions that the log did not sweep, because they are due under the new pack only. */
  function sweepOwn(nowMs: number): void {
    for (let key = due.next(nowMs); key !== null; key = due.next(nowMs)) {
      const [cardId = '', id = ''] = key.split('\n')
      const mine = transactionIn(newAccount.book, cardId, id)
      const theirs = transactionIn(oldAccount.book, cardId, id)
      if (mine === null || mine.dueAtMs > nowMs || mine.dueAtMs === theirs?.dueAtMs) continue
      newAccount.sweepTransaction(cardId, id, newPack, mine.dueAtMs)
      noteDue(transactionIn(newAccount.book, cardId, id))
    }
  }

  function noteDue(transaction: Transaction | null): void {
    if (transaction === null || transaction.dueAtMs === 0) return
    const { dueAtMs, cardId, transactionId } = transaction
    due.add(dueAtMs, transactionKey(cardId, transactionId))
  }

  function keepNew(decision: Decision): void {
    newAccount.keep(decision)
    const { transaction, linked } = decision.step.after
    noteDue(transaction)
    noteDue(linked)
  }

  /** While the packs share a book only their verdicts can differ: where they do not, all else is as it was. */
  function decideNew(delivery: Delivery, pack: Pack, old: Decision): Decision {
    if (newAccount !== oldAccount) return newAccount.decide(delivery, pack)
    const { before, step } = old
    const { event, receivedAtMs } = delivery
    // No pack has a say in what came before.
    if (!isFirst(old) || before.otherContent) return old
    const verdict = judgeAsk(event, before, pack, receivedAtMs)
    if (!isAsBooked(verdict, event, step)) return newAccount.decide(delivery, pack)
    const { ruleId, matchedRules, shadowRules } = verdict
    const answer = { ...step.answer, ruleId }
    return { before, step: { ...step, answer, matchedRules, shadowRules } }
  }

  function decideBoth(entry: Head, delivery: Delivery): void {
    const decided = isAsk(delivery.event) && delivery.said === null
    const compared = decided ? entry.answer : null
    const blocked = blockIn(entry)
    const disabled = disabledIn(entry, oldAccount)
    const newUsed = withDisabled(newPackAt(entry.atMs), disabled)
    const [oldAsked, newAsked] =
      blocked === null
        ? [withDisabled(oldPack, disabled), newUsed]
        : [withBlock(oldPack, blocked), withBlock(newUsed, blocked)]
    let old = oldAccount.decide(delivery, oldAsked)
    const tripped = trippedIn(entry, old, oldPack)
    if (tripped !== null) old = oldAccount.decide(delivery, tripped)
    const shared = newAccount === oldAccount
    const next = shared && !decided ? old : decideNew(delivery, newAsked, old)
    const same = sameAnswer(old.step.answer, next.step.answer)
    if (shared && next.step.changes !== old.step.changes) newAccount = oldAccount.copy()
    oldAccount.keep(old)
    if (newAccount !== oldAccount) keepNew(next)
    countShared(oldPack, delivery.event, old.step)
    countShared(newPack, delivery.event, next.step)
    if (compared === null) return
    // A delivery that came again is answered as the first one was.
    if (!isFirst(old)) return
    const asked = [compared.ruleId, old.step.answer.ruleId]
    const approximate = asked.some((id) => comparison.approximate.includes(id))
    const exact = entry.atMs >= start.exactFromMs && !approximate
    onCompared({ entry, logged: compared, old, next, exact })
    if (same) return
    const [was, is] = [old.step.answer, next.step.answer]
    changed.set(entry.eventKey, { entry, was, is, fate: fates.of(entry.transaction) })
  }

  /** What the log has counted lacks the windows of the new pack, so from here on it counts itself. */
  function partBooks(): void {
    if (counting === 'windows' && newAccount === oldAccount) newAccount = oldAccount.copy()
  }

  /** Before the time of the backtest both accounts follow the log; the new pack's windows fill. */
  function warmUp(entry: OpenEntry, delivery: Delivery | null): void {
    partBooks()
    if (newPack.shared !== undefined || oldPack.shared !== undefined) warmShared(entry)
    oldAccount.follow(entry.whole())
    if (newAccount === oldAccount) return
    if (delivery === null) repeatOnNew(entry)
    else keepNew(answerAsLogged(entry.head, delivery, newAccount, newPack))
  }

  /** Windows over several cards count what the log says was answered, by the records before it. */
  function warmShared({ head, whole }: OpenEntry): void {
    const { event, answer, atMs } = head
    if (event === null || answer === null) return
    const { changes } = whole()
    const before = gather(event, oldAccount.book)
    const step = { ...noStep, answer, atMs, changes, before, after: before }
    countShared(oldPack, event, step)
    countShared(newPack, event, step)
  }

  /** Does to the new account what was done to the old one without a delivery. */
  function repeatOnNew({ head, whole }: OpenEntry): void {
    const [cardId, id] = head.transaction
    if (head.kind !== 'tended') newAccount.repeat(whole(), newPack)
    else newAccount.sweepTransaction(cardId, id, newPack, head.atMs)
    if (id !== '') noteDue(transactionIn(newAccount.book, cardId, id))
  }

  return {
    replay(entry) {
      const { kind, atMs, transaction, eventKey } = entry.head
      if (atMs < toMs) {
        if (newAccount !== oldAccount) sweepOwn(atMs)
        const delivery = deliveryOf(entry.head)
        if (atMs < fromMs) warmUp(entry, delivery)
        else if (delivery !== null) decideBoth(entry.head, delivery)
        else {
          if (kind !== 'tended' && countsItself(entry.whole())) {
            untold ||= counting === 'same' && newAccount !== oldAccount && isSeed(entry.whole())
            partBooks()
          }
          const apart = newAccount !== oldAccount
          if (kind === 'tended') oldAccount.sweepTransaction(...transaction, oldPack, atMs)
          else oldAccount.follow(entry.whole())
          if (apart) repeatOnNew(entry)
        }
      }
      fates.note(entry)
      // What the watchdog said stays said, whatever a pack would have decided.
      if (kind === 'said') changed.delete(eventKey)
    },
    changed: () => [...changed.values()],
    untold: () => untold,
  }
}

const noStep = { anomalies: [], unmatched: '', matchedRules: [], shadowRules: [] } as const

/** An entry without a delivery that says what the old pack's windows count, and not those of the new. */
function countsItself(entry: Entry): boolean {
  return operationOf(entry) !== null || isSeed(entry)
}

function isSeed({ changes }: Entry): boolean {
  return changes.some(({ type }) => type === 'seeded')
}

function isFirst({ before }: Decision): boolean {
  return before.event === null
}

/** The emergency block that declined an ask: it is no rule of either pack, so it stands for both. */
function blockIn({ answer }: Head): RuleVerdict['decline'] {
  if (answer === null || !answer.ruleId.startsWith('block:')) return null
  const { ruleId, code } = answer
  return { ruleId, code }
}

/** Whether a verdict books what a step has booked. */
function isAsBooked(verdict: AskVerdict, event: CardEvent, step: Step): boolean {
  const { answer, after, changes, anomalies } = step
  return (
    verdict.code === answer.code &&
    approvedMinor(event.amountMinor ?? 0, verdict) === answer.approvedAmountMinor &&
    verdict.absorbed === after.event!.absorbed &&
    verdict.unblocks === changes.some(({ type }) => type === 'unblockUsed') &&
    verdict.review === anomalies.includes('review')
  )
}

const none: ReadonlySet<string> = new Set()

/** The organization that was disabled when an ask came, which no pack has a say in. */
function disabledIn({ answer }: Head, { book }: ReplayedAccount): ReadonlySet<string> {
  if (answer?.code !== '115' || answer.ruleId !== '') return none
  return new Set([book.account()?.organizationId ?? ''])
}

function withBlock(pack: Pack, decline: RuleVerdict['decline']): Pack {
  return { ...pack, evaluate: () => ({ matched: [], shadow: [], decline }) }
}

/** The pack with the rules in shadow that a breaker had tripped then; null when none had. */
function trippedIn(entry: Head, { step }: Decision, pack: Pack): Pack | null {
  // One that allows can have only recorded too, while what it looks at filled.
  if (!step.matchedRules.some((id) => entry.shadowRules.includes(id))) return null
  return inShadow(pack, new Set(entry.shadowRules))
}
