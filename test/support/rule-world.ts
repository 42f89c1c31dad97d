import type { AskFacts } from '../../src/domain/decide/pack.ts'
import { type Account, noAccount } from '../../src/domain/record/account.ts'
import { type Card, noCard } from '../../src/domain/record/card.ts'
import type { CardEvent } from '../../src/domain/record/event.ts'
import { newTransaction, type Transaction } from '../../src/domain/record/transaction.ts'
import { type CompileOptions, compilePack } from '../../src/rules/load/compiler.ts'
import type { CompiledPack } from '../../src/rules/pack/compiled-pack.ts'
import { PackRefused } from '../../src/rules/pack/refusal.ts'
import { eventOf } from './event-generator.ts'

/** Sunday, 15 November 2026, 12:00 UTC. */
export const noonMs = Date.UTC(2026, 10, 15, 12)

/** Compiles files given by name; `pack.yaml` has its defaults where it is not given. */
export function packOfFiles(
  files: Record<string, string>,
  options: CompileOptions = {},
): CompiledPack {
  const all = new Map(Object.entries({ 'pack.yaml': '{}', ...files }))
  return compilePack(all, 45, { nowMs: noonMs, ...options })
}

/** The lines of the report; none when the pack is good. */
export function reportOf(files: Record<string, string>): string[] {
  try {
    packOfFiles(files)
    return []
  } catch (error) {
    if (!(error instanceof PackRefused)) throw error
    return error.message.split('\n')
  }
}

/** A rule file of rules that have ids and reasons of their own where none are given. */
export function rulesText(rules: readonly Record<string, unknown>[]): string {
  const whole = rules.map((rule, i) => {
    const decline = 'allow' in rule ? {} : { decline: '127' }
    return { id: `r${i}`, ...decline, why: 'because', ...rule }
  })
  return JSON.stringify(whole, null, 1)
}

export interface AskParts {
  readonly event?: Partial<CardEvent>
  readonly merchant?: Partial<CardEvent['merchant']>
  readonly card?: Partial<Card>
  readonly account?: Partial<Account>
  readonly transaction?: Partial<Transaction>
  readonly atMs?: number
}

export function askOf(parts: AskParts = {}): AskFacts {
  const event = eventOf({ eventId: 'e1', ...parts.event })
  const currency = event.currency
  return {
    event: { ...event, merchant: { ...event.merchant, ...parts.merchant } },
    account: { ...noAccount, accountId: 'A1', currency, country: 'US', ...parts.account },
    card: { ...noCard, cardId: 'C1', customerId: 'K1', accountId: 'A1', ...parts.card },
    transaction: { ...newTransaction('C1', 'T1'), ...parts.transaction },
    atMs: parts.atMs ?? noonMs,
  }
}
