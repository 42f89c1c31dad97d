import { maxSearched } from '../../backoffice/log-search.ts'
import { findDecision, readPastAccount } from '../../backoffice/past-decision.ts'
import { readBook } from '../../backoffice/stored-book.ts'
import { systemClock } from '../../clock.ts'
import { gather } from '../../domain/change/book.ts'
import { explainNow, explainThen } from '../../engine/notice/surroundings.ts'
import type { CompiledPack } from '../../rules/pack/compiled-pack.ts'
import type { Store } from '../../store/port.ts'
import { complain } from '../terminal.ts'
import type { ShownDecision } from './view.ts'

/** A decision of the log with the state that it had, and what today's state would make of it. */
export async function explainPast(
  store: Store,
  pack: CompiledPack,
  eventId: string,
  cardId: string | undefined,
): Promise<ShownDecision | string> {
  const entry = await findDecision(store, eventId, cardId)
  const event = entry?.event ?? null
  if (entry === null || event === null) {
    return `no decision on event ${eventId} is in the newest ${maxSearched} entries of the log`
  }
  if (entry.accountId === '') return `event ${eventId} came for a card nobody knew`
  const past = await readPastAccount(store, entry.accountId)
  if (past === null) return `account ${entry.accountId} cannot be told from the log`
  if (!past.whole) complain('warning: the account is older than the log: its windows begin empty')
  for (const one of past.entries) if (one.n < entry.n) past.start.follow(one)
  const view = gather(event, past.start.book)
  const explained = await explainThen(store, pack, { ...entry, event }, view)
  const whose = `as it was at entry ${entry.n} of account ${entry.accountId}`
  const book = await readBook(store, event)
  const nowMs = systemClock.nowMs()
  const today = book === null ? null : await explainNow(store, pack, event, book, nowMs)
  return { explained, event, pack, whose, past: { logged: entry.answer, today } }
}
