import type { PackFiles } from '../pack/folder.ts'
import { judge, type PackSide, type PartChange, writtenText } from './change.ts'
import { diffLists } from './list-diff.ts'
import { diffRules } from './rule-diff.ts'
import { settingsIn } from './settings.ts'
import { diffWindows } from './window-diff.ts'

export function diffPacks(before: PackSide, after: PackSide): PartChange[] {
  return [
    ...diffRules(before, after),
    ...diffLists(before, after),
    ...diffWindows(before, after),
    ...diffSwitches(before.files, after.files),
  ]
}

function diffSwitches(before: PackFiles, after: PackFiles): PartChange[] {
  const read = (files: PackFiles): Readonly<Record<string, unknown>> => settingsIn(files)
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
