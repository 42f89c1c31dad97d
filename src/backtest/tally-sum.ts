import {
  type Amounts,
  addAmount,
  type ChangedRow,
  type ChangeTally,
  changeKinds,
  type DecisionTally,
  maxDisagreementRows,
  maxRows,
  newDecisionTally,
  type RuleTally,
  ruleOf,
} from './tally.ts'

/** Adds up the tallies of several threads; each account is in one of them. */
export function addTogether(parts: readonly DecisionTally[]): DecisionTally {
  const sum = newDecisionTally()
  for (const part of parts) {
    sum.entries += part.entries
    sum.firstMs = Math.min(sum.firstMs || part.firstMs, part.firstMs || sum.firstMs)
    sum.accounts += part.accounts
    sum.asks += part.asks
    sum.cutAccounts += part.cutAccounts
    sum.inexactAsks += part.inexactAsks
    sum.inexactDisagreements += part.inexactDisagreements
    sum.exactFromMs = Math.max(sum.exactFromMs, part.exactFromMs)
    sum.disagreements += part.disagreements
    sum.disagreementRows.push(...part.disagreementRows)
    sum.rows.push(...part.rows)
    addRecords(sum.versions, part.versions, () => ({ asks: 0, disagreements: 0 }))
    addRecords(sum.days, part.days, () => ({ asks: 0, oldDeclined: 0, newDeclined: 0 }))
    for (const kind of changeKinds) addChange(sum.changes[kind], part.changes[kind])
    for (const [id, rule] of Object.entries(part.rules)) addRule(ruleOf(sum, id), rule)
    sum.cards = union(sum.cards, part.cards)
    sum.merchants = union(sum.merchants, part.merchants)
  }
  sum.rows.sort(byImportance)
  sum.rows.length = Math.min(sum.rows.length, maxRows)
  sum.disagreementRows.sort((a, b) => a.atMs - b.atMs || (a.eventId < b.eventId ? -1 : 1))
  sum.disagreementRows.length = Math.min(sum.disagreementRows.length, maxDisagreementRows)
  return sum
}

/** Good customers who would be declined come first, then the other new declines, by time. */
function byImportance(a: ChangedRow, b: ChangedRow): number {
  const rank = ({ good, kind }: ChangedRow) => (good ? -1 : changeKinds.indexOf(kind))
  return rank(a) - rank(b) || a.atMs - b.atMs || (a.eventId < b.eventId ? -1 : 1)
}

function addRecords<T extends { [K in keyof T]: number }>(
  into: Record<string, T>,
  from: Record<string, T>,
  blank: () => T,
): void {
  for (const [name, part] of Object.entries(from)) {
    into[name] ??= blank()
    const sum = into[name] as Record<string, number>
    for (const [field, value] of Object.entries(part)) sum[field] = sum[field]! + Number(value)
  }
}

function addChange(into: ChangeTally, from: ChangeTally): void {
  into.asks += from.asks
  into.good += from.good
  addAmounts(into.amounts, from.amounts)
  addAmounts(into.goodAmounts, from.goodAmounts)
}

function addRule(into: RuleTally, from: RuleTally): void {
  into.oldMatched += from.oldMatched
  into.oldShadow += from.oldShadow
  into.newMatched += from.newMatched
  into.newShadow += from.newShadow
  into.newlyDeclined += from.newlyDeclined
  into.newlyApproved += from.newlyApproved
  into.good += from.good
  addAmounts(into.amounts, from.amounts)
  into.cards = union(into.cards, from.cards)
  into.merchants = union(into.merchants, from.merchants)
}

function addAmounts(into: Amounts, from: Amounts): void {
  for (const [currency, minor] of Object.entries(from)) addAmount(into, currency, minor)
}

function union(a: readonly string[], b: readonly string[]): string[] {
  return [...new Set([...a, ...b])]
}
