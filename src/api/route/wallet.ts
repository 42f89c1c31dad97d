import { z } from 'zod'
import { majorOf } from '../../domain/record/money.ts'
import { indexes, walletAggregate, walletEntriesPrefix } from '../../engine/format/layout.ts'
import { fundWallet } from '../../management/funding.ts'
import { newId } from '../../management/id.ts'
import {
  readableEntry,
  readWallets,
  shownWallet,
  type WalletEntry,
  walletEntryTypes,
} from '../../management/wallet.ts'
import type { WebhookEvent } from '../../webhook/event.ts'
import { openWalletEvents } from '../../webhook/wallet-event.ts'
import { refuse } from '../condition.ts'
import type { ApiContext } from '../context.ts'
import { amount, currency, minorIn, narration } from '../field.ts'
import { noWallet } from '../money/transfer-desk.ts'
import { defineRoute, type Route } from '../route.ts'
import { listOf, pageFields, pageRefusals, timeFields } from './list.ts'
import { transferData, wallet } from './money-field.ts'

const nothing = z.object({})
const params = z.object({ currency })
const type = z.enum(walletEntryTypes)

const item = z.object({
  transferId: z.string(),
  type,
  amount: z.number(),
  balance: z.number(),
  cardId: z.string().nullable(),
  reference: z.string(),
  at: z.string(),
})

/** What an organization has to fund its cards with. */
export function walletRoutes(context: ApiContext): readonly Route[] {
  return [wallets(context), entries(context), funding(context)]
}

function wallets({ store }: ApiContext): Route {
  return defineRoute({
    operation: 'wallets.list',
    summary: 'What the organization has to fund its cards with, by currency',
    method: 'GET',
    path: '/wallets',
    scope: 'CardAPIs.Read',
    params: nothing,
    query: nothing,
    body: nothing,
    data: z.object({ items: z.array(wallet) }),
    reads: true,
    refusals: [],
    async handle({ caller: { organization } }) {
      const { organizationId, currencies } = organization
      const found = await readWallets(store, organizationId, currencies)
      return { data: { items: found.map(shownWallet) } }
    },
  })
}

function entries({ lists }: ApiContext): Route {
  return defineRoute({
    operation: 'wallets.entries',
    summary: 'What moved the money of a wallet, the newest first',
    method: 'GET',
    path: '/wallets/:currency/entries',
    scope: 'CardAPIs.Read',
    params,
    query: z.object({ ...pageFields, ...timeFields, type: type.optional() }),
    body: nothing,
    data: listOf(item),
    reads: true,
    refusals: [...pageRefusals, 'currencyNotSupported'],
    async handle({ caller, params: { currency }, query, nowMs }) {
      const { organizationId, currencies } = caller.organization
      if (!currencies.includes(currency)) return noWallet(currency)
      const list = `wallets/${currency}`
      return lists.answer({ list, caller, query, nowMs }, (span) => ({
        ...span,
        index: indexes.walletEntries,
        prefix: walletEntriesPrefix(organizationId, currency),
        read: async (found) =>
          found.map(({ value }) => {
            const one = readableEntry(value)
            const isAsked = one !== null && one.type === (query.type ?? one.type)
            return isAsked ? shown(one, currency) : null
          }),
      }))
    },
  })
}

function shown(entry: WalletEntry, currency: string): z.input<typeof item> {
  const { transferId, type, amountMinor, balanceMinor, cardId, reference, atMs } = entry
  const major = (minor: number) => majorOf(minor, currency)
  const moved = { transferId, type, amount: major(amountMinor), balance: major(balanceMinor) }
  return { ...moved, cardId: cardId || null, reference, at: new Date(atMs).toISOString() }
}

function funding({ effects, clock, store, outside }: ApiContext): Route {
  return defineRoute({
    operation: 'wallets.fund',
    summary: "Records that the business's money has arrived elsewhere",
    method: 'POST',
    path: '/wallets/:currency/fund',
    scope: 'CardAPIs.Fund',
    params,
    query: nothing,
    body: z.object({ amount, narration }),
    data: transferData,
    reads: false,
    refusals: ['currencyNotSupported', 'amountMalformed', 'amountTooLarge'],
    async handle(call) {
      const { caller, params, body, nowMs } = call
      const { organizationId, currencies } = caller.organization
      if (!currencies.includes(params.currency)) return noWallet(params.currency)
      const amountMinor = minorIn(body.amount, params.currency, 'amount')
      if (typeof amountMinor !== 'number') return amountMinor
      const given = { organizationId, currency: params.currency, amountMinor }
      const transferId = newId('trf', nowMs)
      const { reference } = caller
      const eventOf = await openWalletEvents(store, given, outside.retentionDays)
      const aggregate = walletAggregate(organizationId, params.currency)
      let told: WebhookEvent | null = null
      const done = await effects.onAggregate<z.input<typeof transferData>>(
        call,
        aggregate,
        (view) => {
          const named = { transferId, reference, narration: body.narration ?? '' }
          const funded = fundWallet(view, { ...given, ...named, atMs: clock.nowMs() }, eventOf)
          if (funded === null) return refuse('amountTooLarge', 'the wallet would have too much')
          told = funded.told
          return funded
        },
      )
      if (told !== null) outside.office.made(told)
      return done
    },
  })
}
