import { z } from 'zod'
import { dayMs } from '../../clock.ts'
import { strict } from '../../document/schema-words.ts'
import { dailyWindow, type WindowDefinition } from '../../domain/decide/window.ts'
import type { Zone } from '../../domain/record/calendar.ts'
import type { CardEvent } from '../../domain/record/event.ts'
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

export const windowFields = strict({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,39}$/, 'must be lower case letters, digits and _')
    .refine((name) => name !== dailyWindow, `${dailyWindow} is built in`)
    // Windows become fields of an object: toString and the like are taken.
    .refine((name) => !(name in {}), 'is a word that no window can have as its name'),
  scope: z.enum(['card', 'account', 'card-and-merchant']),
  over: z.enum(['approved', 'cash', 'asks', 'declines']).default('approved'),
  distinct: z.boolean().default(false),
  period: z.union([
    z.enum(
      ['day', 'week', 'month'],
      'must be day, week, month, or a map such as { trailing: 24h }',
    ),
    strict({
      trailing: durationText.refine((text) => {
        const ms = durationMs(text)
        return ms >= 60_000 && ms <= 31 * dayMs
      }, 'must be from 1m to 31d'),
    }),
  ]),
  mccs: filter,
  mids: filter,
  countries: filter,
})

export const windowFile = windowFields.refine(
  ({ scope, distinct }) => !(distinct && scope === 'card-and-merchant'),
  {
    path: ['distinct'],
    message: 'a window of one merchant has one: count distinct merchants per card or account',
  },
)

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
  const { name, scope, over, distinct, period } = file
  const matches = compileFilter(file, lists, problems)
  if (typeof period === 'string') {
    const bucketOf = { day: zone.dayOf, week: zone.weekOf, month: zone.monthOf }[period]
    return { name, scope, over, distinct, matches, bucketOf, span: 1 }
  }
  const bucketMs = durationMs(period.trailing) / trailingBuckets
  const bucketOf = (atMs: number) => Math.floor(atMs / bucketMs)
  return { name, scope, over, distinct, matches, bucketOf, span: trailingBuckets }
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
): (event: CardEvent) => boolean {
  const fields = Object.keys(picks) as (keyof typeof picks)[]
  const tests = fields.flatMap((field) => {
    const given = file[field]
    if (given === undefined) return []
    const set = valuesOf(given, field, lists, problems)
    const pick = picks[field]
    return [(event: CardEvent) => set.has(pick(event))]
  })
  if (tests.length === 0) return () => true
  return (event) => tests.every((test) => test(event))
}

/** The window behind the cards' daily limits; it stands first in every pack. */
export function compileDailyWindow(zone: Zone): WindowDefinition {
  return {
    name: dailyWindow,
    scope: 'card',
    over: 'approved',
    distinct: false,
    matches: () => true,
    bucketOf: zone.dayOf,
    span: 1,
  }
}
