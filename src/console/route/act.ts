import { z } from 'zod'
import { showTransaction } from '../../backoffice/show.ts'
import { dayMs } from '../../clock.ts'
import type { CardSettings, Operation } from '../../domain/operation/operation.ts'
import { type BlockKind, blockKinds, maxBlockDays } from '../../domain/record/block.ts'
import { changeBlocks } from '../../engine/notice/block-list.ts'
import { armRule } from '../../engine/notice/tripped-rules.ts'
import { minorOf } from '../../wire/amount.ts'
import { blockValueOf } from '../../wire/block-value.ts'
import { originOf } from '../desk.ts'
import type { Office } from '../office.ts'
import { ConsoleRefused, type ConsoleRoute, defineConsoleRoute } from '../route.ts'
import { findAccountOf, placeOfCard } from './card.ts'

/** Every change that a person makes has a reason, which the log keeps. */
export const actReason = z.string().trim().min(1, 'a reason is needed').max(500)
const reason = actReason
const id = z.string().regex(/^[\x20-\x7e]{1,64}$/, 'must be 1 to 64 printable ASCII characters')
const limit = z.string().regex(/^(none|\d{1,15}(\.\d{1,4})?)$/, 'must be an amount, or none')
const amount = z.string().regex(/^[+-]?\d{1,15}(\.\d{1,4})?$/, 'must be an amount such as -12.50')
const listNames = [
  'allowedMccs',
  'blockedMccs',
  'allowedMids',
  'blockedMids',
  'unblockedMids',
] as const

const cardAct = z.discriminatedUnion('act', [
  z.object({ act: z.enum(['freeze', 'unfreeze', 'terminate']), cardId: id, reason }),
  z.object({
    act: z.literal('limits'),
    cardId: id,
    reason,
    /** What is left out stays as it is. */
    daily: limit.optional(),
    transaction: limit.optional(),
  }),
  z.object({
    act: z.literal('lists'),
    cardId: id,
    reason,
    list: z.enum(listNames),
    add: z.array(id).max(1_000).default([]),
    remove: z.array(id).max(1_000).default([]),
  }),
  z.object({ act: z.literal('unblockOnce'), cardId: id, reason, mid: id }),
])

export function actRoutes(office: Office): ConsoleRoute[] {
  const { store, desk, clock, aggregates } = office
  return [
    defineConsoleRoute({
      method: 'POST',
      path: '/act/card',
      input: cardAct,
      async handle(given, who) {
        const accountId = await placeOfCard(given.cardId, office)
        const operation = await operationOf(given, accountId, office)
        return { changed: await desk.operate(accountId, operation, given.reason, who) }
      },
    }),
    defineConsoleRoute({
      method: 'POST',
      path: '/act/transaction',
      input: z.object({
        act: z.enum(['releaseHold', 'grantRefund']),
        cardId: id,
        transactionId: z.string().min(1).max(200),
        reason,
      }),
      async handle({ act: type, cardId, transactionId, reason: why }, who) {
        const accountId = await placeOfCard(cardId, office)
        // The transaction may be kept under another name, on the card that this one replaced.
        const kept = await showTransaction(store, cardId, transactionId)
        if (kept === null) throw new ConsoleRefused(404, 'there is no such transaction')
        const operation = {
          type,
          cardId: String(kept.cardId),
          transactionId: String(kept.transactionId),
        } as const
        return { changed: await desk.operate(accountId, operation, why, who) }
      },
    }),
    defineConsoleRoute({
      method: 'POST',
      path: '/act/adjust',
      input: z.object({ accountId: id, amount, reference: id, reason }),
      async handle({ accountId, amount: text, reference, reason: why }, who) {
        const { currency } = await findAccountOf(accountId, office)
        const amountMinor = minorOfText(text, currency)
        if (amountMinor === 0) throw new ConsoleRefused(400, 'the amount is zero')
        const operation = { type: 'adjust', amountMinor, reference } as const
        return { changed: await desk.operate(accountId, operation, why, who) }
      },
    }),
    defineConsoleRoute({
      method: 'POST',
      path: '/act/block',
      input: z.object({
        kind: z.enum(blockKinds),
        value: id,
        /** 0 ends the block. */
        forMs: z
          .int()
          .min(0)
          .max(maxBlockDays * dayMs),
        reason,
      }),
      async handle({ kind, value, forMs, reason: why }, who) {
        const nowMs = clock.nowMs()
        const operation =
          forMs === 0
            ? ({ type: 'unblock', kind, value } as const)
            : ({
                type: 'block',
                kind,
                value: valueToBlock(kind, value),
                untilMs: nowMs + forMs,
              } as const)
        const keeping = { store, aggregates }
        const done = changeBlocks(keeping, operation, why, nowMs, originOf(who))
        const refused = await desk.within(done)
        if (refused !== '') throw new ConsoleRefused(409, refused)
      },
    }),
    defineConsoleRoute({
      method: 'POST',
      path: '/act/arm',
      input: z.object({ ruleId: id, reason }),
      async handle({ ruleId, reason: why }, who) {
        const done = armRule(aggregates, ruleId, why, clock.nowMs(), originOf(who))
        if (!(await desk.within(done))) throw new ConsoleRefused(409, `${ruleId} is not tripped`)
      },
    }),
  ]
}

async function operationOf(
  given: z.output<typeof cardAct>,
  accountId: string,
  office: Office,
): Promise<Operation> {
  const { cardId } = given
  switch (given.act) {
    case 'freeze':
      return { type: 'changeCard', cardId, set: { status: 'Frozen' } }
    case 'unfreeze':
      return { type: 'unfreeze', cardId }
    case 'terminate':
      return {
        type: 'changeCard',
        cardId,
        set: { status: 'Terminated', terminatedBy: 'operator' },
      }
    case 'limits': {
      const { currency } = await findAccountOf(accountId, office)
      const limitOf = (text: string) => (text === 'none' ? null : minorOfText(text, currency))
      const { daily, transaction } = given
      const set: CardSettings = {
        ...(daily !== undefined && { dailyLimitMinor: limitOf(daily) }),
        ...(transaction !== undefined && { transactionLimitMinor: limitOf(transaction) }),
      }
      return { type: 'changeCard', cardId, set }
    }
    case 'lists': {
      const { list, add, remove } = given
      const wrong = list.endsWith('Mccs') ? add.find((mcc) => !/^\d{4}$/.test(mcc)) : undefined
      // Another text could match no ask, and alone in a list of what is allowed it declines them all.
      if (wrong !== undefined) throw new ConsoleRefused(400, `${wrong} is no MCC of four digits`)
      return { type: 'editLists', cardId, edits: [{ list, clears: false, add, remove }] }
    }
    case 'unblockOnce': {
      const edit = { list: 'unblockedMids', clears: false, remove: [], add: [given.mid] } as const
      return { type: 'editLists', cardId, edits: [edit] }
    }
  }
}

function valueToBlock(kind: BlockKind, text: string): string {
  const value = blockValueOf(kind, text.trim())
  if (typeof value === 'string') return value
  throw new ConsoleRefused(400, `${text} is no ${kind}: it ${value.refused}`)
}

function minorOfText(text: string, currency: string): number {
  const minor = minorOf(text, currency)
  if (typeof minor === 'number') return minor
  throw new ConsoleRefused(400, minor.refused)
}
