import type { AskFacts } from '../../domain/decide/pack.ts'
import {
  averageOf,
  distinctAt,
  spreadAt,
  sumsAt,
  type WindowDefinition,
  type WindowSums,
} from '../../domain/decide/window.ts'
import { maxDistinct } from '../../domain/record/value-sketch.ts'
import { maxWindowMerchants } from '../../domain/record/window-state.ts'
import type { Fact, FactRange } from './fact.ts'
import { positive } from './fact-kind.ts'

interface WindowPart {
  readonly name: string
  readonly type: 'number' | 'money'
  readonly says: string
  /** Whether a window tells it. */
  readonly isKept: (definition: WindowDefinition) => boolean
  /** The buckets of a window are added up once per ask, for all facts of the window. */
  readonly read: (
    sumsOf: (ask: AskFacts) => WindowSums,
    definition: WindowDefinition,
  ) => (ask: AskFacts) => number
  readonly range: FactRange
  readonly exactTo?: number
}

const always = () => true

/** The facts of each window: `windows.NAME.sum`. */
export const windowParts: readonly WindowPart[] = [
  {
    name: 'sum',
    type: 'money',
    says: 'Sum of the window, before this ask',
    isKept: always,
    read: (sumsOf) => (ask) => sumsOf(ask).sumMinor,
    range: positive,
  },
  {
    name: 'count',
    type: 'number',
    says: 'Number of transactions or asks in the window, before this ask',
    isKept: always,
    read: (sumsOf) => (ask) => sumsOf(ask).count,
    range: positive,
  },
  {
    name: 'distinct',
    type: 'number',
    says: `Number of different merchants, or values of the field that \`distinct\` of the window names; exact up to ${maxWindowMerchants}, an estimate above, which stays at ${maxDistinct}`,
    isKept: ({ distinct }) => distinct,
    read: (_sumsOf, definition) => (ask) => distinctAt(definition, ask),
    range: { least: 0, most: maxDistinct },
    exactTo: maxWindowMerchants,
  },
  {
    name: 'average',
    type: 'money',
    says: 'Sum by count, to the nearest minor unit; 0 when there is none',
    isKept: always,
    read: (sumsOf) => (ask) => averageOf(sumsOf(ask)),
    range: positive,
  },
  {
    name: 'deviation',
    type: 'money',
    says: 'Standard deviation of what was counted, to the nearest minor unit, where the window says spread: true; a transaction is one amount, however often it grew',
    isKept: ({ spread }) => spread,
    read: (_sumsOf, definition) => (ask) => spreadAt(definition, ask).deviationMinor,
    range: positive,
  },
  {
    name: 'max',
    type: 'money',
    says: 'Largest amount that was counted, where the window says spread: true; a reversal does not lower it, and what a transaction grew by a sixtieth of the window later stands by itself',
    isKept: ({ spread }) => spread,
    read: (_sumsOf, definition) => (ask) => spreadAt(definition, ask).maxMinor,
    range: positive,
  },
]

export function factsOfWindow(definition: WindowDefinition): Fact[] {
  let lastAsk: AskFacts | null = null
  let last: WindowSums | null = null
  const sumsOf = (ask: AskFacts): WindowSums => {
    if (last === null || ask !== lastAsk) {
      last = sumsAt(definition, ask)
      lastAsk = ask
    }
    return last
  }
  const parts = windowParts.filter(({ isKept }) => isKept(definition))
  return parts.map(({ name, type, says, read, range, exactTo }): Fact => {
    const base = {
      name: `windows.${definition.name}.${name}`,
      says,
      range,
      read: read(sumsOf, definition),
      costly: true,
      ...(exactTo !== undefined && { exactTo }),
    } as const
    return type === 'money' ? { ...base, type, unit: 'currency' } : { ...base, type }
  })
}
