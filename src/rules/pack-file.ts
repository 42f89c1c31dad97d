import { z } from 'zod'
import { isCurrency } from '../domain/currency.ts'
import { parseMinor } from '../domain/money.ts'
import type { Switches } from '../domain/pack.ts'

/** Money in a file: a decimal text in major units of the pack's currency. */
const decimalText = z.union([z.string(), z.number()]).transform((value) => String(value))
const days = z.int().min(1).max(400)

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
      byMcc: z.record(z.string().regex(/^\d{4}$/, 'an MCC has four digits'), days).default({}),
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

/** Problems found beyond the schema are named by field. */
export interface PackProblem {
  readonly field: string
  readonly message: string
}

export function compileSwitches(
  file: SwitchesFile,
  currency: string,
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
    holdDays: { ...holdDays, byMcc: new Map(Object.entries(holdDays.byMcc)) },
  }
  return { switches, problems }
}
