import { InvalidArgumentError, Option } from 'commander'
import { dayMs } from '../clock.ts'
import { filledText, givenText } from '../management/given-text.ts'
import { referencePattern } from '../management/id.ts'

const maxReasonChars = 500
const maxNameChars = 100
const narration = givenText(200)

/** Throws what commander turns into a usage error that names the argument. */
function checked(text: string, pattern: RegExp, must: string): string {
  if (!pattern.test(text)) throw new InvalidArgumentError(`It must be ${must}.`)
  return text
}

export function readId(text: string): string {
  return checked(text, /^[\x20-\x7e]{1,64}$/, '1 to 64 printable ASCII characters')
}

export function readCallReference(text: string): string {
  return checked(text, referencePattern, '1 to 30 visible ASCII characters without &')
}

export function readMcc(text: string): string {
  return checked(text, /^\d{4}$/, 'four digits')
}

export function readAmount(text: string): string {
  return checked(text, /^\d+(\.\d+)?$/, 'an amount such as 12.50')
}

export function readSignedAmount(text: string): string {
  return checked(text, /^[+-]?\d+(\.\d+)?$/, 'an amount such as 12.50 or -12.50')
}

export function readLimit(text: string): string {
  return checked(text, /^(none|\d+(\.\d+)?)$/, 'an amount such as 500.00, or none')
}

export function readCount(text: string): number {
  return Number(checked(text, /^\d{1,7}$/, 'a whole number up to 9999999'))
}

/** Of what none would be a wrong question: a list of nothing would say that there is nothing. */
export function readSize(text: string): number {
  return Number(checked(text, /^0*[1-9]\d{0,6}$/, 'a whole number from 1 to 9999999'))
}

function readReason(text: string): string {
  const reason = text.trim()
  if (reason === '') throw new InvalidArgumentError('It must not be empty.')
  if (reason.length > maxReasonChars) {
    throw new InvalidArgumentError(`It must have at most ${maxReasonChars} characters.`)
  }
  return reason
}

/** The name of somebody, for people. */
export function readName(text: string): string {
  const read = filledText(maxNameChars).safeParse(text)
  if (read.success) return read.data
  throw new InvalidArgumentError(
    `It must have 1 to ${maxNameChars} characters, and no control characters.`,
  )
}

/** What money is for, bounded as where the API takes it. */
export function readNarration(text: string): string {
  if (narration.safeParse(text).success) return text
  throw new InvalidArgumentError('It must have at most 200 characters, and no control characters.')
}

/** Every change that a person makes has a reason, which the log keeps. */
export function reasonOption(): Option {
  return new Option('--reason <text>', 'why, for the log')
    .argParser(readReason)
    .makeOptionMandatory()
}

const unitsMs = { s: 1000, m: 60_000, h: 3_600_000, d: dayMs, w: 604_800_000 } as const

export function readDuration(text: string): number {
  const ms = durationMs(text)
  if (ms !== null) return ms
  throw new InvalidArgumentError('It must be a duration such as 15m, 2h or 1d.')
}

function durationMs(text: string): number | null {
  const [, count, unit] = /^(\d{1,6})([smhdw])$/.exec(text) ?? []
  return unit === undefined ? null : Number(count) * unitsMs[unit as keyof typeof unitsMs]
}

/** A time, given as one or as a duration before now. */
export function readSince(text: string, nowMs: number): number {
  const agoMs = durationMs(text)
  if (agoMs !== null) return nowMs - agoMs
  const looksLikeTime =
    /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})?)?$/
  const atMs = looksLikeTime.test(text) && isDay(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(atMs)) {
    throw new InvalidArgumentError('It must be a duration such as 15m or 2d, or an ISO time.')
  }
  return atMs
}

/** Date.parse takes 30 February for 2 March. */
function isDay(text: string): boolean {
  const day = text.slice(0, 10)
  const atMs = Date.parse(day)
  return !Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(day)
}

/** A time that stands on its own. */
export function readTime(text: string): number {
  const shape = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})$/
  const atMs = shape.test(text) && isDay(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(atMs))
    throw new InvalidArgumentError('It must be a time such as 2026-01-15T23:30:00Z.')
  return atMs
}
