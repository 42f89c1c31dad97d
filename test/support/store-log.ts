import { showTransaction } from '../../src/backoffice/show.ts'
import { systemClock } from '../../src/clock.ts'
import type { CardEvent } from '../../src/domain/record/event.ts'
import { decodeEntry } from '../../src/engine/format/entry-codec.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/port.ts'

const pageEntries = 1_000

/** The store of a server that has stopped. */
async function withStore<T>(dataDir: string, look: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore({ redis: null, dataDir }, systemClock.nowMs)
  try {
    return await look(store)
  } finally {
    await store.close()
  }
}

/** Every event that changed anything, in order. */
export function loggedEvents(dataDir: string): Promise<CardEvent[]> {
  return withStore(dataDir, async (store) => {
    const events: CardEvent[] = []
    let after = ''
    for (;;) {
      const lines = await store.readLog(after, pageEntries)
      if (lines.length === 0) return events
      for (const { entry } of lines) {
        const { event } = decodeEntry(entry)
        if (event !== null) events.push(event)
      }
      after = lines.at(-1)!.cursor
    }
  })
}

export function authorizedMinor(
  dataDir: string,
  cardId: string,
  transactionId: string,
): Promise<unknown> {
  return withStore(dataDir, async (store) => {
    return (await showTransaction(store, cardId, transactionId))?.netAuthorizedMinor
  })
}
