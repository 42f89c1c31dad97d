import { dayMs } from '../../clock.ts'
import type { Remembers } from '../../domain/decide/ask-memory.ts'
import type { Excepted, PackMemory } from '../../domain/decide/memory.ts'
import type { Quantity, Test } from '../condition/expression.ts'
import { factOfSlot, type Places } from '../condition/fact-slots.ts'
import { factTable } from '../condition/fact-table.ts'
import { declineCodeOf } from './action.ts'
import { organizationOf } from './folder.ts'
import type { Rule } from './rule.ts'
import { durationMs, type WindowFile } from './window-file.ts'

/** 1: what rises makes the condition hold. -1: what falls does. 0: either may. */
type Direction = 1 | -1 | 0

type Use = readonly [slotIndex: number, direction: Direction]

const familiarMs = 30 * dayMs
const calendarMs = { day: dayMs, week: 7 * dayMs, month: 31 * dayMs, year: 366 * dayMs } as const

/** The conditions of windows, by their names, and what they look at. */
interface Filtering {
  readonly filters: ReadonlyMap<string, Test>
  readonly filterPlaces: Places
}

/** Everything that a pack keeps, each with the rules that its emptiness would set off or not except. */
export function memoriesOf(
  windows: readonly WindowFile[],
  remembers: Remembers,
  rules: readonly Rule[],
  places: Places,
  { filters, filterPlaces }: Filtering,
): PackMemory[] {
  const setOff = new Map<string, Set<string>>()
  const excepted = new Map<string, Map<string, number>>()
  const waiting = rules.filter(
    ({ mode, written }) => mode === 'enforce' && written.seeding !== 'enforce',
  )
  const declining = new Map(
    waiting.filter(({ action }) => declineCodeOf(action) !== '000').map((rule) => [rule.id, rule]),
  )
  for (const rule of waiting) {
    const names = new Set<string>()
    follow(rule.condition, 1, places, names)
    for (const name of names) setOff.set(name, (setOff.get(name) ?? new Set()).add(rule.id))
    // Set off or not, what looks at something empty does not allow what it should.
    const allowed = [...allowedBy(rule, declining)]
    if (allowed.length === 0) continue
    follow(rule.condition, 0, places, names)
    for (const name of names) {
      const ends = excepted.get(name) ?? new Map()
      excepted.set(name, ends)
      noteAllowed(ends, allowed, rule)
    }
  }

  function follow(
    test: Test,
    wanted: Direction,
    { numbers, texts }: Places,
    names: Set<string>,
  ): void {
    for (const [slotIndex, direction] of usesInTest(test, wanted)) {
      const fact = factOfSlot(numbers[slotIndex] ?? '')
      const harmless = harmlessIn(fact)
      if (direction !== harmless) names.add(memoryIn(fact))
      // A window counts too much where its condition holds for want of what is not known yet.
      const filter = filters.get(windowIn(fact))
      if (filter !== undefined) {
        follow(filter, harmless === null ? 0 : direction, filterPlaces, names)
      }
    }
    // An empty text equals none, and unequal is what rules ask of it.
    for (const index of textsIn(test)) names.add(memoryIn(texts[index] ?? ''))
  }

  const idsOf = (name: string) => {
    const ruleIds = [...(setOff.get(name) ?? [])]
    const ends = [...(excepted.get(name) ?? [])]
    return ends.length === 0 ? { ruleIds } : { ruleIds, excepted: ends.map(exceptedOf) }
  }
  const kept = (Object.keys(remembers) as (keyof Remembers)[]).filter((name) => remembers[name])
  return [
    ...windows.map((window) => ({
      key: keyOf(window),
      window: keptScopes.includes(window.scope) ? window.name : '',
      remembered: '' as const,
      fullAfterMs: lengthOf(window),
      ...idsOf(`windows.${window.name}`),
    })),
    ...kept.map((name) => ({
      key: `card ${name}`,
      window: '',
      remembered: name,
      fullAfterMs: familiarMs,
      ...idsOf(name),
    })),
  ]
}

/** Where a day ends last. */
const westernmostMs = dayMs / 2

/** By their ids, when the last rule that allows them has expired everywhere. */
function noteAllowed(ends: Map<string, number>, ids: readonly string[], { expiryDay }: Rule): void {
  const endsMs = expiryDay === null ? Number.POSITIVE_INFINITY : expiryDay * dayMs + westernmostMs
  for (const id of ids) ends.set(id, Math.max(ends.get(id) ?? 0, endsMs))
}

function exceptedOf([id, endsMs]: readonly [string, number]): Excepted {
  return endsMs === Number.POSITIVE_INFINITY ? { id } : { id, endsMs }
}

