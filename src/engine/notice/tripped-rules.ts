import { z } from 'zod'
import type { Change } from '../../domain/change/change.ts'
import type { Entry } from '../../domain/ledger/entry.ts'
import type { Command, Loaded, Store } from '../../store/port.ts'
import { encodeEntry } from '../format/entry-codec.ts'
import { trippedAggregate } from '../format/layout.ts'
import { parseJson, RecordUnreadable } from '../format/row-codec.ts'

/** A rule that only records because its breaker tripped, for as long as the pack has this version. */
export interface TrippedRule {
  readonly ruleId: string
  readonly rulesVersion: string
  readonly atMs: number
  readonly reason: string
}

/** As many as a pack may have rules; the oldest go first. */
const maxTripped = 1000

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

export function trippedIn(found: Loaded | null): readonly TrippedRule[] {
  return decode(found).tripped
}

export async function readTripped(store: Store): Promise<readonly TrippedRule[]> {
  return trippedIn((await load(store)) ?? null)
}

async function load(store: Store): Promise<Loaded | undefined> {
  const [found] = await store.load([{ aggregate: trippedAggregate, group: '', id: '' }])
  return found
}

function decode(found: Loaded | null): Kept {
  if (found === null) return { format: 1, count: 0, tripped: [] }
  const kept = record.safeParse(parseJson(found.value))
  if (kept.success) return kept.data
  throw new RecordUnreadable('the tripped rules were not written by this release')
}

export function checkTripped(value: string): void {
  decode({ value, version: '' })
}

/** Of rules that nobody can name none is in shadow: a breaker that is past its bound trips again. */
function decodeOrNothing(found: Loaded | undefined): Kept {
  try {
    return decode(found ?? null)
  } catch (error) {
    if (!(error instanceof RecordUnreadable)) throw error
    return decode(null)
  }
}

/** Writes the record anew, with no rule in shadow, where it cannot be read. */
export async function repairTripped(store: Store, newVersion: () => string): Promise<string> {
  const found = await load(store)
  const { count, tripped } = decodeOrNothing(found)
  const kept = { count: count + 1, tripped }
  const [outcome] = await store.commit([commandOf(found, newVersion(), kept, [])])
  return outcome === 'committed' ? '' : 'somebody changed it at the same time: repeat'
}

function commandOf(
  found: Loaded | undefined,
  newVersion: string,
  kept: { readonly count: number; readonly tripped: readonly TrippedRule[] },
  log: readonly string[],
): Command {
  return {
    aggregate: trippedAggregate,
    expectedVersion: found?.version ?? null,
    newVersion,
    root: JSON.stringify({ format: 1, ...kept }),
    mustBeAbsent: [],
    put: [],
    remove: [],
    index: [],
    unindex: [],
    log,
  }
}

/** Resolves to whether it was changed: another instance may have been faster. */
export function tripRule(
  store: Store,
  rule: TrippedRule,
  newVersion: () => string,
): Promise<boolean> {
  const { ruleId, rulesVersion, atMs, reason } = rule
  const same = (one: TrippedRule) => one.ruleId === ruleId && one.rulesVersion === rulesVersion
  return change(store, newVersion, atMs, reason, {
    change: { type: 'ruleTripped', ruleId, rulesVersion },
    // What was tripped in another version of the pack counts no longer.
    next: (tripped) =>
      tripped.some(same)
        ? null
        : [...tripped.filter((one) => one.rulesVersion === rulesVersion), rule].slice(-maxTripped),
  })
}

/** Enforces a rule again; its breaker counts on. */
export function armRule(
  store: Store,
  ruleId: string,
  reason: string,
  nowMs: number,
  newVersion: () => string,
): Promise<boolean> {
  return change(store, newVersion, nowMs, reason, {
    change: { type: 'ruleArmed', ruleId },
    next: (tripped) => {
      const others = tripped.filter((one) => one.ruleId !== ruleId)
      return others.length < tripped.length ? others : null
    },
  })
}

interface Turn {
  readonly change: Change
  /** null when everything is so already. */
  readonly next: (tripped: readonly TrippedRule[]) => readonly TrippedRule[] | null
}

const maxTries = 20

async function change(
  store: Store,
  newVersion: () => string,
  nowMs: number,
  reason: string,
  turn: Turn,
): Promise<boolean> {
  for (let tries = 0; tries < maxTries; tries++) {
    const found = await load(store)
    const { count, tripped } = decodeOrNothing(found)
    const next = turn.next(tripped)
    if (next === null) return false
    const kept = { count: count + 1, tripped: next }
    const log = [encodeEntry(entryOf(turn.change, reason, count, nowMs))]
    const [outcome] = await store.commit([commandOf(found, newVersion(), kept, log)])
    if (outcome === 'committed') return true
  }
  return false
}

function entryOf(made: Change, reason: string, n: number, atMs: number): Entry {
  return {
    kind: 'operated',
    n,
    atMs,
    accountId: '',
    cardId: '',
    transaction: ['', ''],
    linked: null,
    eventKey: '',
    event: null,
    slot: '',
    answer: null,
    anomalies: [],
    unmatched: '',
    matchedRules: [],
    shadowRules: [],
    reason,
    changes: [made],
  }
}
