import { z } from 'zod'
import { type Account, noAccount } from '../domain/record/account.ts'
import { monthIndexOfText } from '../domain/record/calendar.ts'
import {
  type Card,
  cardOrigins,
  cardStatuses,
  cardTypes,
  customerTypes,
  maxListedMccs,
  maxListedMids,
  noCard,
} from '../domain/record/card.ts'
import { isCurrency } from '../domain/record/currency.ts'
import { formatMinor, parseMinor } from '../domain/record/money.ts'
import { parseTimestamp } from './timestamp.ts'

const id = z.string().regex(/^[\x20-\x7e]{1,64}$/, '1 to 64 printable ASCII characters')
const amount = z.union([z.string(), z.number()]).transform((value) => String(value))
const mccs = z.array(z.string().regex(/^\d{4}$/, 'an MCC has four digits')).max(maxListedMccs)
const mids = z.array(id).max(maxListedMids)

const country = z.string().regex(/^[A-Z]{2}$/, 'an ISO 3166 alpha-2 country')
const text = (max: number) => z.string().trim().min(1).max(max)
const maxMetadata = 20

/** What is only shown of a card. */
const shownFields = {
  maskedPan: z
    .string()
    .regex(/^\d{6}\*{3,9}\d{4}$/, 'the first six and the last four digits, with * between')
    .optional(),
  nameOnCard: z
    .string()
    .regex(/^[A-Z0-9 .'-]{2,26}$/, "2 to 26 of A-Z 0-9 space . - '")
    .optional(),
  address: z
    .strictObject({
      line1: text(100),
      line2: z.string().max(100).optional(),
      city: text(60),
      state: text(60),
      postalCode: z.string().max(16).optional(),
      country,
    })
    .optional(),
  metadata: z
    .record(z.string().min(1).max(40), z.string().max(200))
    .refine((given) => Object.keys(given).length <= maxMetadata, `at most ${maxMetadata}`)
    .optional(),
}

/** A card as files and the management API write it. */
export const cardRow = z.strictObject({
  cardId: id,
  customerId: id,
  accountId: id.optional(),
  organizationId: id.optional(),
  country: country.optional(),
  type: z.enum(cardTypes),
  status: z.enum(cardStatuses).default('Active'),
  currency: z.string().refine(isCurrency, 'not an ISO 4217 currency'),
  balance: amount.optional(),
  expiry: z
    .string()
    .refine((text) => monthIndexOfText(text) !== null, 'a month such as 2029-12')
    .optional(),
  replaces: id.optional(),
  cardLimits: z
    .strictObject({ dailyLimit: amount.optional(), transactionLimit: amount.optional() })
    .default({}),
  whiteListedMccs: mccs.default([]),
  blackListedMccs: mccs.default([]),
  whiteListedMids: mids.default([]),
  blackListedMids: mids.default([]),
  unblockedMids: mids.default([]),
  swipeCount: z.int().min(0).max(1_000_000).optional(),
  contactlessPayment: z.boolean().optional(),
  customerType: z.enum(customerTypes).optional(),
  issued: z.enum(cardOrigins).optional(),
  ...shownFields,
  issuedAt: z
    .string()
    .refine((text) => (parseTimestamp(text) ?? 0) > 0, 'a time such as 2026-11-15T10:00:00Z')
    .optional(),
})

export type CardRow = z.infer<typeof cardRow>

export interface RowProblem {
  readonly field: string
  readonly message: string
}

export interface ReadRow {
  readonly account: Account
  readonly card: Card
  /** Rows that share an account give its balance once. */
  readonly givesBalance: boolean
  readonly shown: ShownRow
}

/** What is only shown of a card; nothing where the row gives none. */
export type ShownRow = Pick<CardRow, keyof typeof shownFields>

export function readCardRow(json: unknown): ReadRow | RowProblem[] {
  const parsed = cardRow.safeParse(json)
  if (!parsed.success) {
    return parsed.error.issues.map((issue) => ({
      field: issue.path.join('.'),
      message: isMissing(issue, json) ? 'is required' : issue.message,
    }))
  }
  const row = parsed.data
  const problems: RowProblem[] = []
  const minor = (field: string, text: string): number => {
    const negative = text.startsWith('-') && field === 'balance'
    const value = parseMinor(negative ? text.slice(1) : text, row.currency)
    if (typeof value === 'number') return negative ? -value : value
    problems.push({ field, message: `${value} for an amount in ${row.currency}` })
    return 0
  }
  const limit = (field: 'dailyLimit' | 'transactionLimit'): number | null => {
    const text = row.cardLimits[field]
    return text === undefined ? null : minor(`cardLimits.${field}`, text)
  }
  const balanceMinor = row.balance === undefined ? 0 : minor('balance', row.balance)
  const accountId = row.accountId ?? row.cardId
  const account: Account = {
    ...noAccount,
    accountId,
    organizationId: row.organizationId ?? '',
    currency: row.currency,
    country: row.country ?? '',
    openingMinor: balanceMinor,
    postedMinor: balanceMinor,
  }
  const card: Card = {
    ...noCard,
    cardId: row.cardId,
    customerId: row.customerId,
    accountId,
    type: row.type,
    status: row.status,
    terminatedBy: row.status === 'Terminated' ? 'operator' : '',
    expiry: row.expiry ?? '',
    replaces: row.replaces ?? '',
    dailyLimitMinor: limit('dailyLimit'),
    transactionLimitMinor: limit('transactionLimit'),
    allowedMccs: row.whiteListedMccs,
    blockedMccs: row.blackListedMccs,
    allowedMids: row.whiteListedMids,
    blockedMids: row.blackListedMids,
    unblockedMids: row.unblockedMids,
    swipesLeft: row.swipeCount ?? null,
    contactlessPayment: row.contactlessPayment ?? false,
    customerType: row.customerType ?? '',
    issued: row.issued ?? 'imported',
    metadata: Object.entries(row.metadata ?? {}).flat(),
    issuedAtMs: row.issuedAt === undefined ? 0 : (parseTimestamp(row.issuedAt) ?? 0),
  }
  if (row.type === 'lite' && row.swipeCount === undefined) {
    problems.push({ field: 'swipeCount', message: 'a lite card needs its number of swipes' })
  }
  if (problems.length > 0) return problems
  return { account, card, givesBalance: row.balance !== undefined, shown: shownOf(row) }
}

function shownOf(row: ShownRow): ShownRow {
  const names = Object.keys(shownFields) as (keyof ShownRow)[]
  return Object.fromEntries(
    names.flatMap((name) => (row[name] === undefined ? [] : [[name, row[name]]])),
  )
}

function isMissing({ path }: z.core.$ZodIssue, json: unknown): boolean {
  const [name] = path
  return path.length === 1 && typeof json === 'object' && json !== null && !(name! in json)
}

/** The row that would import this card as it is now. */
export function writeCardRow(
  account: Account,
  card: Card,
  givesBalance: boolean,
  shown: ShownRow = {},
): CardRow {
  const { currency } = account
  const limits = { dailyLimit: card.dailyLimitMinor, transactionLimit: card.transactionLimitMinor }
  const given = Object.entries(limits).flatMap(([name, minor]) =>
    minor === null ? [] : [[name, formatMinor(minor, currency)]],
  )
  return {
    cardId: card.cardId,
    customerId: card.customerId,
    accountId: account.accountId,
    ...(account.organizationId === '' ? {} : { organizationId: account.organizationId }),
    ...(account.country === '' ? {} : { country: account.country }),
    type: card.type,
    status: card.status,
    currency,
    ...(givesBalance ? { balance: formatMinor(account.postedMinor, currency) } : {}),
    ...(card.expiry === '' ? {} : { expiry: card.expiry }),
    ...(card.replaces === '' ? {} : { replaces: card.replaces }),
    cardLimits: Object.fromEntries(given),
    whiteListedMccs: [...card.allowedMccs],
    blackListedMccs: [...card.blockedMccs],
    whiteListedMids: [...card.allowedMids],
    blackListedMids: [...card.blockedMids],
    unblockedMids: [...card.unblockedMids],
    ...(card.swipesLeft === null ? {} : { swipeCount: card.swipesLeft }),
    ...shownOf(shown),
    ...(card.contactlessPayment ? { contactlessPayment: true } : {}),
    ...(card.customerType === '' ? {} : { customerType: card.customerType }),
    ...(card.issued === '' ? {} : { issued: card.issued }),
    ...(card.issuedAtMs === 0 ? {} : { issuedAt: new Date(card.issuedAtMs).toISOString() }),
  }
}
