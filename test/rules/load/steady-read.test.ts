import { expect, it } from 'vitest'
import { readSteadily } from '../../../src/rules/load/steady-read.ts'

it.each([
  ['a folder at rest', ['old', 'old'], 'old', 2],
  ['one exchanged between two reads', ['old', 'new', 'new'], 'new', 3],
  ['one exchanged within a read', ['half', 'new', 'new'], 'new', 3],
  ['one that never rests', ['a', 'b', 'c', 'd', 'e', 'f'], 'e', 5],
])('of %s takes what was read twice alike', (_name, versions, taken, reads) => {
  let at = 0
  expect(readSteadily(() => ({ version: versions[at++]! })).version).toBe(taken)
  expect(at).toBe(reads)
})
