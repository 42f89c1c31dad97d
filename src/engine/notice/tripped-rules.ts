import { z } from 'zod'
import { entryOfNotice } from '../../domain/ledger/entry.ts'
import { dayMs } from '../../domain/record/calendar.ts'
import type { Loaded, Store } from '../../store/port.ts'
import type { Aggregates } from '../aggregates.ts'
import { encodeEntry } from '../format/entry-codec.ts'
import { trippedAggregate } from '../format/layout.ts'
import { parseStored, RecordUnreadable } from '../format/row-codec.ts'

/** A rule that only records because its breaker tripped, for as long as the pack has this version. */
export interface TrippedRule {
  readonly ruleId: string
  readonly rulesVersion: string
  readonly atMs: number
  readonly reason: string
}

/** Only the rule that declines is counted, so they trip one after the other; the oldest go first. */
const maxTripped = 1000

/** A new version of the pack is on all servers within this time. */
const deploymentMs = 7 * dayMs

const record = z.object({
  format: z.literal(1),
  /** Changes so far. */
  count: z.int(),
  tripped: z
    .array(
      z.object({
        ruleId: z.string(),
        rulesVersion: z.string(),
        atMs: z.int(),
        reason: z.string(),
      }),
    )
    .max(maxTripped),
})

type Kept = z.output<typeof record>

const nothing: Kept = { format: 1, count: 0, tripped: [] }

function decode(value: string | null): Kept {
  if (value === null || value === '') return nothing
  const kept = record.safeParse(parseStored(value))
  if (kept.success) return kept.data
  throw new RecordUnreadable('the tripped rules were not written by this release')
}

export function trippedIn(found: Loaded | null): readonly TrippedRule[] {
  return decode(found?.value ?? null).tripped
}

export async function readTripped(store: Store): Promise<readonly TrippedRule[]> {
  const [found] = await store.load([{ aggregate: trippedAggregate, group: '', id: '' }])
  return trippedIn(found ?? null)
}

export function checkTripped(value: string): void {
  decode(value)
}

function decodeOrNull(value: string | null): Kept | null {
  try {
    return decode(value)
  } catch (error) {
    if (!(error instanceof RecordUnreadable)) throw error
    return null
  }
}

/** Writes the record anew, with no rule in shadow; refused where it can be read. */
export async function repairTripped(aggregates: Aggregates): Promise<string> {
  const anew = (_tripped: readonly TrippedRule[], isReadable: boolean) => (isReadable ? null : [])
  return (await change(aggregates, anew, () => [])) ? '' : 'it can be read'
}

/** Resolves to whether it was changed: another instance may have been faster. */
export function tripRule(aggregates: Aggregates, rule: TrippedRule): Promise<boolean> {
  const { ruleId, rulesVersion, atMs, reason } = rule
  const same = (one: TrippedRule) => one.ruleId === ruleId && one.rulesVersion === rulesVersion
  // Other servers may still have another version of the pack.
  const mayCount = (one: TrippedRule) =>
    one.rulesVersion === rulesVersion || atMs - one.atMs < deploymentMs
  const notice = { type: 'ruleTripped', ruleId, rulesVersion } as const
  return change(
    aggregates,
    (tripped) =>
      tripped.some(same) ? null : [...tripped.filter(mayCount), rule].slice(-maxTripped),
    (count) => [encodeEntry(entryOfNotice(notice, { reason, origin: 'breaker' }, count, atMs))],
  )
}

/** Enforces a rule again; its breaker counts anew. */
export function armRule(
  aggregates: Aggregates,
  ruleId: string,
  reason: string,
  nowMs: number,
  origin = '',
): Promise<boolean> {
  return change(
    aggregates,
    (tripped) => {
      const others = tripped.filter((one) => one.ruleId !== ruleId)
      return others.length < tripped.length ? others : null
    },
    (count) => [
      encodeEntry(entryOfNotice({ type: 'ruleArmed', ruleId }, { reason, origin }, count, nowMs)),
    ],
  )
}

/** `next` gives null when everything is so already. */
function change(
  aggregates: Aggregates,
  next: (tripped: readonly TrippedRule[], isReadable: boolean) => readonly TrippedRule[] | null,
  logOf: (count: number) => readonly string[],
): Promise<boolean> {
  return aggregates.change({
    aggregate: trippedAggregate,
    decide({ root }) {
      const found = decodeOrNull(root)
      // Of rules that nobody can name none is in shadow: a breaker that is past its bound trips again.
      const { count, tripped } = found ?? nothing
      const changed = next(tripped, found !== null)
      // By a commit: a command that is still on its way would contradict it.
      if (changed === null) return { result: false, write: {} }
      const kept = JSON.stringify({ format: 1, count: count + 1, tripped: changed })
      return { result: true, write: { root: kept, log: logOf(count) } }
    },
  })
}
