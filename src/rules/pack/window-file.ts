import { z } from 'zod'
import { dayMs } from '../../clock.ts'
import { strict } from '../../document/schema-words.ts'
import { suggestion } from '../../document/spelling.ts'
import type { Pack } from '../../domain/decide/pack.ts'
import {
  dailyWindow,
  sharedScopes,
  type WindowDefinition,
  type WindowFacts,
} from '../../domain/decide/window.ts'
import { firstDayOfMonth, type Zone } from '../../domain/record/calendar.ts'
import type { CardEvent } from '../../domain/record/event.ts'
import { textFactNames, textReaderOf } from '../condition/fact-table.ts'
import { type Lists, listName, type PackProblem, valuesOf } from './named-list.ts'

/** Values, or the name of a list. */
const filter = z.union([z.array(z.string()), listName]).optional()

export const durationText = z
  .string()
  .regex(/^[1-9]\d{0,8}(ms|s|m|h|d)$/, 'must be a number and one of ms, s, m, h, d, such as 24h')

const unitsMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: dayMs } as const

export function durationMs(text: string): number {
  const unit = text.replace(/\d/g, '') as keyof typeof unitsMs
  return Number.parseInt(text, 10) * unitsMs[unit]
}

/** Whether a time is within its bounds; what is none is neither too short nor too long. */
export function isWithin(text: string, leastMs: number, mostMs: number): boolean {
  const ms = durationMs(text)
  return Number.isNaN(ms) || (ms >= leastMs && ms <= mostMs)
}

const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

/** Later days are not in every month. */
const maxFirstDay = 28

export const windowFields = strict({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,39}$/, 'must be lower case letters, digits and _')
    .refine((name) => name !== dailyWindow, `${dailyWindow} is built in`)
    // Windows become fields of an object: toString and the like are taken.
    .refine((name) => !(name in {}), 'is a word that no window can have as its name'),
  scope: z
    .enum(['card', 'account', 'card-and-merchant', ...sharedScopes])
    .describe('merchant, customer, organization, mcc and country count over all cards'),
  over: z.enum(['approved', 'cash', 'asks', 'declines']).default('approved'),
  distinct: z
    .union([z.enum(textFactNames, { error: explainField }), z.boolean()])
    .default(false)
    .describe('A field, to tell how many different values of it there were; true is merchant.mid'),
  spread: z.boolean().default(false).describe('Also tells deviation and max'),
  period: z.union([
    z.enum(
      ['day', 'week', 'month', 'year'],
      'must be day, week, month, year, or a map such as { trailing: 24h }',
    ),
    strict({
      trailing: durationText.refine(
        (text) => isWithin(text, 10_000, 366 * dayMs),
        'must be from 10s to 366d',
      ),
    }),
  ]),
  firstDay: z
    .union([
      z.enum(weekdays, `must be one of ${weekdays.join(', ')}, or 1 to ${maxFirstDay}`),
      z.int().min(1).max(maxFirstDay),
    ])
    .optional()
    .describe('Of a week, such as sun, or of a month, such as 15'),
  where: z
    .string()
    .min(1)
    .optional()
    .describe('A condition: what it does not hold for is not counted'),
  mccs: filter,
  mids: filter,
  countries: filter,
})

export const windowFile = windowFields
  .refine(({ scope, distinct }) => distinct === false || scope !== 'card-and-merchant', {
    path: ['distinct'],
    message:
      'cannot stand beside card-and-merchant, which tells merchants apart: count values per card, account or merchant',
  })
  .refine(
    ({ period, firstDay }) =>
      firstDay === undefined || period === (typeof firstDay === 'string' ? 'week' : 'month'),
    { path: ['firstDay'], message: 'is a weekday for a week, and a number for a month' },
  )

function explainField({ input }: z.core.$ZodRawIssue): string {
  if (typeof input !== 'string') return 'must be true, false or the name of a text'
  return `${input} is no text of an event, card or account${suggestion(input, textFactNames)}`
}

export type WindowFile = z.infer<typeof windowFile>

export const maxWindows = 100
export const windowsFile = z.array(windowFile).max(maxWindows)

