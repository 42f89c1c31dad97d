import { z } from 'zod'
import { suggestion } from './spelling.ts'

/** An object that refuses unknown names, and suggests the one that was probably meant. */
export function strict<const T extends z.ZodRawShape>(shape: T, kind = 'a map') {
  const known = Object.keys(shape)
  return z.strictObject(shape, {
    error(issue) {
      if (issue.code === 'unrecognized_keys') {
        return issue.keys.map((key) => `is not known${suggestion(key, known)}`).join('\n')
      }
      return issue.input === undefined || issue.input === null ? 'is required' : `must be ${kind}`
    },
  })
}

/** As `explainIssue`, with what a file can be helped by. */
export function explainInFile(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'too_small' && issue.minimum === 1 && isCounted(issue)) {
    return 'must not be empty'
  }
  if (issue.code === 'too_big' && isCounted(issue)) {
    const what = issue.origin === 'string' ? 'characters' : 'entries'
    return `must have at most ${issue.maximum} ${what}`
  }
  const isBare = typeof issue.input === 'number' || typeof issue.input === 'boolean'
  const isText = issue.code === 'invalid_type' && issue.expected === 'string' && isBare
  return isText ? 'must be a text: put it in quotes' : explainIssue(issue)
}

const isCounted = ({ origin }: { readonly origin: string }) =>
  origin === 'string' || origin === 'array'

/** The fault in the words of a person who edits the file. */
export function explainIssue(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') {
    if (issue.input === undefined || issue.input === null) return 'is required'
    return `must be ${typeNames[issue.expected] ?? issue.expected}`
  }
  if (issue.code === 'invalid_value') {
    const known = issue.values.map(String)
    if (issue.input === undefined) return 'is required'
    const meant = typeof issue.input === 'string' ? suggestion(issue.input, known) : ''
    return `must be one of ${known.join(', ')}${meant}`
  }
  if (issue.code === 'invalid_key') {
    return issue.issues[0]?.message ?? 'is no name for this place'
  }
  if (issue.code === 'invalid_union') {
    if (issue.input === undefined) return 'is required'
    // No form of the union fits: the message of the first names them all.
    return issue.errors[0]?.[0]?.message
  }
  if (issue.code === 'too_big') return `must be at most ${issue.maximum}`
  if (issue.code === 'too_small') return `must be at least ${issue.minimum}`
  return undefined
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'a map',
  record: 'a map',
  array: 'a list',
}
