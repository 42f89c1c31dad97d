import type { ResponseCode } from './response-code.ts'

/** Why the default decision was used. */
export const causes = [
  'deadline',
  'engineDown',
  'overload',
  'storeUnavailable',
  'starting',
  'damaged',
] as const
export type Cause = (typeof causes)[number]

/** Why an advice could not be booked safely and waits for people. */
export const unmatchedCauses = [
  'unknown card',
  'other currency',
  'other content',
  'too old',
  'too large',
  'other organization',
] as const
export type UnmatchedCause = (typeof unmatchedCauses)[number]

/** The content of a reply; with the event's own ids it makes the same bytes every time. */
export interface Answer {
  readonly code: ResponseCode
  readonly decidedBy: 'engine' | 'default'
  readonly cause: Cause | ''
  readonly ruleId: string
  readonly approvedAmountMinor: number | null
  readonly rulesVersion: string
}

/**
 * One message, kept to answer its duplicates. An ask's effect is in the sums if and only if `claims`
 * is not empty: a claim is a delivery that was, or is about to be, told approve.
 */
export interface EventRecord {
  readonly contentHash: string
  readonly answer: Answer
  readonly claims: readonly string[]
  /** A declined ask whose reversal came first: its addition stands in the sums and nets to nothing. */
  readonly absorbed: boolean
  readonly unmatched: UnmatchedCause | ''
  readonly atMs: number
}

/** The record of what a person did once: found again, it is not done again. */
export function doneRecord(contentHash: string, rulesVersion: string, atMs: number): EventRecord {
  const answer = {
    code: '000',
    decidedBy: 'engine',
    cause: '',
    ruleId: '',
    approvedAmountMinor: null,
    rulesVersion,
  } as const
  return { contentHash, answer, claims: [], absorbed: false, unmatched: '', atMs }
}

/** With this many deliveries told approve, the ask stands for good: `forGood` is never removed. */
export const maxClaims = 32
export const forGood = '*'
