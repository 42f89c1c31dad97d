import { rulesLookingAt } from '../evaluate/window-use.ts'
import { isShared, type WindowFile } from '../pack/window-file.ts'
import {
  isEnforced,
  type Judgement,
  judge,
  type PackSide,
  type PartChange,
  worst,
  writtenText,
} from './change.ts'

export function diffWindows(before: PackSide, after: PackSide): PartChange[] {
  const windowsOf = ({ pack }: PackSide) =>
    new Map(pack.parts.windows.map((row): [string, WindowFile & Row] => [row.name, row]))
  const [old, next] = [windowsOf(before), windowsOf(after)]
  const names = [...new Set([...old.keys(), ...next.keys()])]
  return names.flatMap((id): PartChange[] => {
    const [was, is] = [old.get(id), next.get(id)]
    const part = { part: 'window', id, place: 'windows.yaml', fields: [] } as const
    // The rules that name the window were added or removed too, and are changes of their own.
    if (was === undefined) return [{ ...part, what: 'added', effect: 'none' }]
    if (is === undefined) return [{ ...part, what: 'removed', effect: 'none' }]
    const fields = [...new Set([...Object.keys(was), ...Object.keys(is)])].flatMap((field) => {
      const [a, b] = [writtenText(was[field]), writtenText(is[field])]
      return a === b ? [] : [{ field, before: a, after: b, ...judgeField(after, is, field) }]
    })
    if (fields.length === 0) return []
    return [{ ...part, what: 'changed', fields, effect: worst(fields.map(({ effect }) => effect)) }]
  })
}

type Row = Readonly<Record<string, unknown>>

const filters = ['where', 'mccs', 'mids', 'countries']

/** What it means that a window counts by another value of this field. */
export function judgeField(
  side: PackSide,
  { name, scope }: Pick<WindowFile, 'name' | 'scope'>,
  field: string,
): Judgement {
  const used = rulesLookingAt(side.pack, [name]).some((rule) => isEnforced(side, rule))
  if (!used) return judge('none', 'no enforced rule looks at it')
  // By another filter no window begins anew, and the log is asked only for what cards and accounts keep.
  const kept = isShared({ scope }) ? [...filters, 'over', 'distinct'] : filters
  const goesOn = kept.includes(field)
    ? ', and it goes on with what it counted before: with another name it begins anew'
    : ''
  return judge('unknown', `rules look at what it counts${goesOn}`)
}
