import { z } from 'zod'
import { strict } from '../../document/schema-words.ts'
import { maxAskMinor } from '../../domain/decide/check.ts'
import type { ConditionalHold, HoldAdjustmentSwitch, Switches } from '../../domain/decide/pack.ts'
import { isCurrency } from '../../domain/record/currency.ts'
import { parseMinor } from '../../domain/record/money.ts'
import { type Rates, rateOf, ratesOf } from '../condition/worth.ts'
import { type Lists, listName, type PackProblem, valuesOf } from './named-list.ts'

/** Money in a file: a decimal text in major units of the pack's currency. */
const decimalText = z.union([z.string(), z.number()]).transform((value) => String(value))
const days = z.int().min(1).max(400)
const mcc = z.string().regex(/^\d{4}$/, 'must be an MCC of four digits')

const holdAdjustment = strict({
  /** MCCs, or the name of a list of them. */
  mccs: z.union([z.array(mcc), listName]).optional(),
  when: z.string().min(1).optional().describe('Only asks for which this condition holds'),
  /** Hold at least so much. */
  fixed: decimalText.optional(),
  plusPercent: decimalText.optional(),
  plusAmount: decimalText.optional(),
})
  .refine(
    ({ fixed, plusPercent, plusAmount }) =>
      [fixed, plusPercent, plusAmount].filter((each) => each !== undefined).length === 1,
    'says what to hold by one of fixed, plusPercent and plusAmount',
  )
  .refine(
    ({ mccs, when }) => mccs !== undefined || when !== undefined,
    'says what it is about by mccs, when or both',
  )

const maxHoldAdjustments = 100

/** The switches of pack.yaml; the first value of each is its default. */
export const switchesFile = strict({
  incrementalAmount: z.enum(['delta', 'cumulative']).default('delta'),
  settlementRemainder: z.enum(['release', 'keep']).default('release'),
  partialReversalAmount: z.enum(['released', 'remaining']).default('released'),
  cashWithdrawal: z.enum(['post', 'hold']).default('post'),
  partialApproval: z.boolean().default(false),
  uncoveredRefundPerDay: decimalText.default('0'),
  crossBorder: strict({
    fixed: decimalText.default('0'),
    percent: decimalText.default('0'),
  }).optional(),
  holdDays: strict({
    authorization: days.default(7),
    preauthorization: days.default(30),
    /** By MCC, or by the name of a list of them. */
    byMcc: z.record(z.union([mcc, listName]), days).default({}),
  }).default({ authorization: 7, preauthorization: 30, byMcc: {} }),
  /** The first that is about an ask counts. */
  holdAdjustments: z.array(holdAdjustment).max(maxHoldAdjustments).default([]),
  /** What is approved from memory while the store is away: never cash, never a card not in memory. */
  standIn: strict({
    maxAmount: decimalText,
    perCard: strict({ count: z.int().min(1).max(100), total: decimalText }),
  }).optional(),
})

type SwitchesFile = z.infer<typeof switchesFile>

export const packFile = strict({
  ...switchesFile.shape,
  name: z.string().min(1).max(64).default('pack'),
  zone: z.string().default('UTC'),
  zones: z
    .record(z.string(), z.string())
    .default({})
    .describe('Zones of accounts by their country, such as GB: Europe/London; zone for all others'),
  currency: z.string().refine(isCurrency, 'is not an ISO 4217 currency').default('USD'),
  rates: z
    .record(z.string().refine(isCurrency, 'is not an ISO 4217 currency'), decimalText)
    .default({})
    .describe('What one unit of other currencies is in that of the pack, for worth()'),
  define: z
    .record(
      z.string().regex(/^[a-z][a-z0-9_]{0,39}$/, 'must be lower case letters, digits and _'),
      z.string().min(1),
    )
    .default({})
    .describe('Conditions that rules name, each written once'),
  rules: z
    .int()
    .min(0)
    .optional()
    .describe('How many rules the pack has; another number refuses it'),
  sealed: z.boolean().optional().describe('true takes the pack with a true pack.seal only'),
})

export type PackFile = z.infer<typeof packFile>

