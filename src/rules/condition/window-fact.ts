import type { AskFacts } from '../../domain/decide/pack.ts'
import {
  distinctAt,
  sumsAt,
  type WindowDefinition,
  type WindowSums,
} from '../../domain/decide/window.ts'
import { maxWindowMerchants } from '../../domain/record/window-state.ts'
import type { Fact, FactRange } from './fact.ts'
import { positive } from './fact-kind.ts'

interface WindowPart {
  readonly name: string
  readonly type: 'number' | 'money'
  readonly says: string
  /** null for what is not among the sums. */
  readonly read: ((sums: WindowSums) => number) | null
  readonly range: FactRange
}

/** The facts of each window: `windows.NAME.sum`. */
export const windowParts: readonly WindowPart[] = [
  {
    name: 'sum',
    type: 'money',
    says: 'Sum of the window, before this ask',
    read: (value) => value.sumMinor,
    range: positive,
  },
  {
    name: 'count',
    type: 'number',
    says: 'Number of transactions or asks in the window, before this ask',
    read: (value) => value.count,
    range: positive,
  },
  {
    name: 'distinct',
    type: 'number',
    says: `Number of merchants in the window, before this ask, where the window says distinct: true; it stays at ${maxWindowMerchants} when there are more`,
    read: null,
    range: { least: 0, most: maxWindowMerchants },
  },
]

export function factsOfWindow(definition: WindowDefinition): Fact[] {
  // The buckets of a window are added up once per ask, for all facts of the window.
  let lastAsk: AskFacts | null = null
  let last: WindowSums | null = null
  const sumsOf = (ask: AskFacts): WindowSums => {
    if (last === null || ask !== lastAsk) {
      last = sumsAt(definition, ask)
      lastAsk = ask
    }
    return last
  }
  const parts = windowParts.filter(({ name }) => name !== 'distinct' || definition.distinct)
  return parts.map(({ name, type, says, read, range }): Fact => {
    const base = {
      name: `windows.${definition.name}.${name}`,
      says,
      range,
      read: (ask: AskFacts) => (read === null ? distinctAt(definition, ask) : read(sumsOf(ask))),
      costly: true,
    } as const
    return type === 'money' ? { ...base, type, unit: 'currency' } : { ...base, type }
  })
}
