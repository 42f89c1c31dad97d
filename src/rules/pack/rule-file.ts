import { z } from 'zod'
import { dayMs } from '../../clock.ts'
import { strict } from '../../document/schema-words.ts'
import { suggestion } from '../../document/spelling.ts'
import { aboves } from '../../domain/decide/pack.ts'
import { dayIndexOfText } from '../../domain/record/calendar.ts'
import { requestTypes } from '../../domain/record/event.ts'
import { declineCodes, isResponseCode, responseCodes } from '../../domain/record/response-code.ts'
import { askTypes } from '../condition/fact.ts'
import { shareOfText } from './rollout.ts'
import { durationText, isWithin } from './window-file.ts'

export const maxRules = 10_000

const condition = z
  .union([z.string().min(1), z.boolean()], { error: explainCondition })
  .transform(String)

function explainCondition({ input }: z.core.$ZodRawIssue): string {
  if (input === undefined || input === null) return 'is required'
  return 'must be a condition, such as amount > 200'
}

const listName = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be the name of a list, without lists/ and .txt')

function explainAsk({ input }: z.core.$ZodRawIssue): string {
  const asks = `on takes ${askTypes.join(', ')}`
  if (typeof input !== 'string') return `must be a request type: ${asks}`
  if (Object.hasOwn(requestTypes, input))
    return `${input} is an advice and cannot be declined: ${asks}`
  return `${input} is no request type${suggestion(input, askTypes) || `: ${asks}`}`
}

function explainCode({ input }: z.core.$ZodRawIssue): string {
  if (input === undefined || input === null) return 'is required'
  if (typeof input === 'number') return `must be a text: write "${input}"`
  if (typeof input !== 'string') return 'must be a response code, such as "127"'
  if (!isResponseCode(input))
    return `${input} is no response code${suggestion(input, declineCodes)}`
  const { meaning, finality } = responseCodes[input]
  return `${input} (${meaning}) is ${finality}: a rule declines with a TerminalFailure`
}

/** A day that exists: 2026-02-30 is refused. */
const day = z
  .string()
  .refine((text) => dayIndexOfText(text) !== null, 'must be a day such as 2026-12-31')

const share = z
  .string({ error: 'must be a share such as 10%' })
  .refine((text) => shareOfText(text) !== null, 'must be above 0% and at most 100%, such as 10%')

const breakerTime = durationText.refine(
  (text) => isWithin(text, 10_000, dayMs),
  'must be from 10s to 24h',
)

const breaker = strict({
  declines: z.int().min(1).max(1_000_000).optional().describe('More declines than this'),
  share: share.optional().describe('or a larger share of all asks than this'),
  within: breakerTime.describe('in this time'),
  minAsks: z.int().min(1).max(1_000_000).optional().describe('of at least so many asks; 100'),
})
  .refine(
    ({ declines, share }) => (declines === undefined) !== (share === undefined),
    'says when it trips by one of declines and share',
  )
  .refine(({ share, minAsks }) => minAsks === undefined || share !== undefined, {
    path: ['minAsks'],
    message: 'belongs to share',
  })

const code = z.enum(declineCodes as unknown as [string, ...string[]], { error: explainCode })

function explainReview(issue: z.core.$ZodRawIssue): string {
  return issue.input === undefined
    ? 'is required'
    : `must be approve, or a code: ${explainCode(issue)}`
}

const allowedRules = z.union([z.literal('all'), z.array(z.string()).min(1).max(1000)], {
  error: 'must be all, or a list of the ids of rules',
})

function explainAbove({ input }: z.core.$ZodRawIssue): string {
  return `${input} is nothing that a rule can stand above: name ${aboves.join(', ')}`
}

const allowance = strict({
  rules: allowedRules.default([]).describe('These rules do not decline it'),
  above: z
    .array(z.enum(aboves, { error: explainAbove }))
    .min(1)
    .describe('Nor do these checks of the card: its limits, its lists, the funds, being frozen'),
})

function explainAllow({ input }: z.core.$ZodRawIssue): string {
  const form = 'must be all, a list of the ids of rules, or { rules: …, above: [limits] }'
  const given = (input ?? {}) as { readonly above?: unknown }
  const wrong = [given.above].flat().find((one) => !(aboves as readonly unknown[]).includes(one))
  return given.above === undefined || wrong === undefined
    ? form
    : explainAbove({ input: wrong } as z.core.$ZodRawIssue)
}

/** What a rule does is said by one of these. */
export const actionFields = ['decline', 'review', 'allow', 'tag'] as const

/** A rule as its author writes it. */
export const ruleFile = strict({
  id: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'must be lower case letters, digits and -, at most 64')
    .describe('Stable: it is in every decision that the rule makes'),
  mode: z
    .enum(['enforce', 'shadow', 'off'])
    .default('enforce')
    .describe('shadow only records what it would have declined'),
  on: z
    .array(z.enum(askTypes as [string, ...string[]], { error: explainAsk }))
    .min(1)
    .optional()
    .describe('The asks that it looks at; without it, all'),
  when: condition.describe('It declines when this holds'),
  unless: condition.optional().describe('and this does not'),
  decline: code.optional().describe('The response code'),
  review: z
    .union([z.literal('approve'), code], { error: explainReview })
    .optional()
    .describe('Puts it on the list for people: approve, or decline with this code'),
  allow: z
    .union([allowedRules, allowance], { error: explainAllow })
    .optional()
    .describe('These rules do not decline it; checks of the card do, but for those in above'),
  tag: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'must be lower case letters, digits and -, at most 64')
    .optional()
    .describe('Only records this name with the decision'),
  why: z.string().min(1).max(500).describe('For people who ask about a decision'),
  owner: z.string().min(1).max(100).optional().describe('Who answers for the rule'),
  expires: day.optional().describe('From this day on, in the zone of the pack, it is off'),
  cards: listName.optional().describe('Only the card ids on this list'),
  customers: listName.optional().describe('Only the customer ids on this list'),
  organizations: listName.optional().describe('Only the organization ids on this list'),
  rollout: share.optional().describe('Enforced for this share of the cards, shadow for the rest'),
  seeding: z
    .enum(['shadow', 'enforce'])
    .optional()
    .describe('What it does until a window or fact that began empty has filled; shadow'),
  breaker: breaker.optional().describe('Past this it only records, on every instance, until armed'),
})

export type RuleFile = z.output<typeof ruleFile>

export const rulesFile = z.array(ruleFile).max(maxRules)

/** The list without its rules, which are checked one by one so that all faults are reported. */
export const ruleList = z.array(z.unknown()).max(maxRules)
