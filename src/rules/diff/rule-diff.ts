import { declineCodeOf } from '../pack/action.ts'
import { organizationOf } from '../pack/folder.ts'
import { shareOfText } from '../pack/rollout.ts'
import { defaultMinAsks, type Rule } from '../pack/rule.ts'
import type { RuleFile } from '../pack/rule-file.ts'
import {
  type Effect,
  type FieldChange,
  isEnforced,
  type Judgement,
  judge,
  type PackSide,
  type PartChange,
  worst,
  writtenText,
} from './change.ts'
import { type ReachChange, reachChange, turned } from './condition-diff.ts'
import { valuesIn } from './list-diff.ts'

export function diffRules(before: PackSide, after: PackSide): PartChange[] {
  const [old, next] = [before, after].map(
    ({ pack }) => new Map(pack.rules.map((rule) => [rule.id, rule])),
  ) as [Map<string, Rule>, Map<string, Rule>]
  const ids = [...new Set([...old.keys(), ...next.keys()])]
  const declining = new Set(ids.filter((id) => declines(old.get(id)) && declines(next.get(id))))
  const [placesBefore, placesAfter] = [old, next].map((rules) => orderOf(rules, declining))
  return ids.flatMap((id) => {
    const [was, is] = [old.get(id), next.get(id)]
    if (was === undefined) return [whole(is!, 'added', after)]
    if (is === undefined) return [whole(was, 'removed', before)]
    const fields = [
      ...ruleFields(was.written, is.written, before, after),
      ...ownerField(was, is),
      ...currenciesField(was, is),
      ...orderField(placesBefore?.get(id) ?? '', placesAfter?.get(id) ?? ''),
    ]
    if (fields.length === 0) return []
    const isOff = before.pack.expired.has(id) && after.pack.expired.has(id)
    const told = isOff ? fields.map((field) => ({ ...field, ...expired })) : fields
    const effect = worst(told.map((field) => field.effect))
    const place = `${is.file}:${is.line}`
    return [{ part: 'rule', id, what: 'changed', place, fields: told, effect } as const]
  })
}

function declines(rule: Rule | undefined): boolean {
  return rule?.mode === 'enforce' && declineCodeOf(rule.action) !== '000'
}

/** For each of these rules, which of them comes before it. */
function orderOf(rules: ReadonlyMap<string, Rule>, ids: ReadonlySet<string>): Map<string, string> {
  const ordered = [...rules.keys()].filter((id) => ids.has(id))
  return new Map(ordered.map((id, i) => [id, i === 0 ? 'first' : `after ${ordered[i - 1]}`]))
}

function orderField(before: string, after: string): FieldChange[] {
  if (before === after) return []
  const told = judge('none', 'the first that declines gives the code')
  return [{ field: 'order', before, after, ...told }]
}

/** The folder that a rule is in says whose asks it looks at. */
function ownerField(was: Rule, is: Rule): FieldChange[] {
  const [before, after] = [organizationOf(was.file), organizationOf(is.file)]
  if (before === after) return []
  return [{ field: 'organization', before, after, ...toldOf(was, is, judgeOwner(before, after)) }]
}

/** A number beside an amount, wherever it stands in a rule, says in which currencies the whole rule looks. */
function currenciesField(was: Rule, is: Rule): FieldChange[] {
  const [before, after] = [was, is].map(
    ({ currencies }) => currencies?.toSorted().join(', ') ?? 'all',
  )
  if (before === after) return []
  const told = toldOf(was, is, judgeCurrencies(was.currencies, is.currencies))
  return [{ field: 'currencies', before: before!, after: after!, ...told }]
}

function judgeCurrencies(was: Rule['currencies'], is: Rule['currencies']): Judgement {
  if (is === null) return judge('tighter', 'it looks at asks in all currencies')
  const only = `it looks at asks in ${is.join(', ')} only`
  return was === null ? judge('looser', only) : judgeSets(was, is, only, 'in more currencies')
}

/** One that lacks some and has others loosens one that declines as it does one that allows. */
function judgeSets(
  was: Iterable<string>,
  is: Iterable<string>,
  fewer: string,
  more: string,
): Judgement {
  const [old, next] = [new Set(was), new Set(is)]
  if ([...old].every((one) => next.has(one))) return judge('tighter', more)
  return judge([...next].every((one) => old.has(one)) ? 'looser' : 'unknown', fewer)
}

function toldOf(was: Rule, is: Rule, judged: Judgement): Judgement {
  if (!acts(was.written, is.written)) return idle
  return allows(was.written, is.written) ? reversed(judged) : judged
}

function judgeOwner(before: string, after: string): Judgement {
  if (before === '') return judge('looser', 'it looks at the asks of one organization only')
  if (after === '') return judge('tighter', 'it looks at the asks of all organizations')
  return judge('unknown', 'it looks at the asks of another organization')
}

/** A rule that does not decline changes nothing by coming or going. */
function whole(rule: Rule, what: 'added' | 'removed', side: PackSide): PartChange {
  const { id, file, line } = rule
  const place = `${file}:${line}`
  const effect = isEnforced(side, rule) ? effectOf(rule, what) : 'none'
  return { part: 'rule', id, what, place, fields: [], effect }
}

function effectOf({ action }: Rule, what: 'added' | 'removed'): Effect {
  if (action.does === 'allow') return what === 'added' ? 'looser' : 'tighter'
  if (declineCodeOf(action) === '000') return 'none'
  return what === 'added' ? 'tighter' : 'looser'
}

type Judge = (
  before: string,
  after: string,
  sides: { readonly before: PackSide; readonly after: PackSide },
) => Judgement

const nothing: Judge = () => judge('none', 'declines the same asks')

