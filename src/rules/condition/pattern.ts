import { RE2JS } from 're2js'
import type { Test, Text } from './expression.ts'

/** A pattern that takes time by its steps and the length of the text, whatever the text is. */
export type Pattern = (text: string) => boolean

const maxPatternChars = 200
/** As many as RE2 takes of one repetition: a thousand take milliseconds to compile, 19 of them 300. */
const maxRepeats = 1000

/** Compiles an RE2 pattern; a text is the fault that it has. */
export function compilePattern(source: string): Pattern | string {
  if (source.length > maxPatternChars) {
    return `is a pattern of more than ${maxPatternChars} characters`
  }
  if (repeatsOf(source) > maxRepeats) {
    return `is a pattern whose counted repetitions add up to more than ${maxRepeats}`
  }
  try {
    const pattern = RE2JS.compile(source)
    return (text) => pattern.test(text)
  } catch (error) {
    const message = (error as Error).message.replace(/^error parsing regexp: /, '')
    return `is no RE2 pattern: ${message}`
  }
}

/** The sum of what counted repetitions, such as {4} and {0,40}, repeat at most; {4,} as 4. */
function repeatsOf(source: string): number {
  const counts = source.matchAll(/\{(\d+)(?:,(\d*))?\}/g)
  return Array.from(counts, ([, least, most]) => Number(most || least)).reduce((a, b) => a + b, 0)
}

/** By how many steps a checked pattern is longer than it is written: those of counted repetitions. */
export function repeatedSteps(source: string): number {
  return Math.max(0, RE2JS.compile(source).programSize() - source.length)
}

/** A test by a pattern; a text is the fault that it has. */
export function matches(text: Text, pattern: Text): Test | string {
  if (pattern.op !== 'text') return 'matches() takes a pattern in quotes'
  const compiled = compilePattern(pattern.value)
  if (typeof compiled === 'string') return compiled
  if (text.op === 'text') return { op: 'known', value: compiled(text.value) }
  return { op: 'matches', text, pattern: pattern.value }
}
