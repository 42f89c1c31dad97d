import { z } from 'zod'
import { availableMinor } from '../../domain/record/account.ts'
import { decimalsOf } from '../../domain/record/currency.ts'
import { formatMinor, majorOf } from '../../domain/record/money.ts'
import { accountAggregate, walletAggregate } from '../../engine/format/layout.ts'
import { readCard, type WholeCard } from '../../management/card.ts'
import type { Organization } from '../../management/organization.ts'
import { cardsOfAccount } from '../../management/transfer/account-cards.ts'
import type { SideView } from '../../management/transfer/side.ts'
import type { PlannedTransfer } from '../../management/transfer/transfers.ts'
import { isRefused, type Refused, refuse, refuseField } from '../condition.ts'
import type { ApiContext } from '../context.ts'
import { amount, cardId, cardParams, currency, minorIn, narration } from '../field.ts'
import { noWallet, walletCovers } from '../money/transfer-desk.ts'
import { type ApiCall, defineRoute, type Route } from '../route.ts'
import { transferData } from './money-field.ts'

const nothing = z.object({})
const moved = z.object({ amount, currency: currency.optional(), narration })

const common = { method: 'POST', scope: 'CardAPIs', query: nothing, reads: false } as const
const refusals = [
  'cardUnknown',
  'amountMalformed',
  'amountTooLarge',
  'fundsMissing',
  'currencyNotSupported',
  'notPermitted',
] as const

/** Between wallets and cards, and between cards. */
export function moneyRoutes(context: ApiContext): readonly Route[] {
  return [topUp(context), withdrawal(context), cardToCard(context), regularize(context)]
}

function topUp(context: ApiContext): Route {
  return defineRoute({
    ...common,
    operation: 'cards.topUp',
    summary: 'Money from the wallet to a card',
    path: '/cards/:cardId/topup',
    params: cardParams,
    body: moved,
    data: transferData,
    refusals: [...refusals, 'cardClosed', 'topUpTooLarge'],
    async handle(call) {
      const found = await amountFor(context, call)
      if (isRefused(found)) return found
      const { whole, amountMinor } = found
      const refusal = topUpRefusal(whole, call.body.currency, amountMinor, call.caller.organization)
      const planned = { ...plannedFor(call, whole, amountMinor), type: 'TopUp' } as const
      const from = walletOf(call, whole)
      return context.transfers.run(call, {
        home: walletAggregate(from.organizationId, from.currency),
        prepare: async () =>
          refusal === null ? { transfer: { ...planned, from, to: cardOf(whole) } } : { refusal },
        check(view) {
          const { currency } = whole.account
          return walletCovers(view, amountMinor, currency, call.caller.organization)
        },
      })
    },
  })
}

function topUpRefusal(
  { account, card }: WholeCard,
  said: string | undefined,
  amountMinor: number,
  { maxTopUpMinor }: Organization,
): Refused | null {
  const { cardId, status, type } = card
  if (status === 'Terminated') return refuse('cardClosed', `card ${cardId} is Terminated`)
  if (type === 'lite') return refuse('notPermitted', 'a lite card cannot be topped up')
  if (said !== undefined && said !== account.currency) return otherCurrency(account.currency)
  const maxMinor = maxTopUpMinor[account.currency] ?? Number.POSITIVE_INFINITY
  if (amountMinor <= maxMinor) return null
  const most = `${formatMinor(maxMinor, account.currency)} ${account.currency}`
  return refuse('topUpTooLarge', `one top-up is at most ${most}`)
}

