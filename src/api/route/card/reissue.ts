import type { z } from 'zod'
import { walletAggregate } from '../../../engine/format/layout.ts'
import { readCard, type WholeCard } from '../../../management/card.ts'
import type { Customer } from '../../../management/customer.ts'
import { draftLike, newestReissuable } from '../../../management/issue.ts'
import { isRefused, type Refused, refuse, refuseField } from '../../condition.ts'
import type { ApiContext } from '../../context.ts'
import { minorIn } from '../../field.ts'
import { type ApiCall, type Done, defineRoute, type Route } from '../../route.ts'
import { begunAt, customerOf, drafted, issueCard, unfitFor } from './issue.ts'
import { type IssuedData, issueRefusals, issuing, reissueBody } from './issue-body.ts'

type Reissue = z.output<typeof reissueBody>

export function reissueRoutes(context: ApiContext): readonly Route[] {
  return [reissueRoute(context)]
}

function reissueRoute(context: ApiContext): Route {
  return defineRoute({
    ...issuing,
    operation: 'cards.reissue',
    summary: 'Issue a card again: on the same balance, or with one of its own',
    path: '/cards/reissue',
    body: reissueBody,
    refusals: [...issueRefusals, 'cardUnknown', 'notPermitted', 'fundsMissing'],
    async handle(call) {
      const { body } = call
      const mistaken = mistakeIn(body)
      if (mistaken !== null) return mistaken
      const customer = await customerOf(context, call, body.customerId)
      if (customer === null) return refuse('recordUnknown')
      const original = await originalOf(context, call, customer)
      if (isRefused(original)) return unfitFor('retail', customer) ?? original
      return again(context, call, customer, original)
    },
  })
}

/** What excludes each other, or is missing for the kind of re-issue that is asked for. */
function mistakeIn(body: Reissue): Refused | null {
  const given = (field: keyof Reissue) => body[field] !== undefined
  const [wrong, needed] = body.sharedBalance
    ? (['initialBalance', 'cardId'] as const)
    : (['cardId', 'initialBalance'] as const)
  const told = `sharedBalance is ${body.sharedBalance}`
  if (given(wrong)) return refuseField('fieldNotAllowed', wrong, `must not be given: ${told}`)
  if (!given(needed)) return refuseField('fieldMissing', needed, `is required: ${told}`)
  if (!body.sharedBalance && given('terminateOriginal')) {
    return refuseField('fieldNotAllowed', 'terminateOriginal', `must not be given: ${told}`)
  }
  return null
}

async function originalOf(
  context: ApiContext,
  call: ApiCall<unknown, unknown, Reissue>,
  customer: Customer,
): Promise<WholeCard | Refused> {
  const { organizationId } = customer
  const { cardId } = call.body
  if (cardId !== undefined) {
    const found = await readCard(context, organizationId, cardId)
    if (found?.card.customerId !== customer.customerId) return refuse('cardUnknown')
    return found.card.type === 'lite' ? refuse('notPermitted', 'a lite card ends') : found
  }
  const home = await begunAt(context, call)
  const found = await newestReissuable(context.store, customer, ({ account: { currency } }) => {
    return home === '' || home === walletAggregate(organizationId, currency)
  })
  return found ?? refuse('cardUnknown', 'the customer has no retail or corporate card')
}

async function again(
  context: ApiContext,
  call: ApiCall<unknown, unknown, Reissue>,
  customer: Customer,
  original: WholeCard,
): Promise<Done<IssuedData> | Refused> {
  const { body } = call
  const { currency } = original.account
  const draft = drafted(draftLike(original, customer), body, currency)
  if (isRefused(draft)) return draft
  if (!body.sharedBalance) {
    const amountMinor = minorIn(body.initialBalance!, currency, 'initialBalance')
    if (typeof amountMinor !== 'number') return amountMinor
    return issueCard(context, call, { customer, draft, currency, amountMinor })
  }
  const replaces = original.card.cardId
  return issueCard(context, call, {
    customer,
    draft: { ...draft, card: { ...draft.card, replaces, issued: 'reissue-shared' } },
    currency,
    amountMinor: 0,
    joins: original,
    terminates: body.terminateOriginal === true ? replaces : '',
  })
}
