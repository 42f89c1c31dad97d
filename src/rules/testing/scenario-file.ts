import { z } from 'zod'
import {
  detailNames,
  isMetadataName,
  type RequestType,
  requestTypes,
} from '../../domain/record/event.ts'
import { switchesFile } from '../pack/file.ts'
import { listName } from '../pack/named-list.ts'
import { durationText, windowFile } from '../pack/window-file.ts'

const requestType = z.enum(Object.keys(requestTypes) as [RequestType, ...RequestType[]])
const text = z.string()
const money = z.union([z.string(), z.number()]).transform(String)

/** The fields of a step's event; those left out have a harmless default. */
const eventFields = {
  event: text.optional(),
  txn: text.optional(),
  original: text.optional(),
  amount: money.optional(),
  card: text.optional(),
  currency: text.optional(),
  final: z.boolean().optional(),
  partial: z.boolean().optional(),
  mid: text.optional(),
  mcc: text.optional(),
  country: text.optional(),
  name: text.optional(),
  city: text.optional(),
  channel: text.optional(),
  entryMode: text.optional(),
  merchantAmount: money.optional(),
  merchantCurrency: text.optional(),
  details: z.partialRecord(z.enum(detailNames), text).optional(),
  metadata: z.record(z.string().refine(isMetadataName), text).optional(),
  occurredAt: text.optional(),
  delivery: z.int().optional(),
}

const windowExpectation = z.strictObject({
  /** The merchant of a window per card and merchant; M1 when not given. */
  mid: text.optional(),
  sum: money.optional(),
  count: z.int().optional(),
  distinct: z.int().optional(),
  average: money.optional(),
  deviation: money.optional(),
  max: money.optional(),
  /** The merchant, MCC or country of a window over all cards. */
  of: text.optional(),
})

export const expectations = {
  account: text.optional(),
  posted: money.optional(),
  held: money.optional(),
  withheld: money.optional(),
  available: money.optional(),
  spent: money.optional(),
  swipes: z.int().optional(),
  status: text.optional(),
  unblocked: z.array(text).optional(),
  pending: money.optional(),
  charged: money.optional(),
  anomalies: z.array(text).optional(),
  unmatched: z.boolean().optional(),
  windows: z.record(text, windowExpectation).optional(),
}

const sendStep = z.strictObject({
  send: requestType,
  ...eventFields,
  /** A response code, `approve`, or `decline` for any other than 000. */
  expect: text,
  approved: money.optional(),
  rule: text.optional(),
  shadow: z.array(text).optional(),
  tags: z.array(text).optional(),
  review: z.boolean().optional(),
  ...expectations,
})
const saidStep = z.strictObject({
  said: z.enum(['decline', 'approve', 'ack']),
  requestType: requestType.optional(),
  ...eventFields,
  ...expectations,
})
const waitStep = z.strictObject({ wait: durationText, card: text.optional(), ...expectations })
const atStep = z.strictObject({ at: text, card: text.optional(), ...expectations })
const setStep = z.strictObject({
  set: z.looseObject({ card: text.optional() }),
  ...expectations,
})

const adjustStep = z.strictObject({ adjust: money, card: text.optional(), ...expectations })

export const scenarioFile = z.array(
  z.strictObject({
    name: text,
    order: z.enum(['fixed', 'any']).default('fixed'),
    pack: switchesFile
      .extend({
        zone: text.default('UTC'),
        windows: z.array(windowFile).default([]),
        lists: z.record(listName, z.array(text)).default({}),
      })
      .prefault({}),
    cards: z.array(z.looseObject({})).default([{}]),
    steps: z.array(z.union([sendStep, saidStep, waitStep, atStep, setStep, adjustStep])),
  }),
)

export type Scenario = z.infer<typeof scenarioFile>[number]
export type ScenarioStep = Scenario['steps'][number]
export type Expectations = { [K in keyof typeof expectations]?: z.infer<(typeof expectations)[K]> }
export type EventFields = { [K in keyof typeof eventFields]?: z.infer<(typeof eventFields)[K]> }

export function pickEventFields(fields: Record<string, unknown>): EventFields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => name in eventFields))
}
