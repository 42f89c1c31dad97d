import type { Remembers } from '../../domain/decide/ask-memory.ts'
import type { PackMemory } from '../../domain/decide/memory.ts'
import type { HoldAdjustmentSwitch, Pack, Switches } from '../../domain/decide/pack.ts'
import type { WindowDefinition } from '../../domain/decide/window.ts'
import { createZones, type Zone } from '../../domain/record/calendar.ts'
import type { RequestType } from '../../domain/record/event.ts'
import type { Test } from '../condition/expression.ts'
import { createFactSlots, type NumberSlot, type Places } from '../condition/fact-slots.ts'
import { factsOf } from '../condition/fact-table.ts'
import type { Rates } from '../condition/worth.ts'
import { type BreakerRow, readBreaker, writeBreaker } from '../evaluate/breaker-row.ts'
import { buildEvaluation } from '../evaluate/evaluation.ts'
import { type EvaluatedRule, enforcedOf } from '../evaluate/plan.ts'
import { holdTestsOf, type WindowFilters, withFilters } from '../evaluate/window-filter.ts'
import { abovesOf, type RuleAction } from './action.ts'
import type { CompiledPack } from './compiled-pack.ts'
import type { Steps } from './step.ts'
import {
  compileDailyWindow,
  compileWindow,
  type WindowFile,
  windowsByPlace,
} from './window-file.ts'

/**
 * A checked pack for another thread, as lines of JSON in shared memory: closures cannot be sent, so the
 * other thread makes them again line by line, without checking anything again.
 */
export type PackBytes = SharedArrayBuffer

interface Header {
  readonly version: string
  readonly zone: string
  readonly zones: Readonly<Record<string, string>>
  readonly retentionMs: number
  readonly remembers: Remembers
  readonly memories: readonly PackMemory[]
  readonly switches: Omit<Switches, 'holdAdjustments'>
  readonly places: Places
  readonly filterPlaces: Places
  readonly indexed: boolean
  readonly rates: Rates
}

/** Lists come before the windows, windows before the rules. */
type Line =
  | readonly ['list', name: string, values: readonly string[]]
  | readonly ['days', entries: readonly (readonly [string, number])[]]
  | readonly ['adjustments', entries: readonly (readonly [string, HoldAdjustmentSwitch])[]]
  | readonly ['window', WindowFile]
  | readonly ['filter', window: string, condition: Record<string, unknown>]
  | readonly ['rule', RuleRow]

type RuleRow = readonly [
  id: string,
  mode: EvaluatedRule['mode'],
  action: RuleAction,
  on: readonly RequestType[],
  key: number,
  condition: Record<string, unknown>,
  rollout: EvaluatedRule['rollout'],
  breaker: BreakerRow | null,
]

/** Lines are short, because the loop of the other thread must turn between them. */
const valuesPerLine = 500

export function bytesOfPack(pack: CompiledPack): PackBytes {
  const { parts, switches, zone } = pack
  const { holdAdjustments, ...plain } = switches
  const { byMcc } = switches.holdDays
  const header: Header = {
    version: pack.version,
    zone: zone.name,
    zones: parts.zones,
    retentionMs: pack.retentionMs,
    remembers: pack.remembers,
    memories: pack.memories ?? [],
    switches: { ...plain, holdDays: { ...switches.holdDays, byMcc: new Map() } },
    places: parts.places,
    filterPlaces: parts.filterPlaces,
    indexed: parts.plan.indexed,
    rates: parts.rates,
  }
  const used = new Set<string>()
  const rules = [...filterLines(pack, used), ...ruleLines(pack, used)]
  for (const { mccs, mids, countries } of parts.windows) {
    for (const given of [mccs, mids, countries]) if (typeof given === 'string') used.add(given)
  }
  const lines: Line[] = [
    ...[...used].flatMap((name) => {
      const values = [...(parts.lists.get(name) ?? [])]
      return portionsOf(values).map((some): Line => ['list', name, some])
    }),
    ...portionsOf([...byMcc]).map((some): Line => ['days', some]),
    ...portionsOf([...holdAdjustments]).map((some): Line => ['adjustments', some]),
    ...parts.windows.map((window): Line => ['window', window]),
  ]
  return bytesOf([JSON.stringify(header), ...lines.map((line) => JSON.stringify(line)), ...rules])
}

/** At least one portion, so that an empty list is written too. */
function portionsOf<T>(values: readonly T[]): (readonly T[])[] {
  const portions = [values.slice(0, valuesPerLine)]
  for (let at = valuesPerLine; at < values.length; at += valuesPerLine) {
    portions.push(values.slice(at, at + valuesPerLine))
  }
  return portions
}

/** Writes facts as slot indexes and lists as their names, which are added to `used`. */
function plainWriter({ parts }: CompiledPack, used: Set<string>) {
  const nameOf = new Map([...parts.lists].map(([name, values]) => [values as unknown, name]))
  return (key: string, value: unknown) => {
    if (key === 'slot') return (value as NumberSlot).index
    if (!(value instanceof Set)) return value
    const name = nameOf.get(value)
    if (name === undefined) return [...value]
    used.add(name)
    return name
  }
}

function filterLines(pack: CompiledPack, used: Set<string>): string[] {
  const plain = plainWriter(pack, used)
  return Array.from(pack.parts.filters, ([name, test]) =>
    JSON.stringify(['filter', name, { ...test }] satisfies Line, plain),
  )
}