function withdrawal(context: ApiContext): Route {
  return defineRoute({
    ...common,
    operation: 'cards.withdrawal',
    summary: 'Money from a card back to the wallet',
    path: '/cards/:cardId/withdrawal',
    params: cardParams,
    body: moved,
    data: transferData,
    refusals,
    async handle(call) {
      const found = await amountFor(context, call)
      if (isRefused(found)) return found
      const { whole, amountMinor } = found
      const cardIds = await cardsOfAccount(context.store, whole)
      const planned = { ...plannedFor(call, whole, amountMinor), type: 'Withdrawal' } as const
      return context.transfers.run(call, {
        home: accountAggregate(whole.account.accountId),
        prepare: async () => ({
          transfer: { ...planned, from: cardOf(whole), to: walletOf(call, whole) },
        }),
        check(view) {
          const { card } = current(view, whole.card.cardId)
          if (card.type === 'lite' && card.status !== 'Terminated') {
            return refuse('notPermitted', 'a lite card keeps its money until it is Terminated')
          }
          const { organization } = call.caller
          const { currency } = whole.account
          const said = call.body.currency
          if (said !== undefined && said !== currency) return otherCurrency(currency)
          // An imported card may be in one that its organization does not have: no list would show the money again.
          if (!organization.currencies.includes(currency)) return noWallet(currency)
          const cards = view.account!.cards(cardIds)
          const ended = cards.every((one) => one?.status === 'Terminated')
          const keptMinor = ended ? 0 : minimumOf(organization, currency)
          return accountCovers(view, amountMinor, keptMinor)
        },
      })
    },
  })
}

const noBeneficiary = 'there is no such beneficiary'

function cardToCard(context: ApiContext): Route {
  return defineRoute({
    ...common,
    operation: 'cards.transfer',
    summary: 'Money from one card to another',
    path: '/cards/transfer',
    params: nothing,
    body: z.object({ sourceCardId: cardId, beneficiaryCardId: cardId, amount, narration }),
    data: transferData,
    refusals: [...refusals, 'fieldNotAllowed', 'cardClosed', 'cardNotActive'],
    async handle(call) {
      const { sourceCardId, beneficiaryCardId } = call.body
      if (sourceCardId === beneficiaryCardId) {
        return refuseField('fieldNotAllowed', 'beneficiaryCardId', 'must be another card')
      }
      const found = await amountFor(context, call, sourceCardId)
      if (isRefused(found)) return found
      const { whole, amountMinor } = found
      const other = await knownCard(context, call, beneficiaryCardId, noBeneficiary)
      if (isRefused(other)) return other
      const planned = { ...plannedFor(call, whole, amountMinor), type: 'CardToCard' } as const
      return context.transfers.run(call, {
        home: accountAggregate(whole.account.accountId),
        prepare: async () => ({
          transfer: { ...planned, from: cardOf(whole), to: cardOf(other) },
        }),
        check: (view) =>
          cardToCardRefusal(current(view, sourceCardId), other) ??
          accountCovers(view, amountMinor, 0),
      })
    },
  })
}

type CardNow = Pick<WholeCard, 'account' | 'card'>

function cardToCardRefusal(source: CardNow, beneficiary: CardNow): Refused | null {
  const both = [source, beneficiary]
  const closed = both.find(({ card }) => card.status === 'Terminated')
  if (closed) return refuse('cardClosed', `card ${closed.card.cardId} is Terminated`)
  const frozen = both.find(({ card }) => card.status === 'Frozen')
  if (frozen) return refuse('cardNotActive', `card ${frozen.card.cardId} is Frozen`)
  const lite = both.find(({ card }) => card.type === 'lite')
  if (lite) return refuse('notPermitted', `card ${lite.card.cardId} is a lite card`)
  if (source.account.accountId === beneficiary.account.accountId) {
    return refuse('notPermitted', 'both cards draw on the same account')
  }
  const { currency } = source.account
  return currency === beneficiary.account.currency ? null : otherCurrency(currency)
}

