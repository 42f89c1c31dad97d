import { expect, it } from 'vitest'
import { addWriting, encodeCounts, isWrittenBy } from '../../../src/engine/shared/record.ts'

const key = 'merchant·M1","x'

it('a record names its last eight writings, each once, and grows no more', () => {
  let value: string | null = null
  const write = (name: string) => {
    value = encodeCounts(key, {}, addWriting(value, name))
    return value.length
  }
  const lengths = ['a1', 'b-', 'a1', '_c', 'd4', 'e5', 'f6', 'g7', 'h8', 'i9', 'j0'].map(write)
  const named = ['a1', 'b-', '_c', 'd4', 'e5', 'f6', 'g7', 'h8', 'i9', 'j0'].map((name) =>
    isWrittenBy(value, name),
  )
  expect(named).toEqual([false, false, ...Array(8).fill(true)])
  expect(lengths.at(-1)).toBe(lengths.at(-2))
  expect(
    ['', 'a', 'x', 'i9 j0'].map((name) => isWrittenBy(encodeCounts(key, {}, 'a1'), name)),
  ).toEqual(Array(4).fill(false))
})
