import { vi } from 'vitest'
import { type Refused, refuse } from '../../src/api/condition.ts'
import type { EffectCall } from '../../src/api/effects.ts'
import { walletCovers } from '../../src/api/money/transfer-desk.ts'
import { availableMinor } from '../../src/domain/record/account.ts'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { accountAggregate, walletAggregate } from '../../src/engine/format/layout.ts'
import { fundWallet } from '../../src/management/funding.ts'
import { openCards } from './engine-world.ts'
import type { TransferInstance } from './transfer-instance.ts'
import type { TransferNodes } from './transfer-nodes.ts'

/** The first freezes and thaws all the time; nobody spends from those after the busy ones. */
export const cards = 10
export const busyCards = 4
/** Of duels: nobody else touches them. */
export const duelCards = 8
const openingMinor = 10_000
const fundedMinor = 30_000
export const wallet = walletAggregate('org-1', 'USD')
export const accounts = Array.from({ length: cards + duelCards }, (_, i) =>
  accountAggregate(`account-${i}`),
)
const organization = { organizationId: 'org-1' }

export interface Payload {
  readonly from: number
  readonly to: number
  readonly amountMinor: number
}

/** A place is a card, or the wallet below zero. */
function sideOf(at: number) {
  if (at < 0) return { kind: 'wallet', ...organization, currency: 'USD' } as const
  return { kind: 'card', accountId: `account-${at}`, cardId: `card-${at}` } as const
}

/** `mostMinor` is what the organization allows now: it is known without asking either side. */
export function ask(
  { desk }: TransferInstance,
  reference: string,
  { from, to, amountMinor }: Payload,
  mostMinor: number,
): Promise<{ data: unknown } | Refused> {
  const call: EffectCall = {
    caller: { clientId: 'cli', reference, organization } as never,
    request: { hash: `${from}>${to}:${amountMinor}`, method: 'POST', path: '/' },
    nowMs: Date.now(),
  }
  const type = from < 0 ? 'TopUp' : to < 0 ? 'Withdrawal' : 'CardToCard'
  const planned = { currency: 'USD', narration: '', opening: null, data: null }
  const transfer = { ...planned, type, amountMinor, from: sideOf(from), to: sideOf(to) } as const
  return desk.run<unknown>(call, {
    home: from < 0 ? wallet : accountAggregate(`account-${from}`),
    prepare: async () =>
      amountMinor <= mostMinor ? { transfer } : { refusal: refuse('topUpTooLarge', '') },
    check(view) {
      if (view.wallet !== null)
        return walletCovers(view, amountMinor, 'USD', { currencies: ['USD'] })
      const has = availableMinor(view.account!.account!)
      return has >= amountMinor ? null : refuse('fundsMissing', '')
    },
  })
}

/** Cards and a wallet with money, on nodes that are well. */
export async function prepare({ engine }: TransferInstance, nodes: TransferNodes): Promise<void> {
  const opening = openCards(engine, cards + duelCards, String(openingMinor / 100))
  await pass(100)
  await opening
  const store = nodes.open(() => ({ kind: 'none' }))
  const aggregates = createAggregates({ store, newVersion: () => 'funded' })
  const funding = aggregates.change({
    aggregate: wallet,
    decide(view) {
      const given = { ...organization, currency: 'USD', amountMinor: fundedMinor }
      const named = { transferId: 'trf_0', reference: 'start', narration: '', atMs: Date.now() }
      return { result: null, write: fundWallet(view, { ...given, ...named })!.write }
    },
  })
  await pass(10)
  await funding
  nodes.catchUp()
}

/** Needs fake timers. */
export async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms)
}
