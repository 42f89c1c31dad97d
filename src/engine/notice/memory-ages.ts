import { z } from 'zod'
import type { PackMemory } from '../../domain/decide/memory.ts'
import type { Pack } from '../../domain/decide/pack.ts'
import type { Loaded, Store } from '../../store/port.ts'
import type { Aggregates } from '../aggregates.ts'
import { memoriesAggregate } from '../format/layout.ts'
import { RecordUnreadable } from '../format/row-codec.ts'
import { parseSummed, summedJson } from '../format/summed-json.ts'

/** Since when the store's cards keep something; 0: since they are there. */
const age = z.object({
  sinceMs: z.int(),
  /** When the last pack that keeps it went; 0 while one does. */
  leftMs: z.int(),
  /** What the log could tell of the time before is there. */
  seeded: z.boolean().optional(),
})

/** Twice what a pack may have. */
const maxAges = 250
/** A pack that comes back within this time finds what it kept nearly as it left it. */
const forgivenMs = 3_600_000

const record = z.object({
  format: z.literal(1),
  ages: z.record(z.string(), age),
  /** Declines that nothing enforced before: these wait for what may except them. */
  waits: z.array(z.string()).default([]),
})

/** Since when what packs keep is kept, and who waits for it. */
interface MemoryAges {
  readonly ages: Readonly<Record<string, z.output<typeof age>>>
  readonly waits: readonly string[]
}

const noAges: MemoryAges = { ages: {}, waits: [] }
/** As many as a pack may have rules. */
const maxWaits = 10_000

function decode(value: string | null): MemoryAges | null {
  if (value === null || value === '') return null
  const kept = record.safeParse(parseSummed(value))
  if (kept.success) return kept.data
  throw new RecordUnreadable('the ages of windows were not written by this release')
}

export function checkMemoryAges(value: string): void {
  decode(value)
}

export function memoryAgesIn(found: Loaded | null): MemoryAges {
  return decode(found?.value ?? null) ?? noAges
}

export async function readMemoryAges(store: Store): Promise<MemoryAges> {
  const [found] = await store.load([{ aggregate: memoriesAggregate, group: '', id: '' }])
  return memoryAgesIn(found ?? null)
}

/** A pack that comes, and the one that it follows, where somebody has seen that. */
export interface PackChange {
  readonly pack: Pick<Pack, 'memories' | 'declines'>
  readonly former: Pick<Pack, 'declines'> | null
}

/** Notes what a pack keeps from now on. What a store's first pack keeps has always been kept. */
export function noteMemories(
  aggregates: Aggregates,
  change: PackChange,
  nowMs: number,
): Promise<void> {
  return aggregates.change({
    aggregate: memoriesAggregate,
    decide({ root }) {
      const before = decode(root)
      const text = textOf(agesWith(before, change, nowMs))
      const isSame = before !== null && textOf(before) === text
      return { result: undefined, write: isSame ? null : { root: text, log: [] } }
    },
  })
}

function textOf({ ages, waits }: MemoryAges): string {
  return summedJson({ format: 1, ages, ...(waits.length > 0 && { waits }) })
}

/** What is noted of a pack that comes now. */
export function agesWith(before: MemoryAges | null, change: PackChange, nowMs: number): MemoryAges {
  const { memories = [] } = change.pack
  const ages = agesAfter(before?.ages ?? null, memories, nowMs)
  return { ages, waits: waitsAfter(before ?? noAges, ages, change, nowMs) }
}

/**
 * A decline that was enforced before goes on: an exception that is new takes nothing from anybody. So do all where
 * nobody has seen what was enforced.
 */
function waitsAfter(
  before: MemoryAges,
  ages: MemoryAges['ages'],
  { pack, former }: PackChange,
  nowMs: number,
): readonly string[] {
  const open = (pack.memories ?? []).filter(({ key, fullAfterMs }) => {
    const { sinceMs = 0, seeded = false } = ages[key] ?? {}
    return !seeded && sinceMs + fullAfterMs > nowMs
  })
  const begun = open.filter(({ key }) => before.ages[key]?.sinceMs === ages[key]?.sinceMs)
  const enforced = new Set(former === null ? idsExceptedBy(open) : former.declines)
  const fresh = idsExceptedBy(open).filter((id) => !enforced.has(id))
  const [still, own] = [new Set(idsExceptedBy(begun)), new Set(pack.declines)]
  // What is none of this pack may be of one that another server has.
  const kept = before.waits.filter((id) => still.has(id) || !own.has(id))
  return [...new Set([...fresh, ...kept])].slice(0, maxWaits)
}

