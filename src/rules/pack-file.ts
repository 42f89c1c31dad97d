import { z } from 'zod'
import { isCurrency } from '../domain/currency.ts'
import { parseMinor } from '../domain/money.ts'
import type { Switches } from '../domain/pack.ts'
import { type Lists, listName, type PackProblem, valuesOf } from './named-list.ts'

/** Money in a file: a decimal text in major units of the pack's currency. */
const decimalText = z.union([z.string(), z.number()]).transform((value) => String(value))
const days = z.int().min(1).max(400)
const mcc = z.string().regex(/^\d{4}$/, 'an MCC has four digits')

/** The switches of pack.yaml; the first value of each is its default. */
export const switchesFile = z.strictObject({
  incrementalAmount: z.enum(['delta', 'cumulative']).default('delta'),
  settlementRemainder: z.enum(['release', 'keep']).default('release'),
  partialReversalAmount: z.enum(['released', 'remaining']).default('released'),
  cashWithdrawal: z.enum(['post', 'hold']).default('post'),
  partialApproval: z.boolean().default(false),
  uncoveredRefundPerDay: decimalText.default('0'),
  crossBorder: z
    .strictObject({ fixed: decimalText.default('0'), percent: decimalText.default('0') })
    .optional(),
  holdDays: z
    .strictObject({
      authorization: days.default(7),
      preauthorization: days.default(30),
      /** By MCC, or by the name of a list of them. */
      byMcc: z.record(z.union([mcc, listName]), days).default({}),
    })
    .default({ authorization: 7, preauthorization: 30, byMcc: {} }),
})

export type SwitchesFile = z.infer<typeof switchesFile>

export const packFile = switchesFile.extend({
  name: z.string().min(1).max(64).default('pack'),
  zone: z.string().default('UTC'),
  currency: z.string().refine(isCurrency, 'not an ISO 4217 currency').default('USD'),
})

export type PackFile = z.infer<typeof packFile>

export function compileSwitches(
  file: SwitchesFile,
  currency: string,
  lists: Lists,
): { switches: Switches; problems: PackProblem[] } {
  const problems: PackProblem[] = []
  const minor = (field: string, text: string): number => {
    const value = parseMinor(text, currency)
    if (typeof value === 'number') return value
    problems.push({ field, message: `${value} for an amount in ${currency}` })
    return 0
  }
  const { crossBorder, uncoveredRefundPerDay, holdDays, ...rest } = file
  const percentMillionths = Math.round(Number(crossBorder?.percent ?? 0) * 10_000)
  if (!Number.isFinite(percentMillionths) || percentMillionths < 0 || percentMillionths > 1e6) {
    problems.push({ field: 'crossBorder.percent', message: 'must be from 0 to 100' })
  }
  const switches: Switches = {
    ...rest,
    uncoveredRefundPerDayMinor: {
      [currency]: minor('uncoveredRefundPerDay', uncoveredRefundPerDay),
    },
    crossBorder:
      crossBorder === undefined
        ? null
        : {
            fixedMinor: { [currency]: minor('crossBorder.fixed', crossBorder.fixed) },
            percentMillionths,
          },
    holdDays: { ...holdDays, byMcc: daysByMcc(holdDays.byMcc, lists, problems) },
  }
  return { switches, problems }
}

/** An MCC that is written out goes before one of a list, an earlier list before a later one. */
function daysByMcc(
  given: Readonly<Record<string, number>>,
  lists: Lists,
  problems: PackProblem[],
): ReadonlyMap<string, number> {
  const isMcc = (key: string) => mcc.safeParse(key).success
  const byMcc = new Map(Object.entries(given).filter(([key]) => isMcc(key)))
  for (const [key, days] of Object.entries(given)) {
    if (isMcc(key)) continue
    for (const listed of valuesOf(key, 'holdDays.byMcc', lists, problems)) {
      if (!byMcc.has(listed)) byMcc.set(listed, days)
    }
  }
  return byMcc
}
