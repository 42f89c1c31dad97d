import { z } from 'zod'
import { strict } from '../document/schema-words.ts'
import { isCurrency } from '../domain/record/currency.ts'
import {
  detailNames,
  isMetadataName,
  maxMetadata,
  type RequestType,
  requestTypes,
} from '../domain/record/event.ts'
import { isPointer } from './pointer.ts'

function mapping<const T extends z.ZodRawShape>(shape: T) {
  const kind = 'a JSON pointer, a list of them, or a map'
  return z.preprocess(short, strict(shape, kind).refine(hasOneSource, oneSource))
}

const requestTypeNames = Object.keys(requestTypes) as RequestType[]
const mustBePointer = 'must be a JSON pointer (RFC 6901), such as /data/id'
const pointer = z.string().max(500).refine(isPointer, mustBePointer)
const shortText = z.string().max(200)
const headerName = z.string().regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a header')

/** Texts and, where they begin with a slash, pointers. */
const concat = z
  .array(shortText.min(1).refine((part) => !part.startsWith('/') || isPointer(part), mustBePointer))
  .min(1)
  .max(8)

const part = z.preprocess(
  (value) => (typeof value === 'string' ? { pointer: value } : value),
  strict({
    pointer: pointer.optional(),
    concat: concat.optional(),
    header: headerName.optional(),
  }).refine(
    (value) => Object.values(value).filter((source) => source !== undefined).length === 1,
    'must be a pointer, a concat or a header',
  ),
)
const parts = z.preprocess(
  (value) => (typeof value === 'string' ? [value] : value),
  z.array(part).min(1).max(8),
)

/** A pointer alone, or a list of which the first that is present counts, is short for `pointer`. */
function short(value: unknown): unknown {
  return typeof value === 'string' || Array.isArray(value) ? { pointer: value } : value
}

const sources = ['pointer', 'coalesce', 'concat', 'constant'] as const

function hasOneSource(mapping: object): boolean {
  const given: Partial<Record<string, unknown>> = { ...mapping }
  return sources.filter((source) => given[source] !== undefined).length === 1
}

const oneSource = `must have one of ${sources.join(', ')}`
const source = {
  pointer: parts.optional(),
  coalesce: parts.optional(),
  concat: concat.optional(),
}
const textSource = {
  ...source,
  constant: shortText.optional(),
  /** Taken when nothing is there. With one, even an empty one, the field may be missing. */
  fallback: shortText.optional(),
  map: z.record(z.string(), shortText).optional(),
  /** For what is there and not in `map`; without it that is refused. */
  default: shortText.optional(),
}

const text = mapping(textSource)
const id = mapping({ ...textSource, hash: z.boolean().default(false) })
const country = mapping({
  ...textSource,
  /** What becomes of a code that is none. */
  unknown: z.enum(['refuse', 'absent']).default('refuse'),
})
const flag = mapping({
  ...source,
  constant: z.boolean().optional(),
  yes: z.array(z.string()).max(20).default([]),
  no: z.array(z.string()).max(20).default([]),
  /** Taken when nothing is there. */
  fallback: z.boolean().optional(),
})
const time = mapping({
  ...source,
  form: z.enum(['rfc3339', 'unix-seconds', 'unix-milliseconds']).default('rfc3339'),
})
const amount = mapping({
  ...source,
  unit: z.enum(['major', 'minor']),
  sign: z.enum(['as-is', 'absolute', 'negate']).default('as-is'),
  /** Currencies whose minor unit is another one there than in ISO 4217. */
  decimals: z
    .record(z.string().refine(isCurrency, 'not an ISO 4217 currency'), z.int().min(0).max(4))
    .default({}),
})

const merchant = { mid: id, mcc: text, name: text, city: text, country }
const fields = {
  eventId: id,
  transactionId: id,
  originalTransactionId: id,
  cardId: id,
  amount,
  currency: text,
  occurredAt: time,
  final: flag,
  partialApprovalSupported: flag,
  channel: id,
  entryMode: id,
  merchantAmount: amount,
  merchantCurrency: text,
}

const details = strict({
  ...(Object.fromEntries(detailNames.map((name) => [name, id.optional()])) as Record<
    Exclude<(typeof detailNames)[number], 'cashAmount'>,
    z.ZodOptional<typeof id>
  >),
  cashAmount: amount.optional(),
})
const metadata = z
  .record(z.string().refine(isMetadataName, 'must be lower case letters, digits and _'), id)
  .refine((given) => Object.keys(given).length <= maxMetadata, `has at most ${maxMetadata} names`)

const fieldsFile = strict({
  ...fields,
  details: details.optional(),
  metadata: metadata.optional(),
  originalTransactionId: id.optional(),
  occurredAt: time.optional(),
  final: flag.optional(),
  partialApprovalSupported: flag.optional(),
  channel: id.optional(),
  entryMode: id.optional(),
  merchantAmount: amount.optional(),
  merchantCurrency: text.optional(),
  merchant: strict({
    ...merchant,
    name: text.optional(),
    city: text.optional(),
    country: country.optional(),
  }),
})

