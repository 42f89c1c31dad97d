import { expect, it } from 'vitest'
import { slips, suggestion } from '../../src/document/spelling.ts'

/** As its definition says, letter by letter from the end. */
function naiveSlips(a: string, b: string): number {
  if (a === '' || b === '') return a.length + b.length
  const [shortA, shortB] = [a.slice(0, -1), b.slice(0, -1)]
  if (a.at(-1) === b.at(-1)) return naiveSlips(shortA, shortB)
  const ways = [naiveSlips(shortA, b), naiveSlips(a, shortB), naiveSlips(shortA, shortB)]
  if (a.length > 1 && b.length > 1 && a.at(-1) === b.at(-2) && a.at(-2) === b.at(-1)) {
    ways.push(naiveSlips(a.slice(0, -2), b.slice(0, -2)))
  }
  return Math.min(...ways) + 1
}

function wordsOf(letters: string, maxLength: number): string[] {
  if (maxLength === 0) return ['']
  const shorter = wordsOf(letters, maxLength - 1)
  return [...new Set([...shorter, ...shorter.flatMap((word) => [...letters].map((l) => word + l))])]
}

it('slips are counted as far as they are asked for, between all short words', () => {
  const words = wordsOf('abc', 4)
  for (const a of words) {
    for (const b of words) {
      const all = naiveSlips(a, b)
      for (const most of [0, 1, 2, 3]) {
        if (slips(a, b, most) !== Math.min(all, most + 1)) {
          expect.fail(`${a} ${b}: ${slips(a, b, most)} of ${all}, with ${most} at most`)
        }
      }
    }
  }
})

it.each([
  ['REDIS_ULR', ': did you mean REDIS_URL?'],
  ['redis_url', ': did you mean REDIS_URL?'],
  ['RELAY_SECRT', ': did you mean RELAY_SECRET?'],
  ['REDIS_USER', ''],
  ['x'.repeat(100), ''],
])('of %s is suggested "%s"', (word, suggested) => {
  expect(suggestion(word, ['REDIS_URL', 'RELAY_SECRET'])).toBe(suggested)
})
