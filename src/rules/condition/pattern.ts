import { RE2JS } from 're2js'
import type { Test, Text } from './expression.ts'

/** A pattern that takes time by its steps and the length of the text, whatever the text is. */
export type Pattern = (text: string) => boolean

const maxPatternChars = 200

/** Compiles an RE2 pattern; a text is the fault that it has. */
export function compilePattern(source: string): Pattern | string {
  if (source.length > maxPatternChars) {
    return `is a pattern of more than ${maxPatternChars} characters`
  }
  try {
    const pattern = RE2JS.compile(source)
    return (text) => pattern.test(text)
  } catch (error) {
    const message = (error as Error).message.replace(/^error parsing regexp: /, '')
    return `is no RE2 pattern: ${message}`
  }
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