/** The declines that a rule may take away, by their ids. */
function* allowedBy({ action, on, file }: Rule, declining: ReadonlyMap<string, Rule>) {
  if (action.does !== 'allow') return
  const owner = organizationOf(file)
  for (const id of action.over === 'all' ? declining.keys() : action.over) {
    const rule = declining.get(id)
    if (rule === undefined || !rule.on.some((kind) => on.includes(kind))) continue
    if (owner === '' || ['', owner].includes(organizationOf(rule.file))) yield id
  }
}

/** Only what cards and accounts keep can be told by the log, account by account. */
const keptScopes: readonly string[] = ['card', 'account', 'card-and-merchant']

/** Filters are left out: a list that grows by one value must not begin everything anew. */
function keyOf({ name, scope, over, distinct, spread, period, firstDay }: WindowFile): string {
  const length = typeof period === 'string' ? period : period.trailing
  const values = distinct === true ? ' distinct' : distinct === false ? '' : ` distinct ${distinct}`
  const from = firstDay === undefined ? '' : ` from ${firstDay}`
  return `window ${name} ${scope} ${over}${values}${spread ? ' spread' : ''} ${length}${from}`
}

function lengthOf({ period }: WindowFile): number {
  return typeof period === 'string' ? calendarMs[period] : durationMs(period.trailing)
}

/** The window or the memory of cards behind a fact; '' for a fact that is never empty. */
function memoryIn(factName: string): string {
  const window = windowIn(factName)
  if (window !== '') return `windows.${window}`
  return factTable.find(({ name }) => name === factName)?.remembers ?? ''
}

function windowIn(factName: string): string {
  return /^windows\.([^.]+)\./.exec(factName)?.[1] ?? ''
}

/** The direction in which what is not counted yet cannot make a condition hold; null where there is none. */
function harmlessIn(factName: string): Direction | null {
  // A card that was never asked counts as asked long ago, so there emptiness is a large number.
  if (factName.startsWith('minutes_since_')) return -1
  // The average of a few may be above that of all.
  return /^windows\..*\.(average|deviation)$/.test(factName) ? null : 1
}

function textsIn(node: object): number[] {
  return Object.values(node).flatMap((part: unknown) => {
    if (typeof part !== 'object' || part === null) return []
    const { op, index } = part as { op?: string; index?: number }
    return op === 'fact' && index !== undefined ? [index] : textsIn(part)
  })
}

function usesInTest(test: Test, direction: Direction): Use[] {
  switch (test.op) {
    case 'and':
    case 'or':
      return test.parts.flatMap((part) => usesInTest(part, direction))
    case 'not':
      return usesInTest(test.part, turned(direction))
    case 'flag':
      return [[test.slot.index, direction]]
    case 'compare': {
      const { by, left, right } = test
      const rising = by === '>' || by === '>=' ? direction : turned(direction)
      const side: Direction = by === '==' || by === '!=' ? 0 : rising
      return [...usesIn(left, side), ...usesIn(right, turned(side))]
    }
    case 'amongNumbers':
      return usesIn(test.quantity, 0)
    case 'same':
      return [...usesInTest(test.left, 0), ...usesInTest(test.right, 0)]
    case 'choose':
      return [test.yes, test.no]
        .flatMap((part) => usesInTest(part, direction))
        .concat(usesInTest(test.test, 0))
    default:
      return choicesIn(test).flatMap((part) => usesInTest(part, 0))
  }
}

/** What texts are chosen by: `(merchant_seen ? last_city : "") != merchant.city`. */
function choicesIn(node: object): Test[] {
  return Object.values(node).flatMap((part: unknown) => {
    if (typeof part !== 'object' || part === null) return []
    const { op, test } = part as { op?: string; test?: Test }
    return op === 'choose' && test !== undefined ? [test, ...choicesIn(part)] : choicesIn(part)
  })
}

function usesIn(quantity: Quantity, direction: Direction): Use[] {
  switch (quantity.op) {
    case 'fact':
      return [[quantity.slot.index, direction]]
    case 'worth':
      return usesIn(quantity.of, direction)
    case '+':
      return [...usesIn(quantity.left, direction), ...usesIn(quantity.right, direction)]
    case '-':
      return [...usesIn(quantity.left, direction), ...usesIn(quantity.right, turned(direction))]
    case '*': {
      const { left, right } = quantity
      return [
        ...usesIn(left, scaledBy(right, direction)),
        ...usesIn(right, scaledBy(left, direction)),
      ]
    }
    case 'choose':
      return [quantity.yes, quantity.no]
        .flatMap((part) => usesIn(part, direction))
        .concat(usesInTest(quantity.test, 0))
    default:
      return choicesIn(quantity).flatMap((part) => usesInTest(part, 0))
  }
}

function turned(direction: Direction): Direction {
  return direction === 0 ? 0 : direction === 1 ? -1 : 1
}

function scaledBy(factor: Quantity, direction: Direction): Direction {
  if (factor.op !== 'number') return 0
  return factor.value >= 0 ? direction : turned(direction)
}
