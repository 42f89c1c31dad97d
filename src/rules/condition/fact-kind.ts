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
