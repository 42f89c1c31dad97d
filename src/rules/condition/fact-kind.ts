import type { Comparison } from './expression.ts'
import type { Fact, FactRange, Reader } from './fact.ts'
import type { TextForm } from './text-form.ts'

export const positive: FactRange = { least: 0, most: Infinity }
export const anyAmount: FactRange = { least: -Infinity, most: Infinity }

export const text = (
  name: string,
  says: string,
  read: Reader<string>,
  form?: TextForm,
): Extract<Fact, { type: 'text' }> => ({
  name,
  type: 'text',
  says,
  read,
  ...(form === undefined ? {} : { form }),
})
export const number = (
  name: string,
  says: string,
  read: Reader<number>,
  most = Infinity,
): Fact => ({
  name,
  type: 'number',
  says,
  read,
  range: { least: 0, most },
})
export const money = (
  name: string,
  says: string,
  read: Reader<number>,
  range: FactRange = positive,
): Fact => ({
  name,
  type: 'money',
  unit: 'currency',
  says,
  read,
  range,
})
export const yesNo = (name: string, says: string, read: Reader<boolean>): Fact => ({
  name,
  type: 'yes/no',
  says,
  read,
})

export function isEquality(by: Comparison): boolean {
  return by === '==' || by === '!='
}

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
