import type { Changed, Compared, Fate } from './account-replay.ts'

/** What a backtest found, as plain data: threads add theirs together, and files keep it. */
export interface DecisionTally {
  entries: number
  accounts: number
  /** Asks that the engine decided within the time of the backtest. */
  asks: number
  /** Accounts whose first entries the log no longer has. */
  cutAccounts: number
  /** Their asks whose state is only as good as the snapshot. */
  inexactAsks: number
  exactFromMs: number
  /** By the version of the pack that decided them. */
  versions: Record<string, VersionTally>
  /** Where the old pack does not say what the log says was answered. */
  disagreements: number
  disagreementRows: Disagreement[]
  changes: Record<ChangeKind, ChangeTally>
  /** Rows beyond the bound are counted and not listed. */
  rows: ChangedRow[]
  rules: Record<string, RuleTally>
  /** By day in UTC. */
  days: Record<string, DayTally>
  cards: string[]
  merchants: string[]
}

/** Minor units by currency. */
export type Amounts = Record<string, number>

export interface VersionTally {
  asks: number
  disagreements: number
}

export const changeKinds = ['newlyDeclined', 'newlyApproved', 'otherCode', 'otherAmount'] as const
export type ChangeKind = (typeof changeKinds)[number]

export interface ChangeTally {
  asks: number
  amounts: Amounts
  /** Of customers whose purchase was settled, and never refunded or reversed. */
  good: number
  goodAmounts: Amounts
}

export interface RuleTally {
  /** Asks that it matched, enforced and not, on the book of its pack. */
  oldMatched: number
  oldShadow: number
  newMatched: number
  newShadow: number
  newlyDeclined: number
  newlyApproved: number
  good: number
  amounts: Amounts
  cards: string[]
  merchants: string[]
}

export interface DayTally {
  asks: number
  oldDeclined: number
  newDeclined: number
}

export interface Disagreement {
  readonly atMs: number
  readonly eventId: string
  readonly cardId: string
  readonly version: string
  readonly logged: Said
  readonly replayed: Said
}

export interface Said {
  readonly code: string
  readonly ruleId: string
  readonly approvedAmountMinor: number | null
}

export interface ChangedRow {
  readonly kind: ChangeKind
  readonly atMs: number
  readonly eventId: string
  readonly requestType: string
  readonly accountId: string
  readonly cardId: string
  readonly transactionId: string
  readonly amountMinor: number
  readonly currency: string
  readonly mid: string
  readonly mcc: string
  readonly country: string
  readonly old: Said
  readonly next: Said
  readonly fate: Readonly<Fate>
  readonly good: boolean
}

export const maxRows = 50_000
export const maxDisagreementRows = 1000
/** Names beyond this are counted as if they were known. */
const maxNames = 100_000
/** What declines because the other decisions left another balance or another limit. */
export const byConsequence = '(balance or limit)'

export function newDecisionTally(): DecisionTally {
  return {
    entries: 0,
    accounts: 0,
    asks: 0,
    cutAccounts: 0,
    inexactAsks: 0,
    exactFromMs: 0,
    versions: {},
    disagreements: 0,
    disagreementRows: [],
    changes: {
      newlyDeclined: newChange(),
      newlyApproved: newChange(),
      otherCode: newChange(),
      otherAmount: newChange(),
    },
    rows: [],
    rules: {},
    days: {},
    cards: [],
    merchants: [],
  }
}

function newChange(): ChangeTally {
  return { asks: 0, amounts: {}, good: 0, goodAmounts: {} }
}

/** Counts what is found, as it is found. */
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
    if (!exact || isSaid(logged, replayed)) return
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

  function change({ compared, fate }: Changed): void {
    const row = rowOf(compared, fate)
    const { kind, amountMinor, currency, good } = row
    const counted = tally.changes[kind]
    counted.asks++
    add(counted.amounts, currency, amountMinor)
    if (good) {
      counted.good++
      add(counted.goodAmounts, currency, amountMinor)
    }
    note(cards, row.cardId)
    note(merchants, row.mid)
    const id = causeOf(row)
    const rule = ruleOf(tally, id)
    if (kind === 'newlyDeclined') rule.newlyDeclined++
    if (kind === 'newlyApproved') rule.newlyApproved++
    if (good) rule.good++
    add(rule.amounts, currency, amountMinor)
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

const dayMs = 86_400_000

/** Most asks are of the day of the one before: making its name costs more than all the rest. */
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

export function ruleOf(tally: DecisionTally, id: string): RuleTally {
  tally.rules[id] ??= {
    oldMatched: 0,
    oldShadow: 0,
    newMatched: 0,
    newShadow: 0,
    newlyDeclined: 0,
    newlyApproved: 0,
    good: 0,
    amounts: {},
    cards: [],
    merchants: [],
  }
  return tally.rules[id]
}

/** The rule that a change is put down to: the one that declines where the other pack approves. */
export function causeOf({ kind, old, next }: ChangedRow): string {
  const ruleId = kind === 'newlyApproved' ? old.ruleId : next.ruleId || old.ruleId
  return ruleId || byConsequence
}

function rowOf({ entry, old, next }: Compared, fate: Fate): ChangedRow {
  const event = entry.event!
  const [was, is] = [old.step.answer, next.step.answer]
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

export function add(amounts: Amounts, currency: string, minor: number): void {
  amounts[currency] = (amounts[currency] ?? 0) + minor
}

function note(names: Set<string>, name: string): void {
  if (name !== '' && names.size < maxNames) names.add(name)
}

function setIn(sets: Map<string, Set<string>>, id: string): Set<string> {
  const found = sets.get(id) ?? new Set<string>()
  sets.set(id, found)
  return found
}