/** A wider condition declines more. */
function ofReach({ reach, because }: ReachChange) {
  const effects = {
    same: 'none',
    wider: 'tighter',
    narrower: 'looser',
    unknown: 'unknown',
  } as const
  return judge(effects[reach], because)
}

const scope: Judge = (before, after, sides) => {
  if (before === '') return judge('looser', 'it is limited to a list now')
  if (after === '') return judge('tighter', 'it is no longer limited to a list')
  const [was, is] = [valuesIn(sides.before.files, before), valuesIn(sides.after.files, after)]
  return judgeSets(was, is, 'the other list lacks some of it', 'the other list has all of it')
}

/** Judges the codes by which a rule declines, '' for none: a review may have one as well. */
function byCode(otherwise: string): Judge {
  return (before, after) => {
    if ((before === '') === (after === '')) return judge('none', otherwise)
    return before === ''
      ? judge('tighter', 'it declines now')
      : judge('looser', 'it declines no longer')
  }
}

/** How to judge a change of each field; an absent field is ''. */
const judges: { readonly [F in keyof RuleFile]-?: Judge } = {
  id: nothing,
  mode: (before, after) => {
    if (before === 'enforce')
      return judge('looser', `it only ${after === 'off' ? 'sleeps' : 'records'} now`)
    return after === 'enforce'
      ? judge('tighter', 'it is enforced now')
      : judge('none', 'it declined nothing')
  },
  on: (before, after) => {
    const [was, is] = [before, after].map((text) => JSON.parse(text) as string[])
    const gone = was!.filter((type) => !is!.includes(type))
    return judgeSets(was!, is!, `no longer on ${gone.join(', ')}`, 'on more asks')
  },
  when: (before, after) => ofReach(reachChange(before, after)),
  unless: (before, after) => {
    if (before === '') return judge('looser', 'an exception was added')
    if (after === '') return judge('tighter', 'the exception went')
    return ofReach(turned(reachChange(before, after)))
  },
  decline: byCode('the same asks, another code'),
  review: byCode('people look at other asks'),
  allow: (before, after) =>
    after === ''
      ? judge('tighter', 'it allows nothing')
      : judge('looser', before === '' ? 'it allows now' : 'it allows over other rules or checks'),
  tag: nothing,
  why: nothing,
  owner: nothing,
  expires: (before, after) => {
    const later = after === '' || (before !== '' && after > before)
    return later ? judge('tighter', 'it lasts longer') : judge('looser', 'it ends sooner')
  },
  cards: scope,
  customers: scope,
  organizations: scope,
  rollout: (before, after) => {
    const share = (text: string) => shareOfText(text) ?? 0
    return share(after) < share(before)
      ? judge('looser', 'enforced for fewer cards')
      : judge('tighter', 'enforced for more cards')
  },
  seeding: (_before, after) =>
    after === 'enforce'
      ? judge('tighter', 'it declines while what it looks at fills')
      : judge('looser', 'it only records while what it looks at fills'),
  breaker: (_before, after) =>
    after === ''
      ? judge('tighter', 'nothing breaks it off')
      : judge('looser', 'it may break off sooner'),
}

const allAsks = ['Authorization', 'PreAuthorization', 'CashWithdrawal']

function ruleFields(was: RuleFile, is: RuleFile, before: PackSide, after: PackSide): FieldChange[] {
  return (Object.keys(judges) as (keyof RuleFile)[]).flatMap((field) => {
    const [a, b] = [writtenOut(was, field), writtenOut(is, field)]
    if (a === b) return []
    const coded = field === 'decline' || field === 'review'
    const [from, to] = coded ? [codeOf(was), codeOf(is)] : [a, b]
    const judged = judges[field](from, to, { before, after })
    // A mode says what becomes of the rule as it was while it was enforced, or as it is now.
    const one = was.mode === 'enforce' ? was : is
    const [old, next] = field === 'mode' ? [one, one] : [was, is]
    const { effect, because } = field !== 'allow' && allows(old, next) ? reversed(judged) : judged
    const counts = field === 'mode' ? does(one) : acts(was, is)
    const told = counts ? { effect, because } : idle
    return [{ field, before: a, after: b, ...told }]
  })
}

const idle = judge('none', 'it does not decline')
const expired = judge('none', 'it has expired')

/** Whether it changes an answer before or after, being enforced in both. */
function acts(was: RuleFile, is: RuleFile): boolean {
  return was.mode === 'enforce' && is.mode === 'enforce' && (does(was) || does(is))
}

/** A rule that only tags, or approves for a review, changes no answer. */
function does(rule: RuleFile): boolean {
  return rule.allow !== undefined || codeOf(rule) !== ''
}

function codeOf({ decline, review }: RuleFile): string {
  return decline ?? (review === 'approve' ? '' : (review ?? ''))
}

/** A rule that allows loosens by whatever would make one that declines tighter. */
function allows(was: RuleFile, is: RuleFile): boolean {
  return was.allow !== undefined && is.allow !== undefined
}

function reversed({ effect, because }: Judgement): Judgement {
  if (effect === 'tighter') return judge('looser', `${because}, and it allows`)
  return effect === 'looser' ? judge('tighter', `${because}, and it allows`) : { effect, because }
}

/** The text of a field, with its default where the file leaves it out. */
function writtenOut(rule: RuleFile, field: keyof RuleFile): string {
  const { on, rollout = '100%', seeding = 'shadow', breaker } = rule
  if (field === 'on')
    return writtenText(allAsks.filter((type) => on === undefined || on.includes(type)))
  if (field === 'rollout') return rollout
  if (field === 'seeding') return seeding
  if (field !== 'breaker' || breaker === undefined) return writtenText(rule[field])
  const { minAsks = defaultMinAsks, ...rest } = breaker
  return writtenText(breaker.share === undefined ? rest : { ...rest, minAsks })
}
