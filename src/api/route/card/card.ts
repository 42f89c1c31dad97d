import { z } from 'zod'
import type { CardSettings, Operation } from '../../../domain/operation/operation.ts'
import { readCard, shownCard } from '../../../management/card.ts'
import { isRefused, type Refused, refuse } from '../../condition.ts'
import type { ApiContext } from '../../context.ts'
import { cardParams, limit, mccs, metadata, minorIn, reason } from '../../field.ts'
import { type ApiCall, defineRoute, type Route } from '../../route.ts'
import { cardData } from './card-data.ts'
import { affectCard, ofCards, operateOn, refuseEnded } from './card-effect.ts'

const nothing = z.object({})

const updateBody = z.object({
  cardLimits: z
    .object({
      dailyLimit: limit.nullable().optional(),
      transactionLimit: limit.nullable().optional(),
    })
    .optional(),
  whiteListedMccs: mccs.optional(),
  blackListedMccs: mccs.optional(),
  contactlessPayment: z.boolean().optional(),
  metadata: metadata.optional(),
})

type Update = z.output<typeof updateBody>

export function cardDetailRoutes(context: ApiContext): readonly Route[] {
  return [showRoute(context), fullRoute(context), updateRoute(context), ...statusRoutes(context)]
}

function showRoute(context: ApiContext): Route {
  return defineRoute({
    operation: 'cards.show',
    summary: 'A card, its number masked',
    method: 'GET',
    path: '/cards/:cardId',
    scope: 'CardAPIs.Read',
    params: cardParams,
    query: nothing,
    body: nothing,
    data: cardData,
    reads: true,
    refusals: ofCards,
    async handle({ caller, params: { cardId } }) {
      const found = await readCard(context, caller.organization.organizationId, cardId)
      return found === null ? refuse('cardUnknown') : { data: shownCard(found) }
    },
  })
}

/** Each call is a line in the log, with client and Reference; nothing of the number is kept on the way. */
function fullRoute(context: ApiContext): Route {
  const { numbers } = context
  return defineRoute({
    operation: 'cards.full',
    summary: 'A card with its whole number and CVV',
    method: 'GET',
    path: '/cards/:cardId/full',
    scope: 'CardAPIs.Pan',
    params: cardParams,
    query: nothing,
    body: nothing,
    data: cardData.extend({ pan: z.string(), cvv: z.string() }),
    reads: true,
    refusals: [...ofCards, 'notPermitted', 'providerFailed', 'providerTimedOut'],
    async handle({ caller, params: { cardId } }) {
      const found = await readCard(context, caller.organization.organizationId, cardId)
      if (found === null) return refuse('cardUnknown')
      const number = await numbers.read(cardId)
      if (number === 'none') return refuse('notPermitted', 'the number of this card is not kept')
      if (typeof number === 'string') return refuseNumber(number)
      return { data: { ...shownCard(found), pan: number.pan, cvv: number.cvv } }
    },
  })
}

/** What the source of numbers did wrong. */
export function refuseNumber(fault: 'failed' | 'timedOut'): Refused {
  return refuse(fault === 'failed' ? 'providerFailed' : 'providerTimedOut', 'card numbers')
}

function updateRoute(context: ApiContext): Route {
  return defineRoute({
    operation: 'cards.update',
    summary: 'Change limits, MCC lists, contactless payment or metadata of a card',
    method: 'PATCH',
    path: '/cards/:cardId',
    scope: 'CardAPIs',
    params: cardParams,
    query: nothing,
    body: updateBody,
    data: cardData,
    reads: false,
    refusals: [...ofCards, 'cardClosed', 'amountMalformed'],
    handle(call) {
      const { params, body } = call
      return affectCard(context, call, params.cardId, (open) => {
        const ended = refuseEnded(open)
        if (ended !== null) return ended
        const set = settingsOf(body, open.account.currency)
        if (isRefused(set)) return set
        // Nothing below may refuse.
        operateOn(open, { type: 'changeCard', cardId: params.cardId, set })
        if (body.metadata === undefined) return { data: shownCard(open.now()) }
        const details = { ...open.details, metadata: body.metadata }
        return { data: shownCard(open.now(details)), details }
      })
    },
  })
}

function settingsOf(body: Update, currency: string): CardSettings | Refused {
  const { whiteListedMccs, blackListedMccs, contactlessPayment, metadata: named } = body
  const limits = limitsOf(body.cardLimits ?? {}, currency)
  if (isRefused(limits)) return limits
  return {
    ...limits,
    ...(whiteListedMccs && { allowedMccs: [...new Set(whiteListedMccs)] }),
    ...(blackListedMccs && { blockedMccs: [...new Set(blackListedMccs)] }),
    ...(contactlessPayment !== undefined && { contactlessPayment }),
    ...(named && { metadata: Object.entries(named).flat() }),
  }
}

/** Limits as a body gives them; one that it leaves out is left out. */
export function limitsOf(
  given: NonNullable<Update['cardLimits']>,
  currency: string,
): Pick<CardSettings, 'dailyLimitMinor' | 'transactionLimitMinor'> | Refused {
  const limits: { dailyLimitMinor?: number | null; transactionLimitMinor?: number | null } = {}
  for (const name of ['dailyLimit', 'transactionLimit'] as const) {
    const text = given[name]
    if (text === undefined) continue
    const minor = text === null ? null : minorIn(text, currency, `cardLimits.${name}`)
    if (minor !== null && typeof minor !== 'number') return minor
    limits[`${name}Minor`] = minor
  }
  return limits
}

interface StatusChange {
  readonly name: 'freeze' | 'unfreeze' | 'terminate'
  readonly summary: string
  /** Whether a card that has ended may be told so again. */
  readonly ends?: true
  operation(cardId: string): Operation
}

const statusChanges: readonly StatusChange[] = [
  {
    name: 'freeze',
    summary: 'Decline what a card asks, until it is unfrozen',
    operation: (cardId) => ({ type: 'changeCard', cardId, set: { status: 'Frozen' } }),
  },
  {
    name: 'unfreeze',
    summary: 'Make a frozen card active again',
    operation: (cardId) => ({ type: 'unfreeze', cardId }),
  },
  {
    name: 'terminate',
    summary: 'End a card for good; its balance stays',
    ends: true,
    operation: (cardId) => {
      const set = { status: 'Terminated', terminatedBy: 'operator' } as const
      return { type: 'changeCard', cardId, set }
    },
  },
]

function statusRoutes(context: ApiContext): Route[] {
  return statusChanges.map(({ name, summary, ends, operation }) =>
    defineRoute({
      operation: `cards.${name}`,
      summary,
      method: 'POST',
      path: `/cards/:cardId/${name}`,
      scope: 'CardAPIs',
      params: cardParams,
      query: nothing,
      body: z.object({ reason }),
      data: cardData,
      reads: false,
      refusals: ends ? ofCards : [...ofCards, 'cardClosed'],
      handle(call: ApiCall<{ cardId: string }, unknown, { reason?: string | undefined }>) {
        const { cardId } = call.params
        return affectCard(context, call, cardId, (open) => {
          const ended = ends ? null : refuseEnded(open)
          if (ended !== null) return ended
          // Nothing below may refuse.
          operateOn(open, operation(cardId), call.body.reason)
          return { data: shownCard(open.now()) }
        })
      },
    }),
  )
}
