import { type Book, gather } from '../../domain/change/book.ts'
import type { View } from '../../domain/change/view.ts'
import { fundsCheck } from '../../domain/decide/check.ts'
import type { Entry } from '../../domain/ledger/entry.ts'
import { type Block, type BlockKind, blockKinds } from '../../domain/record/block.ts'
import type { CardEvent } from '../../domain/record/event.ts'
import { maxRecordedMatches } from '../../rules/evaluate/evaluation.ts'
import {
  type ExplainedDecision,
  explainDecision,
  type Surroundings,
} from '../../rules/explain/decision-explanation.ts'
import type { ExplainedPart } from '../../rules/explain/explanation.ts'
import type { CompiledPack } from '../../rules/pack/compiled-pack.ts'
import { isRolledOut } from '../../rules/pack/rollout.ts'
import type { Store } from '../../store/port.ts'
import { withStoredCounts } from '../shared/reading.ts'
import { readBlocks } from './block-list.ts'
import { readMemoryAges, seedingRules } from './memory-ages.ts'
import { readTripped } from './tripped-rules.ts'

/** What the store says of a pack's rules now: tripped breakers, what is seeding, the emergency list. */
export async function surroundingsNow(
  store: Store,
  pack: CompiledPack,
  nowMs: number,
): Promise<Surroundings> {
  const tripped = (await readTripped(store)).filter(
    ({ rulesVersion }) => rulesVersion === pack.version,
  )
  const seeding = seedingRules(pack.memories ?? [], await readMemoryAges(store), nowMs)
  return {
    spared: new Map([
      ...Array.from(seeding, ([id, untilMs]) => [id, seedingText(untilMs)] as const),
      ...tripped.map(({ ruleId, atMs, reason }) => {
        return [
          ruleId,
          `its breaker tripped, since ${new Date(atMs).toISOString()}: it ${reason}`,
        ] as const
      }),
    ]),
    blocks: await readBlocks(store, nowMs),
  }
}

function seedingText(untilMs: number): string {
  return `it is seeding: what it looks at has filled by ${new Date(untilMs).toISOString()}`
}

/** The log names the blocks that met an ask, and the enforced rules that only recorded. */
function surroundingsThen(entry: Entry, pack: CompiledPack): Surroundings {
  const { rules } = pack
  const recorded = new Set(entry.shadowRules)
  const allowing = rules.flatMap(({ id, action }) =>
    action.does === 'allow' && entry.matchedRules.includes(id) ? [action.over] : [],
  )
  const spared = rules.filter(
    ({ id, mode, rollout }) =>
      recorded.has(id) &&
      mode === 'enforce' &&
      (rollout === null || isRolledOut(rollout, entry.cardId)) &&
      !allowing.some((over) => over === 'all' || over.includes(id)),
  )
  return {
    spared: new Map(spared.map(({ id }) => [id, 'it only recorded then, as the log says'])),
    blocks: entry.matchedRules.flatMap((id) => blockOf(id, entry)),
    unmatched: new Map(
      unmatchedThen(entry, pack).map((id) => [id, 'did not match then, as the log says']),
    ),
  }
}

/** Where this pack's rules were asked, the log names all that matched. */
function unmatchedThen(
  { answer, matchedRules, shadowRules }: Entry,
  { version, rules }: CompiledPack,
): string[] {
  if (answer?.decidedBy !== 'engine' || answer.rulesVersion !== version) return []
  const { code, ruleId } = answer
  const asked = code === '000' || code === fundsCheck.code || ruleId !== ''
  if (!asked || [matchedRules, shadowRules].some((ids) => ids.length >= maxRecordedMatches)) {
    return []
  }
  const matched = new Set([...matchedRules, ...shadowRules])
  return rules.flatMap(({ id }) => (matched.has(id) ? [] : [id]))
}

function blockOf(id: string, { cardId, atMs }: Entry): Block[] {
  const [, kind = '', value = cardId] = /^block:([a-z]+)(?::(.*))?$/.exec(id) ?? []
  if (!(blockKinds as readonly string[]).includes(kind)) return []
  const reason = 'as the log says'
  return [{ kind: kind as BlockKind, value, sinceMs: atMs, untilMs: atMs + 1, reason }]
}

/** What would be said of an event if it came today. */
export async function explainNow(
  store: Store,
  pack: CompiledPack,
  event: CardEvent,
  book: Book,
  nowMs: number,
): Promise<ExplainedDecision> {
  // Its own transaction has gone on since: today it would be a new one.
  const view = gather(event, { ...book, transaction: () => null })
  const around = await surroundingsNow(store, pack, nowMs)
  const counting = await withStoredCounts(pack, store, event, view, nowMs)
  return explainDecision(event, view, counting, nowMs, around)
}

/** A decision of the log, on the state that it had. */
export async function explainThen(
  store: Store,
  pack: CompiledPack,
  entry: Entry & { readonly event: CardEvent },
  view: View,
): Promise<ExplainedDecision> {
  const { event, atMs } = entry
  // Nothing older is known of the windows over several cards; buckets after the decision do not count.
  const counting = await withStoredCounts(pack, store, event, view, atMs)
  const explained = explainDecision(event, view, counting, atMs, surroundingsThen(entry, pack))
  const shared = (pack.sharedWindows ?? []).map(({ name }) => `windows.${name}.`)
  const isShared = (name: string) => shared.some((start) => name.startsWith(start))
  const byNow = (part: ExplainedPart): ExplainedPart => ({
    ...part,
    values: part.values.map((one) =>
      isShared(one.name) ? { ...one, value: `${one.value} by now` } : one,
    ),
    parts: part.parts.map(byNow),
  })
  const rules = explained.rules.map((look) => ({
    ...look,
    parts: look.parts.map(byNow),
    unless: look.unless && byNow(look.unless),
  }))
  return { ...explained, rules }
}