function ruleLines(pack: CompiledPack, used: Set<string>): string[] {
  const { parts } = pack
  const plain = plainWriter(pack, used)
  return parts.plan.rules.map(({ id, mode, action, on, condition, rollout, breaker }, number) => {
    const key = parts.plan.keys[number]!
    const row: RuleRow = [
      id,
      mode,
      action,
      on,
      key,
      { ...condition },
      rollout,
      writeBreaker(breaker),
    ]
    return JSON.stringify(['rule', row] satisfies Line, plain)
  })
}

function bytesOf(lines: readonly string[]): PackBytes {
  const text = Buffer.from(`${lines.join('\n')}\n`)
  const shared = new SharedArrayBuffer(text.length)
  Buffer.from(shared).set(text)
  return shared
}

function* linesIn(bytes: PackBytes): Generator<string, void, void> {
  const buffer = Buffer.from(bytes)
  for (let at = 0; at < buffer.length; ) {
    const end = buffer.indexOf(10, at)
    yield buffer.toString('utf8', at, end)
    at = end + 1
  }
}

/** What stands in the lines after the header. */
interface ReadLines {
  readonly lists: Map<string, Set<string>>
  readonly days: Map<string, number>
  readonly adjustments: Map<string, HoldAdjustmentSwitch>
  readonly windows: WindowDefinition[]
  /** Conditions of windows, of which facts and lists are not yet restored. */
  readonly filters: Map<string, Record<string, unknown>>
  readonly rows: RuleRow[]
}

function* readLines(lines: Iterable<string>, zone: Zone): Steps<ReadLines> {
  const read: ReadLines = {
    lists: new Map(),
    days: new Map(),
    adjustments: new Map(),
    windows: [compileDailyWindow(zone)],
    filters: new Map(),
    rows: [],
  }
  for (const text of lines) {
    const line = JSON.parse(text) as Line
    switch (line[0]) {
      case 'list':
        addValues(read.lists, line[1], line[2])
        break
      case 'days':
        for (const [mcc, count] of line[1]) read.days.set(mcc, count)
        break
      case 'adjustments':
        for (const [mcc, adjustment] of line[1]) read.adjustments.set(mcc, adjustment)
        break
      case 'window':
        read.windows.push(compileWindow(line[1], zone, read.lists, []))
        break
      case 'filter':
        read.filters.set(line[1], line[2])
        break
      case 'rule':
        read.rows.push(line[1])
    }
    yield
  }
  return read
}

/** Makes the pack again, in steps that are small however large the pack is. */
export function* readPackBytes(bytes: PackBytes): Steps<Pack> {
  const lines = linesIn(bytes)
  const header = JSON.parse(lines.next().value as string) as Header
  const zone = createZones(header.zone, header.zones)
  const { lists, days, adjustments, rows, ...read } = yield* readLines(lines, zone)
  const { windows, holds } = filtered(read.windows, read.filters, header, zone, lists)
  const facts = factsOf(windows, header.rates)
  const slots = createFactSlots(zone)
  const places = slots.takePlaces(header.places, facts)
  const rules: EvaluatedRule[] = []
  for (const [id, mode, action, on, , condition, rollout, breaker] of rows) {
    restore(condition, places, lists)
    rules.push({
      id,
      mode,
      action,
      on,
      condition: condition as unknown as Test,
      rollout,
      breaker: readBreaker(id, breaker),
    })
    yield
  }
  const plan = { rules, keys: rows.map((row) => row[4]), indexed: header.indexed }
  const { switches } = header
  const evaluate = yield* buildEvaluation(plan, facts, slots)
  const pack: Pack = {
    version: header.version,
    zone,
    switches: {
      ...switches,
      holdDays: { ...switches.holdDays, byMcc: days },
      holdAdjustments: adjustments,
    },
    ...windowsByPlace(windows),
    ...holds,
    evaluate: (ask) => evaluate(ask),
    ...abovesOf(rules),
    evaluateInShadow: (ask, ids) => evaluate(ask, ids),
    ...enforcedOf(rules),
    remembers: header.remembers,
    memories: header.memories,
    retentionMs: header.retentionMs,
  }
  return pack
}

function filtered(
  windows: readonly WindowDefinition[],
  filters: ReadonlyMap<string, Record<string, unknown>>,
  { filterPlaces, rates }: Header,
  zone: Zone,
  lists: ReadonlyMap<string, ReadonlySet<string>>,
): { windows: readonly WindowDefinition[]; holds: ReturnType<typeof holdTestsOf> } {
  const slots = createFactSlots(zone)
  const places = slots.takePlaces(filterPlaces, factsOf([], rates))
  for (const condition of filters.values()) restore(condition, places, lists)
  const tests = filters as unknown as WindowFilters
  return { windows: withFilters(windows, tests, slots), holds: holdTestsOf(tests, slots) }
}

function addValues(lists: Map<string, Set<string>>, name: string, values: readonly string[]): void {
  const list = lists.get(name) ?? new Set()
  lists.set(name, list)
  for (const value of values) list.add(value)
}

/** Puts slots and lists back into a condition, in place: copies would have to be collected. */
function restore(
  node: Record<string, unknown>,
  places: readonly NumberSlot[],
  lists: ReadonlyMap<string, ReadonlySet<string>>,
): void {
  for (const key in node) {
    const value = node[key]
    if (key === 'slot') node[key] = places[value as number]
    else if (key === 'values') {
      node[key] = lists.get(value as string) ?? new Set(value as string[])
    } else if (typeof value === 'object' && value !== null) {
      restore(value as Record<string, unknown>, places, lists)
    }
  }
}
