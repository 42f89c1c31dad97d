import type { Comparison } from './expression.ts'
import type { FactRange } from './fact.ts'

/** Whether a comparison holds for every value of the range, or for none; null when it depends. */
export function knownIn({ least, most }: FactRange, by: Comparison, value: number): boolean | null {
  const [always, never] = boundsOf(least, most, by, value)
  return always ? true : never ? false : null
}

function boundsOf(
  least: number,
  most: number,
  by: Comparison,
  value: number,
): readonly [always: boolean, never: boolean] {
  const outside = value < least || value > most
  switch (by) {
    case '==':
      return [false, outside]
    case '!=':
      return [outside, false]
    case '>=':
      return [value <= least, value > most]
    case '>':
      return [value < least, value >= most]
    case '<=':
      return [value >= most, value < least]
    case '<':
      return [value > most, value <= least]
  }
}
