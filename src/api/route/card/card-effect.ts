import type { AccountView, AccountWrite } from '../../../engine/change/account-change.ts'
import { type CardDetails, decodeDetails, putDetails } from '../../../engine/format/card-details.ts'
import { cardDetailsKey } from '../../../engine/format/layout.ts'
import { accountIdOfCard, type WholeCard } from '../../../management/card.ts'
import { type Refused, refuse } from '../../condition.ts'
import type { ApiContext } from '../../context.ts'
import type { ApiCall, Done } from '../../route.ts'

/** A card of the caller, as one change of it finds it and leaves it. */
export interface OpenCard extends WholeCard {
  operate: AccountView['operate']
  /** With what was operated so far. */
  now(details?: CardDetails): WholeCard
}

interface CardChange<D> {
  readonly data: D
  /** Absent: they stay as they are. */
  readonly details?: CardDetails
}

export const ofCards = ['cardUnknown'] as const

/**
 * Changes one card by a call, once for its Reference. `decide` may be called several times, and refuses first;
 * what it operated is written with what it returns.
 */
export async function affectCard<D>(
  { engine, effects }: Pick<ApiContext, 'engine' | 'effects'>,
  call: ApiCall,
  cardId: string,
  decide: (card: OpenCard) => CardChange<D> | Refused,
): Promise<Done<D> | Refused> {
  const accountId = await accountIdOfCard({ engine }, cardId)
  const unknown = refuse('cardUnknown')
  if (accountId === null) return unknown
  const key = cardDetailsKey(cardId)
  const change = (view: AccountView): { data: D; write: AccountWrite } | Refused => {
    const { account } = view
    const card = view.card(cardId)
    const details = decodeDetails(view.child(key))
    const isOwn = account?.organizationId === call.caller.organization.organizationId
    if (!isOwn || card === null) return unknown
    const decided = decide({
      account,
      card,
      details,
      operate: view.operate,
      now: (after = details) => ({
        account: view.account ?? account,
        card: view.card(cardId) ?? card,
        details: after,
      }),
    })
    if ('condition' in decided) return decided
    const put = decided.details === undefined ? [] : [putDetails(cardId, decided.details)]
    return { data: decided.data, write: { put } }
  }
  return effects.onAccount(call, accountId, change, [key])
}

/** Refuses what cannot be done to a card that has ended. */
export function refuseEnded({ card }: WholeCard): Refused | null {
  return card.status === 'Terminated' ? refuse('cardClosed') : null
}

/** The checks came first: what an operation still refuses is a bug. */
export function operateOn(
  card: OpenCard,
  operation: Parameters<OpenCard['operate']>[0],
  reason = '',
): void {
  const refused = card.operate(operation, reason)
  if (refused !== '') throw new Error(`an operation of the API was refused: ${refused}`)
}
