import type { FileFault, YamlDocument } from '../../document/yaml-document.ts'
import { dayText } from '../../domain/record/calendar.ts'
import { among, compareText, isAlways, isNever, join, type Test } from '../condition/expression.ts'
import { askTypes, type Fact } from '../condition/fact.ts'
import type { Vocabulary } from '../condition/vocabulary.ts'
import { abovesOf } from '../pack/action.ts'
import { organizationOf } from '../pack/folder.ts'
import type { Rule } from '../pack/rule.ts'
import type { WindowFile } from '../pack/window-file.ts'
import { isContradiction } from './contradiction.ts'

/** The windows of a pack, as they are written, and what their `where` says. */
interface Windows {
  readonly windows: readonly WindowFile[]
  readonly filters: ReadonlyMap<string, Test>
}

/** What is hardly meant: a pack with it is taken all the same. */
export function warningsOf(
  rules: readonly Rule[],
  expired: ReadonlySet<string>,
  vocabulary: Vocabulary,
  document: YamlDocument | null,
  written: Windows,
): FileFault[] {
  const ofWindows = windowWarnings(document, written, vocabulary)
  return [...ofWindows, ...ruleWarnings(rules, vocabulary, expired)]
}

function ruleWarnings(
  rules: readonly Rule[],
  vocabulary: Vocabulary,
  expired: ReadonlySet<string>,
): FileFault[] {
  const whole = meetingOf(rules, vocabulary)
  return rules.flatMap((rule) => {
    const { id, mode, on, condition, expiryDay, file, line } = rule
    const warn = (message: string) => [{ file, line, column: 1, message: `${id} ${message}` }]
    if (mode === 'off') return []
    if (expired.has(id)) return warn(`is off: it expired on ${dayText(expiryDay!)}`)
    // All asks of one kind are what a rule may be about.
    if (isAlways(condition)) return on.length < askTypes.length ? [] : warn('always matches')
    if (isNever(condition)) return warn('never matches')
    if (isContradiction(condition))
      return warn(
        'never matches: its parts exclude each other, or lower() is compared with capitals',
      )
    if (isContradiction(whole(rule)))
      return warn('never matches: no ask that it is about comes to the rules like this')
    return foreignAllowances(rule, rules).flatMap((over) =>
      warn(`allows over ${over}, which is another organization's: it takes nothing away`),
    )
  })
}

/** The condition with what holds of every ask that comes to the rule: its kind, and a card that may pay. */
function meetingOf(rules: readonly Rule[], { facts, slots }: Vocabulary): (rule: Rule) => Test {
  const textOf = (name: string) => {
    const index = slots.textOf(facts.get(name) as Extract<Fact, { type: 'text' }>)
    return { op: 'fact', index } as const
  }
  const stays = slots.uses('card.status') && abovesOf(rules)?.above.has('frozen') !== true
  const notFrozen = stays
    ? [compareText('!=', textOf('card.status'), { op: 'text', value: 'Frozen' })]
    : []
  return ({ condition, on }) => {
    const kinds = slots.uses('requestType') ? [among(textOf('requestType'), new Set(on))] : []
    return join('and', [condition, ...kinds, ...notFrozen])
  }
}

/** The rules of other organizations that an organization's own rule names in `allow`. */
function foreignAllowances({ action, file }: Rule, rules: readonly Rule[]): string[] {
  const owner = organizationOf(file)
  if (action.does !== 'allow' || action.over === 'all' || owner === '') return []
  const { over } = action
  const others = rules.filter((rule) => !['', owner].includes(organizationOf(rule.file)))
  return others.map(({ id }) => id).filter((id) => over.includes(id))
}

/** The texts of which there is one in all that a window counts together. */
const oneInScope: Readonly<Record<WindowFile['scope'], readonly string[]>> = {
  card: ['card.id', 'card.customerId', 'account.id', 'account.organizationId'],
  account: ['account.id', 'account.organizationId'],
  'card-and-merchant': [],
  merchant: ['merchant.mid'],
  customer: ['card.customerId'],
  organization: ['account.organizationId'],
  mcc: ['merchant.mcc'],
  country: ['merchant.country'],
}

/** Windows that never count anything, or never more than one. */
function windowWarnings(
  document: YamlDocument | null,
  { windows, filters }: Windows,
  { lists }: Vocabulary,
): FileFault[] {
  if (document === null) return []
  return windows.flatMap((window, i) => {
    const { name, scope, distinct } = window
    const problems: string[] = []
    for (const field of ['mccs', 'mids', 'countries'] as const) {
      const given = window[field]
      const values = typeof given === 'string' ? [...(lists.get(given) ?? [])] : given
      if (values?.length === 0) problems.push(`never counts: its ${field} are none`)
    }
    const where = filters.get(name)
    if (where !== undefined && (isNever(where) || isContradiction(where)))
      problems.push('never counts: its where never holds')
    const counted = distinct === true ? 'merchant.mid' : distinct
    if (counted !== false && oneInScope[scope].includes(counted))
      problems.push(`has one ${counted} in each ${scope}: its distinct is never above 1`)
    const { line, column } = document.placeOf([i])
    return problems.map((problem) => {
      return { file: 'windows.yaml', line, column, message: `${name} ${problem}` }
    })
  })
}
