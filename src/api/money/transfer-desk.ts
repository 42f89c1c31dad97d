import type { Account } from '../../domain/record/account.ts'
import type { Card } from '../../domain/record/card.ts'
import { formatMinor } from '../../domain/record/money.ts'
import { walletAggregate } from '../../engine/format/layout.ts'
import type { Organization } from '../../management/organization.ts'
import type { SideView } from '../../management/transfer/side.ts'
import type { TransferPlan, Transfers } from '../../management/transfer/transfers.ts'
import type { ChildPut } from '../../store/port.ts'
import { isRefused, type Refused, refuse } from '../condition.ts'
import { type EffectCall, type Effects, refuseOther, refuseSeen } from '../effects.ts'
import type { Done } from '../route.ts'

/** A card that is to be issued, with or without money of its organization's wallet. */
interface CardIssue {
  readonly currency: string
  /** 0: without money. */
  readonly amountMinor: number
  /** An account that is there and that the card joins; null: one of its own. */
  readonly joins: string | null
  /**
   * The checks of section 4.3 up to the wallet's, in their order. What they refuse is said by a commit, after
   * what stands under the Reference: read them here, and not before.
   */
  check(): Promise<Refused | null>
  /** Asked when the wallet covers it; the ids are new in every attempt. The account has no money yet. */
  prepare(ids: NewCardIds): Promise<IssuedCard | Refused>
}

interface NewCardIds {
  readonly cardId: string
  /** That of `joins`, or a new one. */
  readonly accountId: string
}

interface IssuedCard {
  /** null where it joins one that is there. */
  readonly account: Account | null
  readonly card: Card
  /** What else is kept of the card under its account. */
  readonly put: readonly ChildPut[]
  /** A card of the same account that ends in the same commit; '' for none. */
  readonly terminates: string
  /** Of the answer; `balances`, and the `transferId` where there was money, are added. */
  readonly data: Readonly<Record<string, unknown>>
}

/** Moves money for calls: each once for its client and Reference, answered when it can be spent. */
export interface TransferDesk {
  run<D>(call: EffectCall, plan: TransferPlan<Refused>): Promise<Done<D> | Refused>
  /** Opens a card, with what the wallet gives it, in one commit. */
  issue<D>(call: EffectCall, issue: CardIssue): Promise<Done<D> | Refused>
}

export function createTransferDesk(effects: Effects, transfers: Transfers): TransferDesk {
  async function run<D>(call: EffectCall, plan: TransferPlan<Refused>): Promise<Done<D> | Refused> {
    const bound = await effects.bind(call, plan.home)
    if (isRefused(bound)) return bound
    if (bound.home !== plan.home) return refuse('outcomeUnknown', 'ask for its state')
    const { reference } = call.caller
    const outcome = await transfers.run(bound.attempt, plan)
    switch (outcome.state) {
      case 'done':
        return { data: outcome.data as D }
      case 'seen':
        return refuseSeen(reference)
      case 'other':
        return refuseOther(reference)
      case 'late':
        return bound.end(refuse('unavailable', 'it took too long'))
      case 'tooOld':
      case 'busy':
        return refuse('outcomeUnknown', 'ask for its state')
      case 'refused': {
        const { condition, detail, ...more } = outcome.refusal as Refused
        return bound.end(refuse(condition, detail, more))
      }
    }
  }

  return {
    run,
    issue(call, { currency, amountMinor, joins, check, prepare }) {
      const { organization } = call.caller
      const { organizationId } = organization
      const from = { kind: 'wallet', organizationId, currency } as const
      const covers = (view: SideView) => walletCovers(view, amountMinor, currency, organization)
      return run(call, {
        home: walletAggregate(organizationId, currency),
        before: { gather: check, check: covers },
        check: covers,
        async prepare(id) {
          const made = id.slice(id.indexOf('_') + 1)
          const ids = { cardId: `card_${made}`, accountId: joins ?? `acct_${made}` }
          const issued = await prepare(ids)
          if (isRefused(issued)) return { refusal: issued }
          const { data, ...opening } = issued
          const to = { kind: 'card', ...ids } as const
          const moved = { type: 'InitialFunding', amountMinor, currency, from, to } as const
          const opened = { ...opening, put: [...opening.put] }
          return { transfer: { ...moved, narration: '', opening: opened, data } }
        },
      })
    },
  }
}

export function noWallet(currency: string): Refused {
  return refuse('currencyNotSupported', `the organization has no wallet in ${currency}`)
}

/**
 * null when a wallet has the amount, and nothing is had by one below zero, too. An imported card may be in a currency
 * that nobody can fund a wallet in.
 */
export function walletCovers(
  { wallet }: SideView,
  amountMinor: number,
  currency: string,
  { currencies }: Pick<Organization, 'currencies'>,
): Refused | null {
  if (wallet === null) throw new Error('the source is no wallet')
  const { balanceMinor } = wallet
  if (amountMinor === 0 || amountMinor <= balanceMinor) return null
  if (!currencies.includes(currency)) return noWallet(currency)
  const has = formatMinor(balanceMinor, currency)
  return refuse('fundsMissing', `the wallet has ${has} ${currency}`)
}
