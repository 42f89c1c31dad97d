import { keepNewest } from '../../bounded-map.ts'
import type { Command, Store } from '../../store/port.ts'
import { directoryKey } from '../format/layout.ts'
import { decodePlace } from '../quarantine/damage.ts'

/** Which account a card belongs to. It never changes, so memory is never stale. */
export interface Directory {
  /** Cards that memory knows. */
  readonly size: number
  /** undefined when memory does not know the card. */
  accountOf(cardId: string): string | undefined
  /**
   * The accounts of these cards, read where memory does not know them; a card that is not there may
   * still be issued later. '' where the entry cannot be read. More cards than memory keeps may be asked
   * for at once.
   */
  resolve(cardIds: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Enters cards before their first commit; resolves to those that belong to another account. */
  enter(cards: readonly CardPlace[], newVersion: () => string): Promise<CardPlace[]>
}

interface CardPlace {
  readonly cardId: string
  readonly accountId: string
}

export function createDirectory(store: Store, maxCards: number): Directory {
  const known = new Map<string, string>()

  function remember(cardId: string, accountId: string): void {
    // One that goes is read again when it is needed.
    keepNewest(known, cardId, accountId, maxCards)
  }

  async function resolve(cardIds: readonly string[]): Promise<Map<string, string>> {
    const accounts = new Map<string, string>()
    const unknown: string[] = []
    for (const cardId of new Set(cardIds)) {
      const accountId = known.get(cardId)
      if (accountId === undefined) unknown.push(cardId)
      else accounts.set(cardId, accountId)
    }
    if (unknown.length === 0) return accounts
    return new Map([...accounts, ...(await read(unknown))])
  }

  /** As the store has it now: it may have lost what memory knows. */
  async function read(cardIds: readonly string[]): Promise<Map<string, string>> {
    const accounts = new Map<string, string>()
    const loaded = await store.load(cardIds.map(directoryKey))
    loaded.forEach((found, i) => {
      if (found === undefined) return
      const accountId = decodePlace(found.value)
      accounts.set(cardIds[i]!, accountId)
      if (accountId !== '') remember(cardIds[i]!, accountId)
    })
    return accounts
  }

  async function enter(
    cards: readonly CardPlace[],
    newVersion: () => string,
  ): Promise<CardPlace[]> {
    const accounts = await read([...new Set(cards.map(({ cardId }) => cardId))])
    const missing = () => cards.filter(({ cardId }) => !accounts.has(cardId))
    for (let some = missing(); some.length > 0; some = missing()) {
      await enterOnce(some, newVersion)
      for (const [cardId, accountId] of await read(some.map(({ cardId }) => cardId))) {
        accounts.set(cardId, accountId)
      }
    }
    // Only now: another server may have entered one while this one did.
    return cards.filter(({ cardId, accountId }) => accounts.get(cardId) !== accountId)
  }

  /** One command for each small group of cards; a conflict is tried again by the caller. */
  async function enterOnce(cards: readonly CardPlace[], newVersion: () => string): Promise<void> {
    const groups = groupBy(cards, ({ cardId }) => directoryKey(cardId).aggregate)
    const aggregates = [...groups.keys()]
    const roots = await store.load(
      aggregates.map((aggregate) => ({ aggregate, group: '', id: '' })),
    )
    const commands = aggregates.map((aggregate, i): Command => {
      const entries = groups.get(aggregate)!
      return {
        aggregate,
        expectedVersion: roots[i]?.version ?? null,
        newVersion: newVersion(),
        root: '',
        mustBeAbsent: entries.map(({ cardId }) => ({ group: 'd', id: cardId })),
        put: entries.map(({ cardId, accountId }) => ({ group: 'd', id: cardId, value: accountId })),
        remove: [],
        index: [],
        unindex: [],
        log: [],
      }
    })
    await store.commit(commands)
  }

  return {
    get size() {
      return known.size
    },
    accountOf: (cardId) => known.get(cardId),
    resolve,
    enter,
  }
}

function groupBy<T>(values: readonly T[], keyOf: (value: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const value of values) {
    const key = keyOf(value)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [value])
    else group.push(value)
  }
  return groups
}
