import { arrivalMs, type Draft, nameTransaction, openDraft } from '../change/draft.ts'
import { isSafe, knowsCard, type View } from '../change/view.ts'
import { availableMinor, isMisdirected } from '../record/account.ts'
import { type CardEvent, isAsk } from '../record/event.ts'
import type { ResponseCode } from '../record/response-code.ts'
import { bookAdvice } from './advice.ts'
import { allowedFunds, passChecks } from './allowance.ts'
import { type Anomaly, askAnomalies, namingAnomalies } from './anomaly.ts'
import { type Ask, holdOf, isAdjusted, openAsk, withTotal } from './ask.ts'
import { rememberAsk } from './ask-memory.ts'
import { absorbedCheck, amountCheck, fundsCheck, unblockedMidOf, usesUnblock } from './check.ts'
import { bookConsequences, bookCrowding, makePlaces } from './consequence.ts'
import type { Decided } from './decision.ts'
import type { Pack, RuleVerdict } from './pack.ts'

export function decide(event: CardEvent, view: View, pack: Pack, receivedAtMs: number): Decided {
  const draft = openDraft(view, receivedAtMs)
  return isAsk(event) ? decideAsk(event, draft, pack) : bookAdvice(event, draft, pack)
}

/** What checks, rules and funds say of an ask, before anything is booked. */
export interface AskVerdict {
  readonly code: ResponseCode
  readonly ruleId: string
  readonly matchedRules: readonly string[]
  readonly shadowRules: readonly string[]
  /** The part of the hold that a partial approval leaves out. */
  readonly shortMinor: number
  readonly absorbed: boolean
  readonly unblocks: boolean
  /** A rule wants people to look at it. */
  readonly review: boolean
}

/** The verdict alone, where only another pack's is asked for. */
export function judgeAsk(
  event: CardEvent,
  view: View,
  pack: Pack,
  receivedAtMs: number,
): AskVerdict {
  return judge(openAsk(event, view, pack, arrivalMs(view, receivedAtMs)))
}

function decideAsk(event: CardEvent, draft: Draft, pack: Pack): Decided {
  const ask = openAsk(event, draft.before, pack, draft.atMs)
  const verdict = judge(ask)
  const decided = carryOut(draft, ask, verdict)
  if (isSafe(decided.after)) return decided
  const { matchedRules, shadowRules } = verdict
  const tooLarge = { ...declinedWith(amountCheck.code), matchedRules, shadowRules }
  return carryOut(openDraft(draft.before, draft.atMs), ask, tooLarge)
}

function declinedWith(code: ResponseCode): AskVerdict {
  const nothing = { matchedRules: [], shadowRules: [], absorbed: false, unblocks: false } as const
  return { code, ruleId: '', shortMinor: 0, review: false, ...nothing }
}

/** Books the verdict; nothing here may refuse. */
function carryOut(draft: Draft, ask: Ask, verdict: AskVerdict): Decided {
  const { event, pack } = ask
  if (knowsCard(draft.before, event)) {
    record(draft, ask, verdict)
    bookConsequences(draft, event, pack)
  }
  return {
    code: verdict.code,
    ruleId: verdict.ruleId,
    matchedRules: verdict.matchedRules,
    shadowRules: verdict.shadowRules,
    absorbed: verdict.absorbed,
    approvedAmountMinor: approvedMinor(ask.amountMinor, verdict),
    anomalies: anomaliesOf(ask, draft, verdict),
    unmatched: '',
    changes: draft.changes,
    after: draft.view,
  }
}

/** null for all of it, or none. */
export function approvedMinor(amountMinor: number, { shortMinor }: AskVerdict): number | null {
  return shortMinor > 0 ? amountMinor - shortMinor : null
}

function anomaliesOf(ask: Ask, { before }: Draft, { review }: AskVerdict): Anomaly[] {
  if (!isComparable(ask)) return []
  return [...askAnomalies(ask), ...namingAnomalies(before), ...(review ? reviewed : [])]
}

const reviewed = ['review'] as const

