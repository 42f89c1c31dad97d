import { maxSearched } from '../../backoffice/log-search.ts'
import { findDecision, readPastAccount } from '../../backoffice/past-decision.ts'
import { readBook } from '../../backoffice/stored-book.ts'
import { systemClock } from '../../clock.ts'
import { gather } from '../../domain/change/book.ts'
import type { Entry } from '../../domain/ledger/entry.ts'
import { type Block, type BlockKind, blockKinds } from '../../domain/record/block.ts'
import { readBlocks } from '../../engine/notice/block-list.ts'
import { readMemoryAges, seedingRules } from '../../engine/notice/memory-ages.ts'
import { readTripped } from '../../engine/notice/tripped-rules.ts'
import { withStoredCounts } from '../../engine/shared/reading.ts'
import {
  type ExplainedDecision,
  explainDecision,
  type Surroundings,
} from '../../rules/explain/decision-explanation.ts'
import type { CompiledPack } from '../../rules/pack/compiled-pack.ts'
import { isRolledOut } from '../../rules/pack/rollout.ts'
import type { Store } from '../../store/port.ts'
import { timeText } from '../log/entry-line.ts'
import { complain } from '../terminal.ts'
import type { ShownDecision } from './view.ts'

/** What the store says of a pack's rules now: tripped breakers, what is seeding, the emergency list. */
export async function surroundingsNow(store: Store, pack: CompiledPack): Promise<Surroundings> {
  const tripped = (await readTripped(store)).filter(
    ({ rulesVersion }) => rulesVersion === pack.version,
  )
  const nowMs = systemClock.nowMs()
  const seeding = seedingRules(pack.memories ?? [], await readMemoryAges(store), nowMs)
  return {
    spared: new Map([
      ...Array.from(seeding, ([id, untilMs]) => [id, seedingText(untilMs)] as const),
      ...tripped.map(({ ruleId, atMs, reason }) => {
        return [ruleId, `its breaker tripped, since ${timeText(atMs)}: it ${reason}`] as const
      }),
    ]),
    blocks: await readBlocks(store, nowMs),
  }
}

function seedingText(untilMs: number): string {
  return `it is seeding: what it looks at has filled by ${timeText(untilMs)}`
}

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
  // Nothing older is known of the windows over several cards; buckets after the decision do not count.
  const counting = await withStoredCounts(pack, store, event, view, entry.atMs)
  const then = surroundingsThen(entry, pack)
  const explained = explainDecision(event, view, counting, entry.atMs, then)
  const whose = `as it was at entry ${entry.n} of account ${entry.accountId}`
  const today = await explainToday(store, pack, entry)
  return { explained, event, pack, whose, past: { logged: entry.answer, today } }
}

async function explainToday(
  store: Store,
  pack: CompiledPack,
  { event }: Entry,
): Promise<ExplainedDecision | null> {
  if (event === null) return null
  const book = await readBook(store, event)
  if (book === null) return null
  const around = await surroundingsNow(store, pack)
  // Its own transaction has gone on since: today it would be a new one.
  const view = gather(event, { ...book, transaction: () => null })
  const nowMs = systemClock.nowMs()
  const counting = await withStoredCounts(pack, store, event, view, nowMs)
  return explainDecision(event, view, counting, nowMs, around)
}

/** The log names the blocks that met an ask, and the enforced rules that only recorded. */
function surroundingsThen(entry: Entry, { rules }: CompiledPack): Surroundings {
  const spared = new Set(entry.shadowRules)
  const tripped = rules.filter(
    ({ id, mode, rollout }) =>
      spared.has(id) &&
      mode === 'enforce' &&
      (rollout === null || isRolledOut(rollout, entry.cardId)),
  )
  return {
    spared: new Map(tripped.map(({ id }) => [id, 'it only recorded then, as the log says'])),
    blocks: entry.matchedRules.flatMap((id) => blockOf(id, entry)),
  }
}

function blockOf(id: string, { cardId, atMs }: Entry): Block[] {
  const [, kind = '', value = cardId] = /^block:([a-z]+)(?::(.*))?$/.exec(id) ?? []
  if (!(blockKinds as readonly string[]).includes(kind)) return []
  const reason = 'as the log says'
  return [{ kind: kind as BlockKind, value, sinceMs: atMs, untilMs: atMs + 1, reason }]
}
