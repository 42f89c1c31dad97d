import { expect } from 'vitest'
import { isAlias } from '../../src/domain/change/book.ts'
import type { Delivery } from '../../src/domain/decide/delivery.ts'
import type { Pack } from '../../src/domain/decide/pack.ts'
import { createLedger, type Ledger } from '../../src/domain/ledger/ledger.ts'
import { bookingKey } from '../../src/domain/operation/handling.ts'
import type { Operation } from '../../src/domain/operation/operation.ts'
import type { Transaction } from '../../src/domain/record/transaction.ts'
import type { Walk } from './event-generator.ts'
import { accountOf, cardOf } from './world.ts'

/** A walk's steps on the real ledger. */

export type World = Pick<Walk, 'switches' | 'accounts' | 'cards'>

/** Accounts that no card uses are never opened. */
export function accountIdsOf({ cards }: World): string[] {
  return [...new Set(cards.map(({ accountId }) => accountId))]
}

export function openLedger(world: World, pack: Pack, atMs: number): Ledger {
  const ledger = createLedger()
  for (const naive of world.cards) {
    const account = accountOf(world.accounts.find((a) => a.accountId === naive.accountId)!)
    const operation = { type: 'open', account, card: cardOf(naive), givesBalance: false } as const
    expect(ledger.operate(account.accountId, operation, pack, atMs)).toBeNull()
  }
  return ledger
}

/** A transaction by any of its names, on its card or one that was issued for it again. */
export function keptAt(
  ledger: Ledger,
  world: World,
  cardId: string,
  id: string,
): Transaction | undefined {
  const accountId = world.cards.find((card) => card.cardId === cardId)?.accountId ?? ''
  const book = ledger.book(accountId)
  const found = book.transaction(cardId, id)
  const t = found !== null && isAlias(found) ? book.transaction(found.cardId, found.aliasOf) : found
  if (t !== null && !isAlias(t)) return t
  const { replaces = '' } = world.cards.find((card) => card.cardId === cardId) ?? {}
  return replaces === '' ? undefined : keptAt(ledger, world, replaces, id)
}

type WalkStep = Walk['steps'][number]
type Delivered = Extract<WalkStep, { kind: 'deliver' }>
export type PersonStep = Exclude<WalkStep, { kind: 'deliver' | 'expire' }>

/** What the watchdog says too late; its code is given beside it. */
export const byDefault = {
  decidedBy: 'default',
  cause: 'deadline',
  ruleId: '',
  approvedAmountMinor: null,
  rulesVersion: 'test',
} as const

export function deliveryOf({
  event,
  receivedAtMs,
  slot = event.eventId,
  said,
}: Delivered): Delivery {
  return { event, slot, receivedAtMs, said: said === undefined ? null : { ...byDefault, ...said } }
}

interface Asked {
  readonly accountId: string
  readonly operation: Operation
}

/** What a person asks for; null where there is nothing to ask for it of. */
export function operationOf(step: PersonStep, ledger: Ledger, world: World): Asked | null {
  const homeOf = (cardId: string) => world.cards.find((card) => card.cardId === cardId)?.accountId
  switch (step.kind) {
    case 'adopt': {
      const { accountId, organizationId } = step
      if (!accountIdsOf(world).includes(accountId)) return null
      return { accountId, operation: { type: 'adopt', organizationId, country: '' } }
    }
    case 'adjust': {
      const { accountId, amountMinor, reference } = step
      if (!accountIdsOf(world).includes(accountId)) return null
      return { accountId, operation: { type: 'adjust', amountMinor, reference } }
    }
    case 'card':
      return { accountId: homeOf(step.cardId)!, operation: cardOperationOf(step) }
    case 'person': {
      const { act, cardId, transactionId: name } = step
      const kept = keptAt(ledger, world, cardId, name)
      if (kept === undefined) return null
      const { transactionId } = kept
      return {
        accountId: homeOf(cardId)!,
        operation: { type: act, cardId: kept.cardId, transactionId },
      }
    }
    case 'book': {
      const { event } = step
      const accountId = homeOf(event.cardId) ?? ''
      const book = ledger.book(accountId)
      if (accountId === '' || (book.event(event.eventId)?.unmatched ?? '') === '') return null
      const amountMinor = event.amountMinor === null ? null : step.amountMinor
      const booked = { ...event, amountMinor, currency: book.account()!.currency }
      const key = bookingKey(accountId, event.eventId)
      return { accountId, operation: { type: 'book', event: booked, bookingKey: key, sortKey: '' } }
    }
  }
}

function cardOperationOf({ cardId, change }: Extract<WalkStep, { kind: 'card' }>): Operation {
  if ('edit' in change) {
    return { type: 'editLists', cardId, edits: [{ clears: false, ...change.edit }] }
  }
  const by = change.set.status === 'Terminated' ? ({ terminatedBy: 'operator' } as const) : {}
  return { type: 'changeCard', cardId, set: { ...change.set, ...by } }
}
