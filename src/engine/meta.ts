import { z } from 'zod'
import { type Store, type StoreRecord, StoreRefused } from '../store/port.ts'

/** What was fixed when the store was made. */
const meta = z.object({ format: z.literal(1), eventRetentionDays: z.int() })

export type Meta = z.output<typeof meta>

const aggregate = 'meta'
const firstVersion = 'meta.1'
/** In its place while a store is being filled from another. */
const unfinished = JSON.stringify({ unfinished: true })

/**
 * Claims a new store, or checks that an old one was made with the same settings. The places of events
 * depend on the retention: with another one their duplicates would not be found.
 */
export async function claimStore(store: Store, eventRetentionDays: number): Promise<void> {
  const command = {
    aggregate,
    expectedVersion: null,
    newVersion: firstVersion,
    root: textOf(eventRetentionDays),
    mustBeAbsent: [],
    put: [],
    remove: [],
    index: [],
    unindex: [],
    log: [],
  }
  const [outcome] = await store.commit([command])
  if (outcome === 'committed') return
  const { eventRetentionDays: days } = await readMeta(store)
  if (days !== eventRetentionDays) {
    throw new StoreRefused(
      `the store was made with EVENT_RETENTION_DAYS=${days}, which cannot change: set it to ${days}`,
    )
  }
}

/** Refuses a store that this release cannot read whole. */
export async function readMeta(store: Store): Promise<Meta> {
  const [found] = await store.load([{ aggregate, group: '', id: '' }])
  if (found === undefined)
    throw new StoreRefused('there is no store of Arbiter: name another place')
  if (found.value === unfinished) {
    throw new StoreRefused('the store is an unfinished copy: remove it, and copy or restore again')
  }
  const kept = meta.safeParse(JSON.parse(found.value))
  if (!kept.success) {
    throw new StoreRefused(
      'the store was made by a newer release: run that one, or use another store',
    )
  }
  return kept.data
}

/** From here until `putMeta` no server takes the store. */
export function markUnfinished(store: Store): Promise<void> {
  return store.fill([{ kind: 'root', aggregate, version: firstVersion, value: unfinished }])
}

export function putMeta(store: Store, eventRetentionDays: number): Promise<void> {
  const value = textOf(eventRetentionDays)
  return store.fill([{ kind: 'root', aggregate, version: firstVersion, value }])
}

export function isMeta(record: StoreRecord): boolean {
  return record.kind === 'root' && record.aggregate === aggregate
}

function textOf(eventRetentionDays: number): string {
  return JSON.stringify({ format: 1, eventRetentionDays } satisfies Meta)
}
