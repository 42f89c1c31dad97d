import { declineCodeOf, type RuleAction } from '../pack/action.ts'
import type { PackFiles } from '../pack/folder.ts'
import { listNameOf, parseList } from '../pack/list-file.ts'
import {
  type FieldChange,
  isEnforced,
  type Judgement,
  judge,
  type PackSide,
  type PartChange,
  worst,
} from './change.ts'
import { type ListUse, listUse } from './condition-diff.ts'
import { settingsIn } from './settings.ts'
import { judgeField } from './window-diff.ts'

const maxShown = 10

export function diffLists(before: PackSide, after: PackSide): PartChange[] {
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

export function valuesIn(files: PackFiles, list: string): ReadonlySet<string> {
  const file = `lists/${list}.txt`
  return parseList(file, files.get(file) ?? '', [])
}

/** The places that use the list, each with what the change does there. */
function listFields(
  name: string,
  added: number,
  removed: number,
  before: PackSide,
  after: PackSide,
): FieldChange[] {
  const { rules, parts } = after.pack
  const fields: FieldChange[] = []
  const tell = (field: string, told: Judgement) =>
    fields.push({ field, before: '', after: '', ...told })
  const useIn = (condition: string) => listUse(condition, name, parts.defined)
  // What was added or removed is a change of its own.
  const keptRules = new Set(before.pack.rules.map(({ id }) => id))
  for (const rule of rules) {
    const { id, action, written } = rule
    if (!isEnforced(after, rule) || !keptRules.has(id)) continue
    const tellRule = (field: string, use: ListUse) => {
      if (use !== 'none') tell(`rule ${id} ${field}`, judgeUse(use, action, added, removed))
    }
    tellRule('when', useIn(written.when))
    tellRule('unless', turnedUse[useIn(written.unless ?? 'true')])
    for (const scoped of ['cards', 'customers', 'organizations'] as const) {
      if (written[scoped] === name) tellRule(scoped, 'positive')
    }
  }
  const keptWindows = new Set(before.pack.parts.windows.map((window) => window.name))
  for (const window of parts.windows) {
    if (!keptWindows.has(window.name)) continue
    for (const field of ['mccs', 'mids', 'countries', 'where'] as const) {
      const { where = 'true' } = window
      const named = field === 'where' ? useIn(where) !== 'none' : window[field] === name
      if (named) tell(`window ${window.name} ${field}`, judgeField(after, window, field))
    }
  }
  const { holdDays, holdAdjustments } = settingsIn(after.files)
  const held = judge('unknown', 'money is held otherwise')
  if (name in holdDays.byMcc) tell('holdDays', held)
  const adjusts = holdAdjustments.some(
    ({ mccs, when = 'true' }) => mccs === name || useIn(when) !== 'none',
  )
  if (adjusts) tell('holdAdjustments', held)
  return fields
}

const turnedUse = {
  positive: 'negative',
  negative: 'positive',
  both: 'both',
  none: 'none',
} as const satisfies Record<ListUse, ListUse>

/** More values to decline tighten, more to allow or to except loosen. */
function judgeUse(use: ListUse, action: RuleAction, added: number, removed: number): Judgement {
  const allows = action.does === 'allow'
  if (!allows && declineCodeOf(action) === '000') return judge('none', 'its rule declines nothing')
  if (use === 'both') return judge('unknown', 'used in both senses')
  const tightens = (use === 'positive') !== allows
  const [more, fewer] = tightens
    ? (['tighter', 'looser'] as const)
    : (['looser', 'tighter'] as const)
  const effect = worst([added > 0 ? more : 'none', removed > 0 ? fewer : 'none'])
  if (use === 'negative') return judge(effect, 'used as an exception')
  return judge(effect, allows ? 'used to allow' : 'used to decline')
}
