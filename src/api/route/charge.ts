import { z } from 'zod'
import { availableMinor } from '../../domain/record/account.ts'
import { majorOf } from '../../domain/record/money.ts'
import type { AccountView } from '../../engine/change/account-change.ts'
import { indexes } from '../../engine/format/layout.ts'
import { balancesOf, readCard } from '../../management/card.ts'
import type { IndexEntry, Store } from '../../store/port.ts'
import { refuse } from '../condition.ts'
import type { ApiContext } from '../context.ts'
import { cardParams } from '../field.ts'
import { defineRoute, type Route } from '../route.ts'
import { balances } from './card/card-data.ts'

const nothing = z.object({})

const data = z.object({
  taken: z.number(),
  pending: z.number(),
  currency: z.string(),
  charges: z.array(z.object({ transactionId: z.string(), taken: z.number(), pending: z.number() })),
  balances,
})

/** Pending charges that one call takes; the rest is for the next. */
const maxCharges = 200
const perRead = 500
/** Of one account, whose oldest are looked for among these. */
const maxRead = 20_000

/** Cross-border charges that could not be taken when they were due. */
export function chargeRoutes(context: ApiContext): readonly Route[] {
  const { store, effects } = context
  return [
    defineRoute({
      operation: 'cards.charges.reprocess',
      summary: 'Takes pending cross-border charges, the oldest first, as far as what is available',
      method: 'POST',
      path: '/cards/:cardId/charges/reprocess',
      scope: 'CardAPIs',
      params: cardParams,
      query: nothing,
      body: nothing,
      data,
      reads: false,
      refusals: ['cardUnknown', 'fundsMissing'],
      async handle(call) {
        const { cardId } = call.params
        const whole = await readCard(context, call.caller.organization.organizationId, cardId)
        if (whole === null) return refuse('cardUnknown', 'there is no such card')
        const { accountId, currency } = whole.account
        const pending = await pendingCharges(store, accountId)
        const major = (minor: number) => majorOf(minor, currency)
        return effects.onAccount<z.input<typeof data>>(call, accountId, (view) => {
          const before = view.account!
          if (before.chargesPendingMinor > 0 && availableMinor(before) <= 0) {
            return refuse('fundsMissing', 'nothing is available to take charges from')
          }
          view.readTransactions(pending)
          const charges = pending.flatMap((place) => {
            const taken = takeAt(view, place)
            if (taken === null) return []
            const { takenMinor, pendingMinor } = taken
            const { transactionId } = place
            return [{ transactionId, taken: major(takenMinor), pending: major(pendingMinor) }]
          })
          const after = view.account!
          const answer = {
            taken: major(after.chargesTakenMinor - before.chargesTakenMinor),
            pending: major(after.chargesPendingMinor),
            currency,
            charges,
            balances: balancesOf(after),
          }
          return { data: answer, write: {} }
        })
      },
    }),
  ]
}

interface ChargePlace {
  readonly cardId: string
  readonly transactionId: string
}

async function pendingCharges(store: Store, accountId: string): Promise<readonly ChargePlace[]> {
  const prefix = `${accountId}\n`
  const pending: IndexEntry[] = []
  for (let after = prefix; pending.length < maxRead; after = pending.at(-1)!.sortKey) {
    const entries = await store.range(indexes.charges, after, perRead)
    const own = entries.filter(({ sortKey }) => sortKey.startsWith(prefix))
    pending.push(...own)
    if (own.length < perRead) break
  }
  const oldestFirst = pending.sort((a, b) => Number(a.value) - Number(b.value))
  return oldestFirst.slice(0, maxCharges).map(({ sortKey }) => {
    const [cardId = '', transactionId = ''] = sortKey.slice(prefix.length).split('\n')
    return { cardId, transactionId }
  })
}

/** What is left of one charge after as much was taken as is available; null where nothing was pending. */
function takeAt(view: AccountView, { cardId, transactionId }: ChargePlace) {
  const beforeMinor = view.transaction(cardId, transactionId)?.chargePendingMinor ?? 0
  if (beforeMinor === 0) return null
  const refused = view.operate({ type: 'takeCharge', cardId, transactionId })
  if (refused !== '') throw new Error(`a pending charge cannot be taken: ${refused}`)
  const pendingMinor = view.transaction(cardId, transactionId)!.chargePendingMinor
  return { takenMinor: beforeMinor - pendingMinor, pendingMinor }
}
