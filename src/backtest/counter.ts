import { dayMs } from '../clock.ts'
import type { Changed, Compared } from './replay/account-replay.ts'
import {
  addAmount,
  type ChangedRow,
  type ChangeKind,
  causeOf,
  type DayTally,
  type DecisionTally,
  maxDisagreementRows,
  maxRows,
  newDecisionTally,
  ruleOf,
  type Said,
} from './tally.ts'

/** Names beyond this many are not kept, so that they do not fill the memory. */
const maxNames = 100_000

export interface Counter {
  compare(compared: Compared): void
  change(changed: Changed): void
  readonly tally: DecisionTally
}

export function createCounter(): Counter {
  const tally = newDecisionTally()
  const dayOf = createDays(tally)
  const cards = new Set<string>()
  const merchants = new Set<string>()
  const ruleCards = new Map<string, Set<string>>()
  const ruleMerchants = new Map<string, Set<string>>()

  function compare(compared: Compared): void {
    const { entry, logged, old, next, exact } = compared
    const replayed = old.step.answer
    tally.asks++
    tally.versions[logged.rulesVersion] ??= { asks: 0, disagreements: 0 }
    const version = tally.versions[logged.rulesVersion]!
    version.asks++
    if (!exact) tally.inexactAsks++
    const day = dayOf(entry.atMs)
    day.asks++
    if (replayed.code !== '000') day.oldDeclined++
    if (next.step.answer.code !== '000') day.newDeclined++
    for (const id of old.step.matchedRules) ruleOf(tally, id).oldMatched++
    for (const id of old.step.shadowRules) ruleOf(tally, id).oldShadow++
    for (const id of next.step.matchedRules) ruleOf(tally, id).newMatched++
    for (const id of next.step.shadowRules) ruleOf(tally, id).newShadow++
    if (isSaid(logged, replayed)) return
    if (!exact) {
      tally.inexactDisagreements++
      return
    }
    version.disagreements++
    tally.disagreements++
    if (tally.disagreementRows.length >= maxDisagreementRows) return
    tally.disagreementRows.push({
      atMs: entry.atMs,
      eventId: entry.event!.eventId,
      cardId: entry.cardId,
      version: logged.rulesVersion,
      logged: saidOf(logged),
      replayed: saidOf(replayed),
    })
  }

  function change(changed: Changed): void {
    const row = rowOf(changed)
    const { kind, amountMinor, currency, good } = row
    const counted = tally.changes[kind]
    counted.asks++
    addAmount(counted.amounts, currency, amountMinor)
    if (good) {
      counted.good++
      addAmount(counted.goodAmounts, currency, amountMinor)
    }
    note(cards, row.cardId)
    note(merchants, row.mid)
    const id = causeOf(row)
    const rule = ruleOf(tally, id)
    if (kind === 'newlyDeclined') rule.newlyDeclined++
    if (kind === 'newlyApproved') rule.newlyApproved++
    if (good) rule.good++
    addAmount(rule.amounts, currency, amountMinor)
    note(setIn(ruleCards, id), row.cardId)
    note(setIn(ruleMerchants, id), row.mid)
    if (tally.rows.length < maxRows) tally.rows.push(row)
  }

  return {
    compare,
    change,
    get tally() {
      tally.cards = [...cards]
      tally.merchants = [...merchants]
      for (const [id, some] of ruleCards) ruleOf(tally, id).cards = [...some]
      for (const [id, some] of ruleMerchants) ruleOf(tally, id).merchants = [...some]
      return tally
    },
  }
}

/** Keeps the last day at hand: most asks are of the same day, and making its name is costly. */
function createDays(tally: DecisionTally): (atMs: number) => DayTally {
  let lastDay = Number.NaN
  let last: DayTally = { asks: 0, oldDeclined: 0, newDeclined: 0 }
  return (atMs) => {
    const day = Math.floor(atMs / dayMs)
    if (day === lastDay) return last
    const name = new Date(atMs).toISOString().slice(0, 10)
    tally.days[name] ??= { asks: 0, oldDeclined: 0, newDeclined: 0 }
    lastDay = day
    last = tally.days[name]
    return last
  }
}

function rowOf({ entry, was, is, fate }: Changed): ChangedRow {
  const event = entry.event!
  const kind = kindOf(was.code === '000', is.code === '000')
  return {
    kind,
    atMs: entry.atMs,
    eventId: event.eventId,
    requestType: event.requestType,
    accountId: entry.accountId,
    cardId: event.cardId,
    transactionId: entry.transaction[1],
    amountMinor: event.amountMinor ?? 0,
    currency: event.currency,
    mid: event.merchant.mid,
    mcc: event.merchant.mcc,
    country: event.merchant.country,
    old: saidOf(was),
    next: saidOf(is),
    fate,
    good: kind === 'newlyDeclined' && fate.settled && !fate.refunded && !fate.reversed,
  }
}

function kindOf(was: boolean, is: boolean): ChangeKind {
  if (was !== is) return was ? 'newlyDeclined' : 'newlyApproved'
  return was ? 'otherAmount' : 'otherCode'
}

function saidOf({ code, ruleId, approvedAmountMinor }: Said): Said {
  return { code, ruleId, approvedAmountMinor }
}

function isSaid(a: Said, b: Said): boolean {
  return (
    a.code === b.code && a.ruleId === b.ruleId && a.approvedAmountMinor === b.approvedAmountMinor
  )
}

function note(names: Set<string>, name: string): void {
  if (name !== '' && names.size < maxNames) names.add(name)
}

function setIn(sets: Map<string, Set<string>>, id: string): Set<string> {
  const found = sets.get(id) ?? new Set<string>()
  sets.set(id, found)
  return found
}
