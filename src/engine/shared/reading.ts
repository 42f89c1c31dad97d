import type { View } from '../../domain/change/view.ts'
import type { Pack } from '../../domain/decide/pack.ts'
import { sharedKeysOf } from '../../domain/decide/shared-window.ts'
import type { CardEvent } from '../../domain/record/event.ts'
import type { WindowStates } from '../../domain/record/window-state.ts'
import type { Store } from '../../store/port.ts'
import { sharedCountsKey } from '../format/layout.ts'
import { readCounts } from './record.ts'

const nothing: WindowStates = {}

/** The pack with what the store knows of its windows over several cards, for one ask; only to read. */
export async function withStoredCounts<P extends Pack>(
  pack: P,
  store: Store,
  event: CardEvent,
  { account, card, transaction }: View,
  atMs: number,
): Promise<P> {
  if (pack.sharedWindows === undefined) return pack
  const keys = sharedKeysOf(pack, { event, account, card, transaction, atMs })
  const found = await store.load(keys.map(sharedCountsKey))
  const counts = new Map(keys.map((key, i) => [key, readCounts(key, found[i]?.value ?? null)]))
  return { ...pack, shared: { statesOf: (key) => counts.get(key) ?? nothing, count: () => {} } }
}