function idsExceptedBy(memories: readonly PackMemory[]): string[] {
  return memories.flatMap(({ excepted = [] }) => excepted.map(({ id }) => id))
}

function agesAfter(
  before: MemoryAges['ages'] | null,
  memories: readonly PackMemory[],
  nowMs: number,
): MemoryAges['ages'] {
  const keys = memories.map(({ key }) => key)
  const begun = before === null ? 0 : nowMs
  const kept = keys.map((key) => {
    const known = before?.[key]
    const forgiven =
      known !== undefined && (known.leftMs === 0 || nowMs - known.leftMs <= forgivenMs)
    return [key, forgiven ? { ...known, leftMs: 0 } : { sinceMs: begun, leftMs: 0 }] as const
  })
  const places = new Set(keys.map(placeOf))
  const left = Object.entries(before ?? {})
    // Another window of its name counts in its place, so there is nothing that it could come back to.
    .filter(([key]) => !keys.includes(key) && !places.has(placeOf(key)))
    .map(([key, one]) => [key, { ...one, leftMs: one.leftMs || nowMs }] as const)
    .filter(([, one]) => nowMs - one.leftMs <= forgivenMs)
  return Object.fromEntries([...kept, ...left].slice(0, maxAges))
}

/** Where records keep it: `window NAME`, whatever else a window says of itself, or `card merchants`. */
function placeOf(key: string): string {
  return key.split(' ', 2).join(' ')
}

/** What the log could tell of these is in the records: all from `sinceMs` on; 0 for all there ever was. */
export function noteSeeded(
  aggregates: Aggregates,
  memories: readonly PackMemory[],
  sinceMs: number,
): Promise<void> {
  return aggregates.change({
    aggregate: memoriesAggregate,
    decide({ root }) {
      const before = decode(root) ?? noAges
      const ages = { ...before.ages }
      for (const { key } of memories) {
        const age = ages[key]
        if (age !== undefined)
          ages[key] = { ...age, sinceMs: Math.min(age.sinceMs, sinceMs), seeded: true }
      }
      return { result: undefined, write: { root: textOf({ ...before, ages }), log: [] } }
    },
  })
}

/** What the records know only since a pack came, and the log was not asked for. */
export function unseeded(
  memories: readonly PackMemory[],
  { ages }: MemoryAges,
  nowMs: number,
): readonly PackMemory[] {
  return memories.filter(({ key, fullAfterMs, window, remembered }) => {
    if (window === '' && remembered === '') return false
    const age = ages[key]
    return age !== undefined && age.seeded !== true && age.sinceMs + fullAfterMs > nowMs
  })
}

/** The rules that only record until what they look at is full, with the time from when on it is. */
export function seedingRules(
  memories: readonly PackMemory[],
  { ages, waits }: MemoryAges,
  nowMs: number,
): ReadonlyMap<string, number> {
  const until = new Map<string, number>()
  const waiting = new Set(waits)
  const wait = (id: string, endMs: number) => {
    if (endMs > nowMs) until.set(id, Math.max(until.get(id) ?? 0, endMs))
  }
  for (const { key, fullAfterMs, ruleIds, excepted = [] } of memories) {
    const { sinceMs = 0, seeded = false } = ages[key] ?? {}
    const fullAtMs = sinceMs + fullAfterMs
    for (const id of ruleIds) wait(id, fullAtMs)
    // What the log cannot tell of an exception must not keep declines in shadow for months.
    if (seeded) continue
    for (const { id, endsMs = fullAtMs } of excepted) {
      if (waiting.has(id)) wait(id, Math.min(fullAtMs, endsMs))
    }
  }
  return until
}
