import { openYaml } from '../../document/yaml-document.ts'
import type { CompiledPack } from './compiled-pack.ts'
import { type ListUse, listUse, type ReachChange, reachChange, turned } from './condition-diff.ts'
import { packFile } from './file.ts'
import type { PackFiles } from './folder.ts'
import { listNameOf, parseList } from './list-file.ts'
import { shareOfText } from './rollout.ts'
import { defaultMinAsks, type Rule } from './rule.ts'
import type { RuleFile } from './rule-file.ts'
import { type WindowFile, windowsFile } from './window-file.ts'

/** What a change does to the asks that are declined; `unknown` cannot be told, and counts as looser. */
export type Effect = 'tighter' | 'looser' | 'none' | 'unknown'

export interface FieldChange {
  readonly field: string
  readonly before: string
  readonly after: string
  readonly effect: Effect
  readonly because: string
}

export interface PartChange {
  readonly part: 'rule' | 'list' | 'window' | 'switch'
  readonly id: string
  readonly what: 'added' | 'removed' | 'changed'
  /** Where it is now, or where it was. */
  readonly place: string
  readonly fields: readonly FieldChange[]
  readonly effect: Effect
  /** Of lists: how many values came and went, and the first of them. */
  readonly values?: ListChange
}

export interface ListChange {
  readonly added: number
  readonly removed: number
  readonly before: number
  readonly after: number
  readonly firstAdded: readonly string[]
  readonly firstRemoved: readonly string[]
}

/** One side of a comparison. */
export interface PackSide {
  readonly files: PackFiles
  readonly pack: CompiledPack
}

export function diffPacks(before: PackSide, after: PackSide): PartChange[] {
  return [
    ...diffRules(before, after),
    ...diffLists(before, after),
    ...diffWindows(before, after),
    ...diffSwitches(before.files, after.files),
  ]
}

export function loosens({ effect }: { readonly effect: Effect }): boolean {
  return effect === 'looser' || effect === 'unknown'
}

/** The worst of several: one that loosens is not made up for by one that tightens. */
function worst(effects: readonly Effect[]): Effect {
  for (const effect of ['looser', 'unknown', 'tighter'] as const) {
    if (effects.includes(effect)) return effect
  }
  return 'none'
}

function diffRules(before: PackSide, after: PackSide): PartChange[] {
  const [old, next] = [before, after].map(
    ({ pack }) => new Map(pack.rules.map((rule) => [rule.id, rule])),
  ) as [Map<string, Rule>, Map<string, Rule>]
  const ids = [...new Set([...old.keys(), ...next.keys()])]
  return ids.flatMap((id) => {
    const [was, is] = [old.get(id), next.get(id)]
    if (was === undefined) return [whole(is!, 'added', 'tighter')]
    if (is === undefined) return [whole(was, 'removed', 'looser')]
    const fields = ruleFields(was.written, is.written, before, after)
    if (fields.length === 0) return []
    const effect = worst(fields.map((field) => field.effect))
    const place = `${is.file}:${is.line}`
    return [{ part: 'rule', id, what: 'changed', place, fields, effect } as const]
  })
}

/** A rule that does not decline changes nothing by coming or going. */
function whole(rule: Rule, what: 'added' | 'removed', effect: Effect): PartChange {
  const { id, mode, file, line } = rule
  const place = `${file}:${line}`
  return { part: 'rule', id, what, place, fields: [], effect: mode === 'enforce' ? effect : 'none' }
}

type Judge = (
  before: string,
  after: string,
  sides: { readonly before: PackSide; readonly after: PackSide },
) => { readonly effect: Effect; readonly because: string }

const says = (effect: Effect, because: string) => ({ effect, because })
const nothing: Judge = () => says('none', 'declines the same asks')

/** A wider condition declines more. */
function ofReach({ reach, because }: ReachChange) {
  const effects = {
    same: 'none',
    wider: 'tighter',
    narrower: 'looser',
    unknown: 'unknown',
  } as const
  return says(effects[reach], because)
}

const scope: Judge = (before, after, sides) => {
  if (before === '') return says('looser', 'it is limited to a list now')
  if (after === '') return says('tighter', 'it is no longer limited to a list')
  const [was, is] = [valuesIn(sides.before.files, before), valuesIn(sides.after.files, after)]
  if ([...was].every((value) => is.has(value)))
    return says('tighter', 'the other list has all of it')
  return says('looser', 'the other list lacks some of it')
}