export function compileSwitches(
  file: SwitchesFile,
  currency: string,
  lists: Lists,
): { switches: Switches; problems: PackProblem[] } {
  const problems: PackProblem[] = []
  const reader = createReader(currency, problems)
  const { crossBorder, uncoveredRefundPerDay, holdDays, holdAdjustments, standIn, ...rest } = file
  const switches: Switches = {
    ...rest,
    uncoveredRefundPerDayMinor: reader.money('uncoveredRefundPerDay', uncoveredRefundPerDay),
    crossBorder:
      crossBorder === undefined
        ? null
        : {
            fixedMinor: reader.money('crossBorder.fixed', crossBorder.fixed),
            percentMillionths: reader.percent('crossBorder.percent', crossBorder.percent),
          },
    holdDays: { ...holdDays, byMcc: daysByMcc(holdDays.byMcc, lists, problems) },
    ...adjustmentsOf(holdAdjustments, reader, lists, problems),
    standIn:
      standIn === undefined
        ? null
        : {
            maxMinor: reader.money('standIn.maxAmount', standIn.maxAmount),
            perCardCount: standIn.perCard.count,
            perCardTotalMinor: reader.money('standIn.perCard.total', standIn.perCard.total),
          },
  }
  return { switches, problems }
}

interface Reader {
  /** Reads an amount in the currency of the pack. */
  money(field: string, text: string, maxMinor?: number): Readonly<Record<string, number>>
  /** Reads a percentage as millionths. */
  percent(field: string, text: string): number
}

function createReader(currency: string, problems: PackProblem[]): Reader {
  return {
    money(field, text, maxMinor = Number.MAX_SAFE_INTEGER) {
      const minor = parseMinor(text, currency)
      if (typeof minor === 'number' && minor <= maxMinor) return { [currency]: minor }
      const problem = typeof minor === 'number' ? 'too much' : minor
      const verb = problem.startsWith('too many') ? 'has' : 'is'
      problems.push({ field, message: `${verb} ${problem} for an amount in ${currency}` })
      return {}
    },
    percent(field, text) {
      // An empty text would be the number 0.
      const millionths = text.trim() === '' ? Number.NaN : Math.round(Number(text) * 10_000)
      if (Number.isFinite(millionths) && millionths >= 0 && millionths <= 1e6) return millionths
      problems.push({ field, message: 'must be a number from 0 to 100' })
      return 0
    },
  }
}

function adjustmentsOf(
  given: SwitchesFile['holdAdjustments'],
  reader: Reader,
  lists: Lists,
  problems: PackProblem[],
): Pick<Switches, 'holdAdjustments' | 'conditionalHolds'> {
  const byMcc = new Map<string, HoldAdjustmentSwitch>()
  const conditionalHolds: ConditionalHold[] = []
  given.forEach(({ mccs, when, fixed = '0', plusPercent = '0', plusAmount = '0' }, i) => {
    const field = `holdAdjustments.${i}`
    const adjustment = {
      order: i,
      fixedMinor: reader.money(`${field}.fixed`, fixed, maxAskMinor),
      plusMillionths: reader.percent(`${field}.plusPercent`, plusPercent),
      plusMinor: reader.money(`${field}.plusAmount`, plusAmount, maxAskMinor),
    }
    const named = mccs ?? []
    const listed = [...valuesOf(named, `${field}.mccs`, lists, problems)]
    if (when !== undefined) conditionalHolds.push({ ...adjustment, mccs: mccs ? listed : null })
    else for (const one of listed) if (!byMcc.has(one)) byMcc.set(one, adjustment)
  })
  return { holdAdjustments: byMcc, ...(conditionalHolds.length > 0 && { conditionalHolds }) }
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

/** Reads `rates`; what is wrong is added to `problems`. */
export function compileRates(
  given: PackFile['rates'],
  currency: string,
  problems: PackProblem[],
): Rates {
  const rates: Record<string, number> = {}
  for (const [of, text] of Object.entries(given)) {
    const field = `rates.${of}`
    const rate = of === currency ? 'is the currency of the pack' : rateOf(text, of, currency)
    if (typeof rate === 'string') problems.push({ field, message: rate })
    else rates[of] = rate
  }
  // A wrong rate is told where it stands, and not again by each rule that converts.
  return Object.keys(given).length === 0 ? {} : ratesOf(rates, currency)
}
