import type { Card } from '../../../domain/record/card.ts'
import { walletAggregate } from '../../../engine/format/layout.ts'
import type { WholeCard } from '../../../management/card.ts'
import { type Customer, isNegative, readCustomer } from '../../../management/customer.ts'
import { type CardDraft, cardFrom, expiryOf, newDraft } from '../../../management/issue.ts'
import { readReference } from '../../../management/reference.ts'
import { isRefused, type Refused, refuse } from '../../condition.ts'
import type { ApiContext } from '../../context.ts'
import { minorIn } from '../../field.ts'
import { type ApiCall, type Done, defineRoute, type Route } from '../../route.ts'
import { limitsOf, refuseNumber } from './card.ts'
import {
  type ChosenCard,
  type IssuedData,
  issueRefusals,
  issuing,
  liteBody,
  retailBody,
} from './issue-body.ts'

/** The operations that issue a card like no other. */
export function issueRoutes(context: ApiContext): readonly Route[] {
  return [
    plainRoute(context, 'retail', 'Issue a card without money, to be topped up'),
    plainRoute(context, 'corporate', 'Issue a card to a business'),
    liteRoute(context),
  ]
}

/** One card to issue, as far as the call says it. */
interface IssueAsked {
  readonly customer: Customer
  readonly draft: CardDraft
  readonly currency: string
  readonly amountMinor: number
  readonly joins?: WholeCard
  readonly terminates?: string
}

/** The checks that can change are made where the effect is: see `TransferDesk.issue`. */
export function issueCard(
  { store, transfers, numbers }: ApiContext,
  call: ApiCall,
  { customer, draft, currency, amountMinor, joins, terminates = '' }: IssueAsked,
): Promise<Done<IssuedData> | Refused> {
  const { organization } = call.caller
  const { customerId } = customer
  const { type } = draft.card
  return transfers.issue<IssuedData>(call, {
    currency,
    amountMinor,
    joins: joins?.account.accountId ?? null,
    async check() {
      const now = (await readCustomer(store, customerId)) ?? customer
      const unfit = unfitFor(type, now)
      if (unfit !== null) return unfit
      return (await isNegative(store, now))
        ? refuse('negativeBalance', `a card of ${customerId} is negative`)
        : null
    },
    async prepare(ids) {
      const expiry = expiryOf(organization, call.nowMs)
      const { nameOnCard } = draft.details
      const asked = { cardId: ids.cardId, customerId, type, currency, expiry, nameOnCard }
      const number = await numbers.make(asked)
      if (typeof number === 'string') return refuseNumber(number)
      const of = { ...ids, customer, organization, currency, number, nowMs: call.nowMs }
      return { ...cardFrom(draft, { ...of, joins: joins?.account ?? null }), terminates }
    },
  })
}

export function unfitFor(type: Card['type'], customer: Customer): Refused | null {
  if (customer.suspended) return refuse('customerNotApproved', 'the customer is suspended')
  if (type === 'corporate' && customer.type !== 'business') {
    return refuse('customerNotApproved', 'a corporate card is for a business')
  }
  return null
}

/** null when there is none of the caller's organization. */
export async function customerOf({ store }: ApiContext, call: ApiCall, id: string) {
  const found = await readCustomer(store, id)
  return found?.organizationId === call.caller.organization.organizationId ? found : null
}

/** What a body says instead of what would be so without it. */
export function drafted(draft: CardDraft, body: ChosenCard, currency: string): CardDraft | Refused {
  const limits = limitsOf(body.cardLimits ?? {}, currency)
  if (isRefused(limits)) return limits
  const { whiteListedMccs, blackListedMccs, contactlessPayment } = body
  const card = {
    ...draft.card,
    ...limits,
    ...(whiteListedMccs && { allowedMccs: [...new Set(whiteListedMccs)] }),
    ...(blackListedMccs && { blockedMccs: [...new Set(blackListedMccs)] }),
    ...(contactlessPayment !== undefined && { contactlessPayment }),
  }
  const details = {
    nameOnCard: body.nameOnCard ?? draft.details.nameOnCard,
    address: body.address ?? draft.details.address,
    metadata: body.metadata ?? draft.details.metadata,
  }
  return { card, details }
}

/**
 * Where an attempt of the same call began, or ''. It goes on with the currency that it found then: its Reference is
 * bound to that wallet.
 */
export async function begunAt(context: ApiContext, call: ApiCall): Promise<string> {
  const { clientId, reference } = call.caller
  const begun = await readReference(context, { clientId, reference }, call.nowMs)
  return begun?.hash === call.request.hash ? begun.home : ''
}

/** A card in a currency that the call names, or in the organization's first; '' when it has none such. */
async function currencyOf(context: ApiContext, call: ApiCall, given: string | undefined) {
  const { organizationId, currencies } = call.caller.organization
  if (given !== undefined) return currencies.includes(given) ? given : ''
  const home = await begunAt(context, call)
  return currencies.find((one) => walletAggregate(organizationId, one) === home) ?? currencies[0]!
}

function plainRoute(context: ApiContext, type: 'retail' | 'corporate', summary: string): Route {
  return defineRoute({
    ...issuing,
    operation: `cards.issue.${type}`,
    summary,
    path: `/cards/${type}`,
    body: retailBody,
    refusals: issueRefusals,
    handle: (call) => issueNew(context, call, type, null),
  })
}

function liteRoute(context: ApiContext): Route {
  return defineRoute({
    ...issuing,
    operation: 'cards.issue.lite',
    summary: 'Issue a card with money of the wallet, for a number of swipes',
    path: '/cards/lite',
    body: liteBody,
    refusals: [...issueRefusals, 'fundsMissing'],
    handle: (call) => issueNew(context, call, 'lite', call.body),
  })
}

/** A card that is like no other; `lite` has what only such a card has. */
async function issueNew(
  context: ApiContext,
  call: ApiCall<
    unknown,
    unknown,
    ChosenCard & { customerId: string; currency?: string | undefined }
  >,
  type: Card['type'],
  lite: { readonly balance: string; readonly swipeCount: number } | null,
): Promise<Done<IssuedData> | Refused> {
  const { body } = call
  const currency = await currencyOf(context, call, body.currency)
  const amountMinor = lite && currency !== '' ? minorIn(lite.balance, currency, 'balance') : 0
  if (typeof amountMinor !== 'number') return amountMinor
  const customer = await customerOf(context, call, body.customerId)
  const draft = customer && drafted(newDraft(type, customer), body, currency || 'USD')
  if (draft !== null && isRefused(draft)) return draft
  if (customer === null || draft === null) return refuse('recordUnknown')
  if (currency === '') {
    // Nothing can ever be issued in it, so this needs no commit of a wallet.
    return unfitFor(type, customer) ?? refuse('currencyNotSupported')
  }
  const card = { ...draft.card, swipesLeft: lite?.swipeCount ?? null }
  return issueCard(context, call, { customer, draft: { ...draft, card }, currency, amountMinor })
}
