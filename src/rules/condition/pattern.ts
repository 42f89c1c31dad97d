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

/** The steps of a compiled pattern: the library has no other way to look at them. */
interface Compiled {
  readonly re2Input: { readonly prog: { readonly inst: readonly Step[] } }
}

interface Step {
  readonly op: number
  /** Pairs of a first and a last character; one alone for a letter. */
  readonly runes: readonly number[]
}

/** Those for a class of characters, and the two for any character, in the library's numbers. */
const [ofClass, ...ofAny] = [8, 10, 11]

/** What a pattern that was checked before takes its time by. */
export interface PatternSteps {
  /** By how many it is longer than it is written: those of counted repetitions. */
  readonly repeated: number
  /**
   * Those that take any of several characters, such as . and [0-9]. Beyond a dozen of them a text has more ways
   * through than can be remembered, and each of its characters is tried at each step. A pattern with one way
   * only, from the start of the text on, has none.
   */
  readonly wide: number
}

export function stepsOf(source: string): PatternSteps {
  const compiled = RE2JS.compile(source)
  const { inst } = (compiled as unknown as Compiled).re2Input.prog
  const hasOneWay = source.startsWith('^') && !/[*+?|]|\{\d+,/.test(source)
  return {
    repeated: Math.max(0, compiled.programSize() - source.length),
    wide: hasOneWay ? 0 : inst.filter(isWide).length,
  }
}

function isWide({ op, runes }: Step): boolean {
  return ofAny.includes(op) || (op === ofClass && runes.length > 1)
}

/** A test by a pattern; a text is the fault that it has. */
export function matches(text: Text, pattern: Text): Test | string {
  if (pattern.op !== 'text') return 'matches() takes a pattern in quotes'
  const compiled = compilePattern(pattern.value)
  if (typeof compiled === 'string') return compiled
  if (text.op === 'text') return { op: 'known', value: compiled(text.value) }
  return { op: 'matches', text, pattern: pattern.value }
}
