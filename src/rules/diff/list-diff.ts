import { declineCodeOf, type RuleAction } from '../pack/action.ts'
import type { PackFiles } from '../pack/folder.ts'
import { listNameOf, parseList } from '../pack/list-file.ts'
import {
  type FieldChange,
  type Judgement,
  judge,
  type PackSide,
  type PartChange,
  worst,
} from './change.ts'
import { type ListUse, listUse } from './condition-diff.ts'

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
  const fields: FieldChange[] = []
  // A rule that was added or removed is a change of its own.
  const kept = new Set(before.pack.rules.map(({ id }) => id))
  for (const { id, mode, action, written } of after.pack.rules) {
    if (mode !== 'enforce' || !kept.has(id)) continue
    const tell = (field: string, use: ListUse) => {
      if (use === 'none') return
      const { effect, because } = judgeUse(use, action, added, removed)
      fields.push({ field: `rule ${id} ${field}`, before: '', after: '', effect, because })
    }
    tell('when', listUse(written.when, name))
    tell('unless', turnedUse[listUse(written.unless ?? 'true', name)])
    for (const scoped of ['cards', 'customers', 'organizations'] as const) {
      if (written[scoped] === name) tell(scoped, 'positive')
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