/** How each field of a rule tells; those that are absent are ''. */
const judges: { readonly [F in keyof RuleFile]-?: Judge } = {
  id: nothing,
  mode: (before, after) => {
    if (before === 'enforce')
      return says('looser', `it only ${after === 'off' ? 'sleeps' : 'records'} now`)
    return after === 'enforce'
      ? says('tighter', 'it is enforced now')
      : says('none', 'it declined nothing')
  },
  on: (before, after) => {
    const types = (text: string) => new Set(JSON.parse(text) as string[])
    const [was, is] = [types(before), types(after)]
    const gone = [...was].filter((type) => !is.has(type))
    return gone.length > 0
      ? says('looser', `no longer on ${gone.join(', ')}`)
      : says('tighter', 'on more asks')
  },
  when: (before, after) => ofReach(reachChange(before, after)),
  unless: (before, after) => {
    if (before === '') return says('looser', 'an exception was added')
    if (after === '') return says('tighter', 'the exception went')
    return ofReach(turned(reachChange(before, after)))
  },
  decline: () => says('none', 'the same asks, another code'),
  why: nothing,
  owner: nothing,
  expires: (before, after) => {
    const later = after === '' || (before !== '' && after > before)
    return later ? says('tighter', 'it lasts longer') : says('looser', 'it ends sooner')
  },
  cards: scope,
  customers: scope,
  organizations: scope,
  rollout: (before, after) => {
    const share = (text: string) => shareOfText(text) ?? 0
    return share(after) < share(before)
      ? says('looser', 'enforced for fewer cards')
      : says('tighter', 'enforced for more cards')
  },
  breaker: (_before, after) =>
    after === ''
      ? says('tighter', 'nothing breaks it off')
      : says('looser', 'it may break off sooner'),
}

const allAsks = ['Authorization', 'PreAuthorization', 'CashWithdrawal']

function ruleFields(was: RuleFile, is: RuleFile, before: PackSide, after: PackSide): FieldChange[] {
  const declines = was.mode === 'enforce' && is.mode === 'enforce'
  return (Object.keys(judges) as (keyof RuleFile)[]).flatMap((field) => {
    const [a, b] = [writtenOut(was, field), writtenOut(is, field)]
    if (a === b) return []
    const { effect, because } = judges[field](a, b, { before, after })
    const counts = declines || field === 'mode'
    const told = counts ? { effect, because } : says('none', 'it does not decline')
    return [{ field, before: a, after: b, ...told }]
  })
}

/** What a field says, also where the file leaves it to its default. */
function writtenOut(rule: RuleFile, field: keyof RuleFile): string {
  const { on, rollout = '100%', breaker } = rule
  if (field === 'on') return textOf(allAsks.filter((type) => on === undefined || on.includes(type)))
  if (field === 'rollout') return rollout
  if (field !== 'breaker' || breaker === undefined) return textOf(rule[field])
  const { minAsks = defaultMinAsks, ...rest } = breaker
  return textOf(breaker.share === undefined ? rest : { ...rest, minAsks })
}