/** `none` takes a mapping away. */
function orNone<T extends z.ZodType>(mapping: T) {
  return z.preprocess((value) => (value === 'none' ? null : value), mapping.nullable()).optional()
}

const overridesFile = strict({
  eventId: id.optional(),
  transactionId: id.optional(),
  originalTransactionId: orNone(id),
  cardId: id.optional(),
  amount: orNone(amount),
  currency: text.optional(),
  occurredAt: orNone(time),
  final: orNone(flag),
  partialApprovalSupported: orNone(flag),
  channel: orNone(id),
  entryMode: orNone(id),
  merchantAmount: orNone(amount),
  merchantCurrency: orNone(text),
  merchant: strict({
    mid: id.optional(),
    mcc: text.optional(),
    name: orNone(text),
    city: orNone(text),
    country: orNone(country),
  }).optional(),
})

const byRequestType = strict(
  Object.fromEntries(requestTypeNames.map((name) => [name, overridesFile.optional()])) as Record<
    RequestType,
    z.ZodOptional<typeof overridesFile>
  >,
)

/** A target is a word of choiceTargets or another choice; the loader reads it, for its messages. */
export const choiceFile = strict({
  pointer: z.preprocess(
    (value) => (typeof value === 'string' ? [value] : value),
    z.array(pointer).min(1).max(8),
  ),
  map: z.record(z.string(), z.unknown()),
  /** For any other value, and for none. Without it: refused with 131. */
  default: z.unknown().optional(),
})

/**
 * What else a message may be than an event: `ignore` is acknowledged, `unknown` is too and people are
 * told of it, `refuse` is declined with 131.
 */
const noEvent = ['ignore', 'unknown', 'refuse'] as const
export type NoEvent = (typeof noEvent)[number]
export type ChoiceTarget = RequestType | NoEvent

export const choiceTargets: readonly string[] = [...requestTypeNames, ...noEvent]

/** These are the server's own. */
const ownHeaders = ['content-type', 'content-length', 'connection', 'transfer-encoding', 'date']

const answerBody = z.record(z.string(), z.unknown())
const variant = strict({ status: z.int().min(200).max(499).default(200), body: answerBody })

export const answerFile = strict({
  headers: z
    .record(
      headerName.refine((name) => !ownHeaders.includes(name.toLowerCase()), 'is set by the server'),
      z.string().regex(/^[\x20-\x7e]{1,200}$/, 'must be printable ASCII'),
    )
    .default({}),
  /** From our response codes to the peer's; `default` for all others. */
  codes: z.record(z.string(), shortText).optional(),
  approve: variant,
  partial: variant.optional(),
  decline: variant,
  acknowledge: variant.optional(),
  ignore: variant.optional(),
  refuse: strict({ status: z.int().min(200).max(499).optional(), body: answerBody }),
})

/** Of z.discriminatedUnion the faults would not say which names the scheme knows. */
const authenticationFile = strict({
  scheme: z.enum(['arbiter-hmac', 'stripe', 'standard-webhooks', 'basic', 'none']),
  header: headerName.optional(),
  idHeader: headerName.optional(),
  timestampHeader: headerName.optional(),
})

const requiresFile = strict({
  incrementalAmount: z.enum(['delta', 'cumulative']).optional(),
  settlementRemainder: z.enum(['release', 'keep']).optional(),
  partialReversalAmount: z.enum(['released', 'remaining']).optional(),
  cashWithdrawal: z.enum(['post', 'hold']).optional(),
  partialApproval: z.boolean().optional(),
})

export const profileFile = strict({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'must be lower case letters, digits and -'),
  /** Where the relay sends its events. */
  path: z
    .string()
    .regex(/^(\/[A-Za-z0-9._-]+)+$/, 'must be a path, such as /authorize')
    .max(200)
    .default('/authorize'),
  /** Switches of the pack that this peer's amounts need. */
  requires: requiresFile.default({}),
  authentication: authenticationFile.default({ scheme: 'none' }),
  requestType: z.unknown().optional(),
  fields: fieldsFile,
  overrides: byRequestType.default({}),
  answer: answerFile,
})

export type ProfileFile = z.output<typeof profileFile>
export type FieldsFile = z.output<typeof fieldsFile>
export type OverridesFile = z.output<typeof overridesFile>
export type PartFile = z.output<typeof part>
export type TextFile = z.output<typeof text>
export type IdFile = z.output<typeof id>
export type CountryFile = z.output<typeof country>
export type FlagFile = z.output<typeof flag>
export type TimeFile = z.output<typeof time>
export type AmountFile = z.output<typeof amount>
export type AnswerFile = z.output<typeof answerFile>
export type AuthenticationFile = z.output<typeof authenticationFile>
export type RequiresFile = z.output<typeof requiresFile>
