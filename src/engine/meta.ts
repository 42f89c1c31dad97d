import { z } from 'zod'
import { type Store, StoreRefused } from '../store/port.ts'

/** What was fixed when the store was made. */
const meta = z.object({ format: z.literal(1), eventRetentionDays: z.int() })

const aggregate = 'meta'

/**
 * Claims a new store, or checks that an old one was made with the same settings. The places of events
 * depend on the retention: with another one their duplicates would not be found.
 */
export async function claimStore(store: Store, eventRetentionDays: number): Promise<void> {
  const wanted = { format: 1, eventRetentionDays } as const
  const command = {
    aggregate,
    expectedVersion: null,
    newVersion: 'meta.1',
    root: JSON.stringify(wanted),
    mustBeAbsent: [],
    put: [],
    remove: [],
    index: [],
    unindex: [],
    log: [],
  }
  const [outcome] = await store.commit([command])
  if (outcome === 'committed') return
  const [found] = await store.load([{ aggregate, group: '', id: '' }])
  const kept = meta.safeParse(JSON.parse(found?.value ?? '{}'))
  if (!kept.success) {
    throw new StoreRefused(
      'the store was made by a newer release: run that one, or use another store',
    )
  }
  if (kept.data.eventRetentionDays !== eventRetentionDays) {
    const days = kept.data.eventRetentionDays
    throw new StoreRefused(
      `the store was made with EVENT_RETENTION_DAYS=${days}, which cannot change: set it to ${days}`,
    )
  }
}
