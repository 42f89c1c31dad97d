import { z } from 'zod'
import { dayMs } from '../../clock.ts'
import { strict } from '../../document/schema-words.ts'
import { suggestion } from '../../document/spelling.ts'
import {
  detailNames,
  isMetadataName,
  type RequestType,
  requestTypes,
} from '../../domain/record/event.ts'
import { isResponseCode } from '../../domain/record/response-code.ts'
import { cardRow } from '../../wire/card-row.ts'
import { durationMs, durationText } from '../pack/window-file.ts'

export const maxTests = 500
export const maxTestSteps = 200
/** The events of all tests, repetitions included: loading a pack runs them and must not take long. */
export const maxTestEvents = 5000
export const maxTestCards = 20
const maxWaitMs = 400 * dayMs

const text = z.string().max(256)
const id = z.string().regex(/^[\x20-\x7e]{1,64}$/, 'must be 1 to 64 printable ASCII characters')
const idOrEmpty = z.string().regex(/^[\x20-\x7e]{0,64}$/, 'must be at most 64 printable characters')
const amount = z
  .union(
    [z.number(), z.string().regex(/^-?\d{1,15}(\.\d{1,4})?$/, 'must be an amount such as 12.50')],
    {
      error: ({ input }) =>
        input === undefined ? 'is required' : 'must be an amount such as 12.50',
    },
  )
  .transform(String)
const count = z.int().min(0)

const instant = z
  .string()
  .refine(isInstant, 'must be a time with its zone, such as 2026-01-15T23:30:00Z')

function isInstant(given: string): boolean {
  const shape = /^20\d\d-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/
  return shape.test(given) && !Number.isNaN(Date.parse(given))
}

const wait = durationText.refine(
  (given) => !(durationMs(given) > maxWaitMs),
  'must be at most 400d',
)

const answer = z
  .string({ error: explainAnswer })
  .refine((given) => isAnswer(given), { error: explainAnswer })
  .meta({ pattern: '^(approve|decline|[0-9]{3})$' })

function isAnswer(given: string): boolean {
  return given === 'approve' || given === 'decline' || isResponseCode(given)
}

function explainAnswer({ input }: { input?: unknown }): string {
  if (input === undefined || input === null) return 'is required'
  const must = 'must be approve, decline, or a response code in quotes such as "127"'
  return typeof input === 'string' ? must + suggestion(input, ['approve', 'decline']) : must
}

/** The lists without their defaults: a list that a change leaves out stays as it is. */
const lists = {
  whiteListedMccs: cardRow.shape.whiteListedMccs.unwrap().optional(),
  blackListedMccs: cardRow.shape.blackListedMccs.unwrap().optional(),
  whiteListedMids: cardRow.shape.whiteListedMids.unwrap().optional(),
  blackListedMids: cardRow.shape.blackListedMids.unwrap().optional(),
  unblockedMids: cardRow.shape.unblockedMids.unwrap().optional(),
}
const status = cardRow.shape.status.unwrap().optional()
const card = cardRow.omit({ cardLimits: true }).partial().shape
const country = z
  .string()
  .regex(/^([A-Z]{2})?$/, 'must be an ISO 3166 alpha-2 country, or "" for none')

/** A card as in a cards file, with limits beside the other fields; all fields have a default. */
export const testCard = strict({
  ...card,
  ...lists,
  status,
  country: country.optional().describe('Country of the account; "" for none'),
  dailyLimit: amount.optional(),
  transactionLimit: amount.optional(),
})

const requestType = z.enum(Object.keys(requestTypes) as [RequestType, ...RequestType[]])

const eventFields = {
  card: id.optional().describe('The card; without it, the first'),
  amount: amount.optional(),
  currency: text.optional(),
  mid: idOrEmpty.optional().describe('Merchant id; "" for an advice that names none'),
  mcc: z
    .string()
    .regex(/^(\d{4})?$/, 'must be an MCC of four digits')
    .optional(),
  country: country.optional().describe('Country of the merchant; "" for one that says none'),
  name: text.optional().describe('Name of the merchant'),
  city: text.optional(),
  channel: text.optional(),
  entryMode: text.optional(),
  merchantAmount: amount.optional(),
  merchantCurrency: text.optional(),
  details: z.partialRecord(z.enum(detailNames), text).optional(),
  metadata: z.record(z.string().refine(isMetadataName), text).optional(),
  final: z.boolean().optional(),
  partial: z.boolean().optional().describe('The terminal takes a partial approval'),
  event: id.optional().describe('Id of the message; the same again is a duplicate'),
  txn: id
    .optional()
    .describe('Id of the transaction; without it an ask has its own, an advice the last of an ask'),
  original: id.optional(),
  occurredAt: instant.optional(),
}