/** Trailing windows are exact to this share of their length. */
const trailingBuckets = 60

/** Compiles a window; lists that it names and that do not exist are added to `problems`. */
export function compileWindow(
  file: WindowFile,
  zone: Zone,
  lists: Lists,
  problems: PackProblem[],
): WindowDefinition {
  const { name, scope, over, distinct, spread, period } = file
  const read = textReaderOf(typeof distinct === 'string' ? distinct : 'merchant.mid')
  const common = {
    name,
    scope,
    over,
    distinct: distinct !== false,
    partOf: (facts: WindowFacts) => read(facts, zone),
    spread,
    matches: compileFilter(file, lists, problems),
  }
  if (typeof period === 'string') {
    const bucketIn = calendarOf(period, file.firstDay)
    // What counts over several cards has one calendar for all of them.
    const shared = isShared(file)
    const bucketOf = (atMs: number, country: string) =>
      bucketIn(shared ? zone : zone.of(country), atMs)
    return { ...common, bucketOf, span: 1 }
  }
  const lengthMs = durationMs(period.trailing)
  const bucketOf = (atMs: number) => Math.floor((atMs * trailingBuckets) / lengthMs)
  return { ...common, bucketOf, span: trailingBuckets }
}

/** Consecutive numbers of days, weeks, months or years, as the window's first day cuts them. */
function calendarOf(
  period: Extract<WindowFile['period'], string>,
  firstDay: WindowFile['firstDay'],
): (zone: Zone, atMs: number) => number {
  if (period === 'day') return (zone, atMs) => zone.dayOf(atMs)
  if (period === 'year') return (zone, atMs) => Math.floor(zone.monthOf(atMs) / 12)
  if (typeof firstDay === 'number') {
    return (zone, atMs) => {
      const month = zone.monthOf(atMs)
      return zone.dayOf(atMs) - firstDayOfMonth(month) + 1 < firstDay ? month - 1 : month
    }
  }
  if (typeof firstDay === 'string') {
    const late = weekdays.indexOf(firstDay)
    // 1970-01-01 was a Thursday, three days after a Monday.
    return (zone, atMs) => Math.floor((zone.dayOf(atMs) + 3 - late) / 7)
  }
  return period === 'week' ? (zone, atMs) => zone.weekOf(atMs) : (zone, atMs) => zone.monthOf(atMs)
}

const picks = {
  mccs: (event: CardEvent) => event.merchant.mcc,
  mids: (event: CardEvent) => event.merchant.mid,
  countries: (event: CardEvent) => event.merchant.country,
} as const

function compileFilter(
  file: WindowFile,
  lists: Lists,
  problems: PackProblem[],
): (facts: WindowFacts) => boolean {
  const fields = Object.keys(picks) as (keyof typeof picks)[]
  const tests = fields.flatMap((field) => {
    const given = file[field]
    if (given === undefined) return []
    const set = valuesOf(given, field, lists, problems)
    const pick = picks[field]
    return [(event: CardEvent) => set.has(pick(event))]
  })
  if (tests.length === 0) return () => true
  return ({ event }) => tests.every((test) => test(event))
}

/** The windows of a pack, those that cards and accounts keep apart from those over several cards. */
export function windowsByPlace(
  all: readonly WindowDefinition[],
): Pick<Pack, 'windows' | 'sharedWindows'> {
  const shared = all.filter(isShared)
  if (shared.length === 0) return { windows: all }
  return { windows: all.filter((window) => !isShared(window)), sharedWindows: shared }
}

export function isShared({ scope }: Pick<WindowDefinition, 'scope'>): boolean {
  return (sharedScopes as readonly string[]).includes(scope)
}

/** The window behind the cards' daily limits; it stands first in every pack. */
export function compileDailyWindow(zone: Zone): WindowDefinition {
  return {
    name: dailyWindow,
    scope: 'card',
    over: 'approved',
    distinct: false,
    partOf: () => '',
    spread: false,
    matches: () => true,
    bucketOf: (atMs, country) => zone.of(country).dayOf(atMs),
    span: 1,
  }
}
