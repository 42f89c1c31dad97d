import { openYaml } from '../../document/yaml-document.ts'
import { rulesLookingAt } from '../evaluate/window-use.ts'
import { packFile } from '../pack/file.ts'
import type { PackFiles } from '../pack/folder.ts'
import { isShared, type WindowFile, windowsFile } from '../pack/window-file.ts'
import { judge, type PackSide, type PartChange, worst, writtenText } from './change.ts'
import { diffLists } from './list-diff.ts'
import { diffRules } from './rule-diff.ts'

export function diffPacks(before: PackSide, after: PackSide): PartChange[] {
  return [
    ...diffRules(before, after),
    ...diffLists(before, after),
    ...diffWindows(before, after),
    ...diffSwitches(before.files, after.files),
  ]
}

function diffWindows(before: PackSide, after: PackSide): PartChange[] {
  const windowsOf = ({ files }: PackSide) =>
    new Map(windowsIn(files).map((row): [string, WindowFile & Row] => [row.name, row]))
  const [old, next] = [windowsOf(before), windowsOf(after)]
  const names = [...new Set([...old.keys(), ...next.keys()])]
  return names.flatMap((id): PartChange[] => {
    const [was, is] = [old.get(id), next.get(id)]
    const part = { part: 'window', id, place: 'windows.yaml', fields: [] } as const
    // The rules that name the window were added or removed too, and are changes of their own.
    if (was === undefined) return [{ ...part, what: 'added', effect: 'none' }]
    if (is === undefined) return [{ ...part, what: 'removed', effect: 'none' }]
    const used = rulesLookingAt(after.pack, [id]).some(({ mode }) => mode === 'enforce')
    const fields = [...new Set([...Object.keys(was), ...Object.keys(is)])].flatMap((field) => {
      const [a, b] = [writtenText(was[field]), writtenText(is[field])]
      const told = used
        ? judge('unknown', `rules look at what it counts${goingOn(field, is)}`)
        : judge('none', 'no enforced rule looks at it')
      return a === b ? [] : [{ field, before: a, after: b, ...told }]
    })
    if (fields.length === 0) return []
    return [{ ...part, what: 'changed', fields, effect: worst(fields.map(({ effect }) => effect)) }]
  })
}

type Row = Readonly<Record<string, unknown>>

const filters = ['where', 'mccs', 'mids', 'countries']

/** By another filter no window begins anew, and the log is asked only for what cards and accounts keep. */
function goingOn(field: string, { scope }: Pick<WindowFile, 'scope'>): string {
  const kept = isShared({ scope }) ? [...filters, 'over', 'distinct'] : filters
  if (!kept.includes(field)) return ''
  return ', and it goes on with what it counted before: with another name it begins anew'
}

/** Windows with their defaults filled in; the pack was compiled, so they have no faults. */
function windowsIn(files: PackFiles): WindowFile[] {
  return windowsFile.parse(openYaml('windows.yaml', files.get('windows.yaml') ?? '[]').value ?? [])
}

function diffSwitches(before: PackFiles, after: PackFiles): PartChange[] {
  const read = (files: PackFiles): Record<string, unknown> =>
    packFile.parse(openYaml('pack.yaml', files.get('pack.yaml') ?? '{}').value ?? {})
  const [old, next] = [read(before), read(after)]
  return [...new Set([...Object.keys(old), ...Object.keys(next)])].flatMap((id): PartChange[] => {
    const [a, b] = [writtenText(old[id]), writtenText(next[id])]
    if (a === b) return []
    const { effect, because } = judgeSwitch(id, old[id], next[id])
    const fields = [{ field: id, before: a, after: b, effect, because }]
    return [{ part: 'switch', id, what: 'changed', place: 'pack.yaml', fields, effect }]
  })
}

function judgeSwitch(id: string, before: unknown, after: unknown) {
  if (id === 'name') return judge('none', 'a name')
  if (id === 'rules' || id === 'sealed') return judge('none', 'what the folder must have')
  if (id === 'rates') return judge('unknown', 'worth() counts otherwise')
  if (id === 'define') return judge('unknown', 'rules name it')
  if (id === 'partialApproval') {
    return after === true
      ? judge('looser', 'parts are approved now')
      : judge('tighter', 'no parts are approved')
  }
  if (id === 'uncoveredRefundPerDay') {
    return Number(after ?? 0) > Number(before ?? 0)
      ? judge('looser', 'more refunded money may be spent')
      : judge('tighter', 'less refunded money may be spent')
  }
  if (id === 'standIn') {
    return after === undefined || after === null
      ? judge('tighter', 'nothing is approved from memory')
      : judge('looser', 'what is approved from memory is another')
  }
  return judge('unknown', 'money is held or booked otherwise')
}