const expectations = {
  account: id.optional().describe('Whose money is looked at; without it, that of the card'),
  posted: amount.optional(),
  held: amount.optional(),
  withheld: amount.optional(),
  available: amount.optional(),
  spent: amount.optional().describe('Spent today, as the daily limit counts it'),
  swipes: count.optional(),
  status: text.optional(),
  unblocked: z.array(text).optional(),
  pending: amount.optional().describe('Charges not taken yet'),
  charged: amount.optional(),
  anomalies: z.array(text).optional(),
  unmatched: z.boolean().optional(),
  windows: z
    .record(
      z.string(),
      strict({
        mid: id.optional().describe('The merchant of a window per card and merchant'),
        of: id.optional().describe('The merchant, MCC or country of a window over all cards'),
        sum: amount.optional(),
        count: count.optional(),
        distinct: count.optional(),
        average: amount.optional(),
        deviation: amount.optional(),
        max: amount.optional(),
      }),
    )
    .optional(),
}

/** The fields of a step that are expectations about money. */
export const expectationNames: ReadonlySet<string> = new Set([
  ...Object.keys(expectations),
  'approved',
])

const sendStep = strict({
  send: requestType.describe('What the relay sends'),
  ...eventFields,
  times: z.int().min(1).max(1000).optional().describe('Send so many, each its own event'),
  every: wait.optional().describe('Time between them'),
  expect: answer.describe('approve, decline, or the response code'),
  rule: text.optional().describe('The rule that declines'),
  shadow: z.array(text).optional().describe('The shadow rules that match'),
  tags: z.array(text).optional().describe('The tags that it is given'),
  review: z.boolean().optional().describe('Whether people are to look at it'),
  approved: amount.optional().describe('Amount of a partial approval'),
  ...expectations,
})

const waitStep = strict({ wait, card: id.optional(), ...expectations })
const atStep = strict({ at: instant, card: id.optional(), ...expectations })
const setStep = strict({
  set: strict({
    card: id.optional(),
    status,
    dailyLimit: amount.optional(),
    transactionLimit: amount.optional(),
    metadata: cardRow.shape.metadata,
    ...lists,
  }).describe('Changes a card as a person would'),
  ...expectations,
})

const adjustStep = strict({
  adjust: amount.describe('Adds to what the account has, or takes from it, as a person would'),
  card: id.optional(),
  ...expectations,
})

/** The kinds of steps, by the field that only they have. */
export const testSteps = {
  send: sendStep,
  wait: waitStep,
  at: atStep,
  set: setStep,
  adjust: adjustStep,
} as const

export type TestStep = z.output<(typeof testSteps)[keyof typeof testSteps]>
export type SendStep = z.output<typeof sendStep>
export type TestCard = z.output<typeof testCard>

const frame = {
  name: z.string().min(1).max(200).describe('What must hold, as a sentence'),
  start: instant.optional().describe('When it begins; without it, 2026-01-15T12:00:00Z'),
}

/** A test without its cards and steps, which are checked one by one so that all faults are reported. */
export const testFrame = strict({
  ...frame,
  cards: z.array(z.unknown()).min(1).max(maxTestCards).optional(),
  steps: z.array(z.unknown()).min(1).max(maxTestSteps),
})

export const testList = z.array(z.unknown()).max(maxTests)

/** The whole file, for editors. */
export const testsFile = z
  .array(
    strict({
      ...frame,
      cards: z.array(testCard).min(1).max(maxTestCards).optional(),
      steps: z
        .array(z.union([sendStep, waitStep, atStep, setStep, adjustStep]))
        .min(1)
        .max(maxTestSteps),
    }),
  )
  .max(maxTests)
