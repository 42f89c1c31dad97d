import { indexes, splitSortKey } from '../../engine/format/layout.ts'
import { unlessUnreadable } from '../../engine/format/row-codec.ts'
import type { Store } from '../../store/port.ts'
import { pendingPlace } from '../effect.ts'
import { decodeTransfer, type Transfer } from './transfer.ts'

const perRead = 500

/** The transfers that are on their way, the oldest first. One that cannot be read must not hide the others. */
export async function* openTransfers(
  store: Store,
  onUnreadable: () => void,
): AsyncGenerator<Transfer> {
  for (let after = ''; ; ) {
    const entries = await store.range(indexes.moving, after, perRead)
    const keys = entries.map(({ sortKey }) => {
      const [aggregate = '', clientId = '', reference = ''] = splitSortKey(sortKey).parts
      return { aggregate, ...pendingPlace({ clientId, reference }) }
    })
    for (const found of await store.load(keys)) {
      if (found === undefined) continue
      const transfer = unlessUnreadable(() => decodeTransfer(found.value))
      if (transfer === null) onUnreadable()
      else yield transfer
    }
    if (entries.length < perRead) return
    after = entries.at(-1)!.sortKey
  }
}
