import type { Store } from '../../store/port.ts'
import { accountAggregate } from '../format/layout.ts'
import type { Damage } from '../quarantine/damage.ts'
import type { Queues } from '../queue.ts'
import { type Cache, type CachedAccount, emptyAccount } from './cache.ts'
import type { Directory } from './directory.ts'
import { checkRoot, openWorkingBook, type Wanted, wantRoot } from './working-book.ts'

export interface ReadAheadOptions {
  readonly store: Pick<Store, 'load' | 'losses'>
  readonly cache: Cache
  readonly queues: Pick<Queues, 'isOpen'>
  readonly directory: Directory
  readonly cacheCards: number
  readonly onDamage: (damage: Damage) => void
}

/** Fills memory beside the events of the moment, which come first: what they use is left alone. */
export interface ReadAhead {
  /** How many cards it has read. */
  readonly cards: number
  /** Resolves to whether there is room for more; rejects with a StoreError. */
  read(cardIds: readonly string[]): Promise<boolean>
}

/** The rest of memory is for what is asked, so that nothing that was asked makes room for this. */
const shareOfMemory = 0.5

/** One account on its way into memory. */
interface Reading {
  readonly cached: CachedAccount
  /** As memory had it when the read began; null when it did not. */
  readonly known: CachedAccount | null
  readonly version: string | null
  readonly wanted: readonly Wanted[]
  readonly cards: number
  /** The store has another root than memory. */
  isOther: boolean
}

export function createReadAhead(options: ReadAheadOptions): ReadAhead {
  const { store, cache, queues, directory, cacheCards } = options
  const maxCards = Math.floor(cacheCards * shareOfMemory)
  let cards = 0

  function room(): number {
    return cache.isHalfFull ? 0 : maxCards - Math.max(cache.size, directory.size)
  }

  function isKnown(cardId: string): boolean {
    const accountId = directory.accountOf(cardId)
    if (accountId === undefined) return false
    return cache.find(accountAggregate(accountId))?.cards.has(cardId) === true
  }

  /** The root before its cards, as for an event: then no card is older than the version it stands under. */
  function open(accountId: string, cardIds: readonly string[]): Reading | null {
    const aggregate = accountAggregate(accountId)
    if (queues.isOpen(aggregate)) return null
    const known = cache.find(aggregate) ?? null
    const cached = known ?? emptyAccount(aggregate)
    const check = checkRoot(cached, () => {
      reading.isOther = true
    })
    const rootOfKnown = store.losses === undefined ? [] : [check]
    const root = cached.loaded ? rootOfKnown : [wantRoot(cached)]
    const book = openWorkingBook(cached, 0)
    for (const cardId of cardIds) book.card(cardId)
    const { wanted } = book
    const reading: Reading = {
      cached,
      known,
      version: cached.version,
      wanted: [...root, ...wanted],
      cards: wanted.length,
      isOther: false,
    }
    return reading
  }

  /** An event came in between: memory has what it read or wrote, and that is newer than this. */
  function isOvertaken({ cached: { aggregate }, known, version }: Reading): boolean {
    const now = cache.find(aggregate) ?? null
    return queues.isOpen(aggregate) || now !== known || (now?.version ?? null) !== version
  }

  return {
    get cards() {
      return cards
    },
    async read(cardIds) {
      if (room() <= 0) return false
      const unknown = cardIds.filter((cardId) => !isKnown(cardId)).slice(0, room())
      const accounts = groupCards(await directory.resolve(unknown))
      const readings: Reading[] = []
      for (const [accountId, its] of accounts) {
        const reading = open(accountId, its)
        if (reading !== null) readings.push(reading)
      }
      const all = readings.flatMap(({ wanted }) => wanted.flatMap(({ keys }) => keys))
      const loaded = all.length === 0 ? [] : await store.load(all)
      let at = 0
      for (const reading of readings) {
        const overtaken = isOvertaken(reading)
        for (const { keys, fill } of reading.wanted) {
          if (!overtaken && !reading.isOther) fill(loaded.slice(at, at + keys.length))
          at += keys.length
        }
        if (overtaken) continue
        const { unreadable, account } = reading.cached
        for (const damage of unreadable.values()) options.onDamage(damage)
        unreadable.clear()
        // An account that was never opened is as good as unknown: events find that out by themselves.
        if (reading.isOther || account === null) continue
        if (reading.known === null) cache.add(reading.cached)
        cards += reading.cards
      }
      return room() > 0
    },
  }
}

function groupCards(accounts: ReadonlyMap<string, string>): Map<string, string[]> {
  const groups = new Map<string, string[]>()
  for (const [cardId, accountId] of accounts) {
    const group = groups.get(accountId)
    if (group === undefined) groups.set(accountId, [cardId])
    else group.push(cardId)
  }
  return groups
}