/** Finds the first refusal: of the checks, then of the rules, then of the funds. */
function judge(ask: Ask): AskVerdict {
  const { failed, rules } = passChecks(ask)
  const unblocks = usesUnblock(ask, failed)
  const absorbed = failed === absorbedCheck
  const say = (
    code: ResponseCode,
    { matched: matchedRules, shadow: shadowRules, review = false }: RuleVerdict,
    said: { readonly ruleId: string; readonly shortMinor: number } = { ruleId: '', shortMinor: 0 },
  ): AskVerdict => ({ code, ...said, matchedRules, shadowRules, absorbed, unblocks, review })
  if (failed !== undefined) return say(failed.code, rules)
  const { decline } = rules
  if (decline !== null) return say(decline.code, rules, { ruleId: decline.ruleId, shortMinor: 0 })
  const shortMinor = ask.amountMinor === 0 ? 0 : shortOfFunds(ask)
  const funded = shortMinor === 0 ? rules : allowedFunds(rules)
  if (funded !== null) return say('000', funded)
  if (shortMinor !== null) return say('000', rules, { ruleId: '', shortMinor })
  return say(fundsCheck.code, rules)
}

/** How much of the hold the funds do not cover: 0 in full, null when it must be declined. */
function shortOfFunds(ask: Ask): number | null {
  if (!fundsCheck.fails(ask)) return 0
  const available = availableMinor(ask.account)
  const short = ask.sums.openRise - available
  const { partialApproval } = ask.pack.switches
  const partial = partialApproval && ask.event.partialApprovalSupported
  if (!partial || available <= 0 || short >= ask.sums.netRise) return null
  // A ceiling speaks of all that is asked for: of a part it would take back what it leaves.
  if (ask.sums.reversedMinor > 0) return null
  // A part that holds more than itself would hold more than there is.
  return isAdjusted(ask, ask.sums.netMinor - short) ? null : short
}

function record(draft: Draft, ask: Ask, verdict: AskVerdict): void {
  const { mid } = ask.event.merchant
  const approved = verdict.code === '000'
  if (isComparable(ask)) nameTransaction(draft)
  if (verdict.unblocks) draft.make({ type: 'unblockUsed', mid })
  if (!approved) {
    // The sums of an absorbed ask are kept, so that the pair nets to nothing.
    if (verdict.absorbed) {
      const hold = withTotal(holdOf(ask, ask.sums.addedMinor, ''), ask, 0)
      draft.make({ type: 'askAbsorbed', hold })
    }
    draft.make({ type: 'declined', code: verdict.code })
  }
  rememberAsk(draft, ask.event, approved, ask.pack.remembers)
  if (ask.amountMinor === 0) return
  const { shortMinor, unblocks } = verdict
  if (approved) bookApproval(draft, ask, shortMinor, unblockedMidOf(ask, unblocks))
  else countAttempt(draft, ask, true)
}

/** Books an approved ask above zero, whoever approved it, less the part that was not. */
export function bookApproval(
  draft: Draft,
  ask: Ask,
  shortMinor: number,
  unblockedMid: string,
): void {
  const { mid } = ask.event.merchant
  const { addedMinor, uncoveredMinor, reversedMinor } = ask.sums
  // What was approved is held, also where the checks would have found no cover for it; a part of a total that a later one
  // stands above takes nothing from that.
  const heldMinor = Math.max(0, addedMinor + uncoveredMinor - shortMinor)
  const hold = withTotal(holdOf(ask, heldMinor, unblockedMid), ask, shortMinor)
  // A ceiling takes nothing back of what was not approved.
  const part = { reversedMinor: Math.max(0, reversedMinor - shortMinor) }
  draft.make({ type: 'holdPlaced', hold: shortMinor === 0 ? hold : { ...hold, ...part } })
  if (ask.swipes) draft.make({ type: 'swipeUsed' })
  draft.make({ type: 'askRemembered', mid, amountMinor: ask.amountMinor })
  countAttempt(draft, ask, false)
}

/** Windows of attempts count asks, whatever became of them. */
function countAttempt(draft: Draft, ask: Ask, declined: boolean): void {
  const at = makePlaces(draft, ask.event, ask.pack, ({ over }) => {
    return over === 'asks' || (over === 'declines' && declined)
  })
  if (at.length === 0) return
  draft.make({ type: 'attemptCounted', amountMinor: ask.amountMinor, at })
  bookCrowding(draft, at)
}

/** An ask in another currency, or for no card, says nothing about the transaction it names. */
function isComparable({ event, account }: Ask): boolean {
  return event.currency === account.currency && !isMisdirected(event, account)
}
