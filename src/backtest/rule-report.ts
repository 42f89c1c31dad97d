import type { Entry } from '../domain/ledger/entry.ts'
import { isAsk } from '../domain/record/event.ts'
import type { Amounts } from './tally.ts'

/** The effect of one rule in the log. */
interface ReportedRule {
  readonly id: string
  /** As in the pack; `tag`, `check` or `block` for what is none of its rules; '' for a rule that it no longer has. */
  readonly mode: string
  /** Asks that the rule matched while enforced; it gave the answer to `declined` of them. */
  matched: number
  declined: number
  /** Asks that the rule matched while it only recorded: in shadow, outside its rollout, or tripped. */
  shadow: number
  amounts: Amounts
  readonly examples: Example[]
}

interface Example {
  readonly atMs: number
  readonly eventId: string
  readonly cardId: string
  readonly amountMinor: number
  readonly currency: string
  readonly mid: string
  readonly code: string
}

interface Overlap {
  readonly rules: readonly [string, string]
  readonly asks: number
}

export interface RuleReport {
  readonly asks: number
  readonly rules: readonly ReportedRule[]
  /** Pairs that matched the same asks, the most first. */
  readonly overlaps: readonly Overlap[]
  /** Rules of the pack that are not off and matched nothing. */
  readonly never: readonly string[]
}

const maxExamples = 3
const maxReported = 20_000
const maxPairs = 20_000
const maxShownPairs = 50

/** What else stands among the rules of an entry has a word with a colon before it, which no id of a rule has. */
function kindOf(id: string): string {
  return id.slice(0, Math.max(0, id.indexOf(':')))
}

interface RuleReporter {
  /** Entries come newest first, so that the examples are the newest. */
  add(entry: Entry): void
  report(): RuleReport
}

export function createRuleReporter(
  pack: readonly { readonly id: string; readonly mode: string }[],
): RuleReporter {
  const modes = new Map(pack.map(({ id, mode }) => [id, mode]))
  const rules = new Map<string, ReportedRule>()
  const pairs = new Map<string, number>()
  let asks = 0

  function ruleOf(id: string): ReportedRule | null {
    const known = rules.get(id)
    if (known !== undefined) return known
    if (rules.size >= maxReported) return null
    const mode = modes.get(id) ?? kindOf(id)
    const rule = { id, mode, matched: 0, declined: 0, shadow: 0, amounts: {}, examples: [] }
    rules.set(id, rule)
    return rule
  }

  function note(id: string, entry: Entry, enforced: boolean): void {
    const rule = ruleOf(id)
    const event = entry.event!
    if (rule === null) return
    if (enforced) rule.matched++
    else rule.shadow++
    if (entry.answer?.ruleId === id) rule.declined++
    const { currency, amountMinor } = event
    rule.amounts[currency] = (rule.amounts[currency] ?? 0) + (amountMinor ?? 0)
    if (rule.examples.length >= maxExamples) return
    rule.examples.push({
      atMs: entry.atMs,
      eventId: event.eventId,
      cardId: event.cardId,
      amountMinor: amountMinor ?? 0,
      currency,
      mid: event.merchant.mid,
      code: entry.answer?.code ?? '',
    })
  }

  function notePairs(ids: readonly string[]): void {
    for (let i = 0; i < ids.length; i++) {
      for (let j = i + 1; j < ids.length; j++) {
        const key = ids[i]! < ids[j]! ? `${ids[i]}\n${ids[j]}` : `${ids[j]}\n${ids[i]}`
        const count = pairs.get(key) ?? 0
        if (count > 0 || pairs.size < maxPairs) pairs.set(key, count + 1)
      }
    }
  }

  return {
    add(entry) {
      const { kind, event, changes, matchedRules, shadowRules } = entry
      // A delivery that came again was not decided again.
      if (kind !== 'event' || event === null || !isAsk(event)) return
      if (!changes.some(({ type }) => type === 'recorded')) return
      asks++
      for (const id of matchedRules) note(id, entry, true)
      for (const id of shadowRules) note(id, entry, false)
      notePairs([...matchedRules, ...shadowRules])
    },
    report() {
      const total = ({ matched, shadow }: ReportedRule) => matched + shadow
      const overlaps = [...pairs]
        .sort(([, a], [, b]) => b - a)
        .slice(0, maxShownPairs)
        .map(([key, count]) => ({ rules: key.split('\n') as [string, string], asks: count }))
      return {
        asks,
        rules: [...rules.values()].sort((a, b) => total(b) - total(a) || (a.id < b.id ? -1 : 1)),
        overlaps,
        never: pack.filter(({ id, mode }) => mode !== 'off' && !rules.has(id)).map(({ id }) => id),
      }
    },
  }
}