function regularize(context: ApiContext): Route {
  return defineRoute({
    ...common,
    operation: 'cards.regularize',
    summary: 'Brings a Terminated card that owes money to 0.00, from the wallet',
    path: '/cards/:cardId/regularize',
    params: cardParams,
    body: z.object({ narration }),
    data: transferData,
    refusals: [
      'cardUnknown',
      'notPermitted',
      'currencyNotSupported',
      'fundsMissing',
      'changedMeanwhile',
    ],
    async handle(call) {
      const { cardId } = call.params
      const whole = await knownCard(context, call, cardId)
      if (isRefused(whole)) return whole
      const from = walletOf(call, whole)
      return context.transfers.run(call, {
        home: walletAggregate(from.organizationId, from.currency),
        triesAgain: 3,
        async prepare() {
          const now = await knownCard(context, call, cardId)
          if (isRefused(now)) return { refusal: now }
          const cardIds = await cardsOfAccount(context.store, now)
          const all = await Promise.all(cardIds.map((id) => knownCard(context, call, id)))
          const live = all.some((one) => !isRefused(one) && one.card.status !== 'Terminated')
          if (live) return { refusal: refuse('notPermitted', 'not all cards are Terminated') }
          const { postedMinor } = now.account
          if (postedMinor >= 0) return { refusal: refuse('notPermitted', 'the card owes nothing') }
          const planned = {
            ...plannedFor(call, now, -postedMinor),
            type: 'Regularization',
          } as const
          return { transfer: { ...planned, from, to: cardOf(now) } }
        },
        check: (view, { amountMinor }) =>
          walletCovers(view, amountMinor, from.currency, call.caller.organization),
      })
    },
  })
}

/** The card of a call and the amount, in the currency that the call says: whether it is the card's is checked later. */
async function amountFor(
  context: ApiContext,
  call: ApiCall<unknown, unknown, { amount: string; currency?: string | undefined }>,
  cardId = (call.params as { cardId: string }).cardId,
): Promise<{ readonly whole: WholeCard; readonly amountMinor: number } | Refused> {
  const whole = await knownCard(context, call, cardId)
  if (isRefused(whole)) return whole
  const { amount, currency = whole.account.currency } = call.body
  const amountMinor = minorIn(amount, currency, 'amount')
  return typeof amountMinor === 'number' ? { whole, amountMinor } : amountMinor
}

/** What is no card may be the number of one, so it is not said back. */
async function knownCard(
  context: ApiContext,
  { caller }: Pick<ApiCall, 'caller'>,
  cardId: string,
  unless = 'there is no such card',
): Promise<WholeCard | Refused> {
  const found = await readCard(context, caller.organization.organizationId, cardId)
  return found ?? refuse('cardUnknown', unless)
}

function plannedFor(
  { body }: ApiCall<unknown, unknown, { narration?: string | undefined }>,
  { account: { currency } }: WholeCard,
  amountMinor: number,
): Omit<PlannedTransfer, 'type' | 'from' | 'to'> {
  return { amountMinor, currency, narration: body.narration ?? '', opening: null, data: null }
}

function cardOf({ account: { accountId }, card: { cardId } }: WholeCard) {
  return { kind: 'card', accountId, cardId } as const
}

function walletOf({ caller }: Pick<ApiCall, 'caller'>, { account: { currency } }: WholeCard) {
  return { kind: 'wallet', organizationId: caller.organization.organizationId, currency } as const
}

/** The source as the commit finds it. */
function current({ account: view }: SideView, cardId: string): CardNow {
  const card = view?.card(cardId)
  const account = view?.account
  if (!card || !account) throw new Error('a card that was there is gone')
  return { account, card }
}

function accountCovers(
  { account: view }: SideView,
  amountMinor: number,
  keptMinor: number,
): Refused | null {
  const account = view!.account!
  const { currency } = account
  const hasMinor = availableMinor(account)
  if (amountMinor > hasMinor) {
    return refuse('fundsMissing', `${formatMinor(hasMinor, currency)} ${currency} is available`)
  }
  if (amountMinor <= hasMinor - keptMinor) return null
  const must = majorOf(keptMinor, currency)
  return refuse('fundsMissing', `${must} ${currency} must stay available`)
}

/** One major unit where the organization says nothing. */
function minimumOf({ minimumBalanceMinor }: Organization, currency: string): number {
  return minimumBalanceMinor[currency] ?? 10 ** decimalsOf(currency)
}

function otherCurrency(currency: string): Refused {
  return refuse('currencyNotSupported', `the card is in ${currency}`)
}