function textOf(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const maxShown = 10

function diffLists(before: PackSide, after: PackSide): PartChange[] {
  const names = new Set(
    [...before.files.keys(), ...after.files.keys()].flatMap((file) => listNameOf(file) ?? []),
  )
  return [...names].sort().flatMap((name): PartChange[] => {
    const [was, is] = [valuesIn(before.files, name), valuesIn(after.files, name)]
    const added = [...is].filter((value) => !was.has(value))
    const removed = [...was].filter((value) => !is.has(value))
    const place = `lists/${name}.txt`
    const [had, has] = [before.files.has(place), after.files.has(place)]
    if (added.length === 0 && removed.length === 0 && had === has) return []
    const what = !had ? 'added' : !has ? 'removed' : 'changed'
    const fields = listFields(name, added.length, removed.length, before, after)
    const values = {
      added: added.length,
      removed: removed.length,
      before: was.size,
      after: is.size,
      firstAdded: added.slice(0, maxShown),
      firstRemoved: removed.slice(0, maxShown),
    }
    const effect = worst(fields.map((field) => field.effect))
    return [{ part: 'list', id: name, what, place, fields, effect, values }]
  })
}

function valuesIn(files: PackFiles, list: string): ReadonlySet<string> {
  const file = `lists/${list}.txt`
  return parseList(file, files.get(file) ?? '', [])
}

/** Where the list is used, before and after, and what its change does there. */
function listFields(
  name: string,
  added: number,
  removed: number,
  before: PackSide,
  after: PackSide,
): FieldChange[] {
  const fields: FieldChange[] = []
  const tell = (field: string, use: ListUse) => {
    if (use === 'none') return
    const more: Effect = use === 'positive' ? 'tighter' : use === 'negative' ? 'looser' : 'unknown'
    const fewer: Effect = use === 'positive' ? 'looser' : use === 'negative' ? 'tighter' : 'unknown'
    const effect = worst([added > 0 ? more : 'none', removed > 0 ? fewer : 'none'])
    const because =
      use === 'both'
        ? 'used in both senses'
        : `used ${use === 'positive' ? 'to decline' : 'as an exception'}`
    fields.push({ field, before: '', after: '', effect, because })
  }
  // A rule that came or went with its use of the list is told by itself.
  const kept = new Set(before.pack.rules.map(({ id }) => id))
  for (const { id, mode, written } of after.pack.rules) {
    if (mode !== 'enforce' || !kept.has(id)) continue
    tell(`rule ${id} when`, listUse(written.when, name))
    const exception = listUse(written.unless ?? 'true', name)
    tell(
      `rule ${id} unless`,
      exception === 'positive' ? 'negative' : exception === 'negative' ? 'positive' : exception,
    )
    for (const scoped of ['cards', 'customers', 'organizations'] as const) {
      if (written[scoped] === name) tell(`rule ${id} ${scoped}`, 'positive')
    }
  }
  for (const file of ['windows.yaml', 'pack.yaml']) {
    const named = new RegExp(`\\b${name}\\b`).test(after.files.get(file) ?? '')
    if (named)
      fields.push({
        field: file,
        before: '',
        after: '',
        effect: 'unknown',
        because: 'counts or holds by it',
      })
  }
  return fields
}

function diffWindows(before: PackSide, after: PackSide): PartChange[] {
  const windowsOf = ({ files }: PackSide) =>
    new Map(windowsIn(files).map((row): [string, Record<string, unknown>] => [row.name, row]))
  const [old, next] = [windowsOf(before), windowsOf(after)]
  const names = [...new Set([...old.keys(), ...next.keys()])]
  return names.flatMap((id): PartChange[] => {
    const [was, is] = [old.get(id), next.get(id)]
    const part = { part: 'window', id, place: 'windows.yaml', fields: [] } as const
    // Rules that name a window come and go with it, and are told by themselves.
    if (was === undefined) return [{ ...part, what: 'added', effect: 'none' }]
    if (is === undefined) return [{ ...part, what: 'removed', effect: 'none' }]
    const used = after.pack.rules.some(
      ({ mode, written }) =>
        mode === 'enforce' && `${written.when} ${written.unless ?? ''}`.includes(`windows.${id}.`),
    )
    const told = used
      ? says('unknown', 'rules look at what it counts')
      : says('none', 'no enforced rule looks at it')
    const fields = [...new Set([...Object.keys(was), ...Object.keys(is)])].flatMap((field) => {
      const [a, b] = [textOf(was[field]), textOf(is[field])]
      return a === b ? [] : [{ field, before: a, after: b, ...told }]
    })
    if (fields.length === 0) return []
    return [{ ...part, what: 'changed', fields, effect: worst(fields.map(({ effect }) => effect)) }]
  })
}

/** As they count, defaults and all; the pack was compiled, so nothing is wrong with them. */
function windowsIn(files: PackFiles): WindowFile[] {
  return windowsFile.parse(openYaml('windows.yaml', files.get('windows.yaml') ?? '[]').value ?? [])
}

function diffSwitches(before: PackFiles, after: PackFiles): PartChange[] {
  const read = (files: PackFiles): Record<string, unknown> =>
    packFile.parse(openYaml('pack.yaml', files.get('pack.yaml') ?? '{}').value ?? {})
  const [old, next] = [read(before), read(after)]
  return [...new Set([...Object.keys(old), ...Object.keys(next)])].flatMap((id): PartChange[] => {
    const [a, b] = [textOf(old[id]), textOf(next[id])]
    if (a === b) return []
    const { effect, because } = judgeSwitch(id, old[id], next[id])
    const fields = [{ field: id, before: a, after: b, effect, because }]
    return [{ part: 'switch', id, what: 'changed', place: 'pack.yaml', fields, effect }]
  })
}

function judgeSwitch(id: string, before: unknown, after: unknown) {
  if (id === 'name') return says('none', 'a name')
  if (id === 'partialApproval') {
    return after === true
      ? says('looser', 'parts are approved now')
      : says('tighter', 'no parts are approved')
  }
  if (id === 'uncoveredRefundPerDay') {
    return Number(after ?? 0) > Number(before ?? 0)
      ? says('looser', 'more refunded money may be spent')
      : says('tighter', 'less refunded money may be spent')
  }
  if (id === 'standIn') {
    return after === undefined || after === null
      ? says('tighter', 'nothing is approved from memory')
      : says('looser', 'what is approved from memory is another')
  }
  return says('unknown', 'money is held or booked otherwise')
}
