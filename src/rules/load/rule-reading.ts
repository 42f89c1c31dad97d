import { suggestion } from '../../document/spelling.ts'
import type { FileFault, YamlDocument } from '../../document/yaml-document.ts'
import type { Vocabulary } from '../condition/vocabulary.ts'
import { declineCodeOf } from '../pack/action.ts'
import type { PackFiles } from '../pack/folder.ts'
import { checkRule, type Rule } from '../pack/rule.ts'
import { maxRules, ruleList } from '../pack/rule-file.ts'
import { openPackFile } from './pack-document.ts'

/** Checks the rules of all files, in their order, and adds what is wrong with them. */
export function readRules(files: PackFiles, vocabulary: Vocabulary, faults: FileFault[]): Rule[] {
  const rules: Rule[] = []
  const places = new Map<string, string>()
  for (const file of files.keys()) {
    if (!file.endsWith('.rules.yaml')) continue
    const document = openPackFile(files, file, faults)
    if (document === null) continue
    const given = document.parse(ruleList, document.value, []) ?? []
    for (const [at, one] of given.entries()) {
      checkId(one, at, document, file, places)
      const rule = checkRule(one, at, document, file, vocabulary)
      if (rule !== null) rules.push(rule)
    }
    if (rules.length > maxRules) document.fault([], `the pack has more than ${maxRules} rules`)
    faults.push(...document.faults)
  }
  if (faults.length === 0) faults.push(...strayAllowances(rules))
  return rules
}

/** Ids in `allow` of rules that are not there, or that decline nothing: a slip would allow nothing. */
function strayAllowances(rules: readonly Rule[]): FileFault[] {
  const declining = new Set(
    rules.filter(({ action }) => declineCodeOf(action) !== '000').map(({ id }) => id),
  )
  return rules.flatMap(({ id, action, file, line }) => {
    if (action.does !== 'allow' || action.over === 'all') return []
    const wrong = action.over.filter((over) => !declining.has(over))
    return wrong.map((over) => {
      const meant = suggestion(over, declining)
      const isThere = rules.some((rule) => rule.id === over)
      const why = isThere ? 'which declines nothing' : 'and there is no such rule'
      return { file, line, column: 1, message: `${id} allows over ${over}, ${why}${meant}` }
    })
  })
}

function checkId(
  rule: unknown,
  at: number,
  document: YamlDocument,
  file: string,
  places: Map<string, string>,
): void {
  const id = (rule as { id?: unknown } | null)?.id
  if (typeof id !== 'string') return
  const other = places.get(id)
  if (other === undefined) places.set(id, `${file}:${document.placeOf([at, 'id']).line}`)
  else document.fault([at, 'id'], `${id} is the id of the rule at ${other}`)
}
