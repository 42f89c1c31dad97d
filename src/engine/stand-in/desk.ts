import type { Clock } from '../../clock.ts'
import { gather } from '../../domain/change/book.ts'
import type { Pack } from '../../domain/decide/pack.ts'
import { mayStandIn, noStandIns } from '../../domain/decide/stand-in.ts'
import type { DeliveryItem } from '../item.ts'
import type { CachedAccount } from '../memory/cache.ts'
import { openWorkingBook } from '../memory/working-book.ts'

export interface StandInDesk {
  /** Memory with what a command that failed was to write; the cache must forget it, this need not. */
  keep(cached: CachedAccount): void
  kept(aggregate: string): CachedAccount | undefined
  /** A commit of this account was taken: the store may be away elsewhere, and memory is newer than what was kept. */
  landed(aggregate: string): void
  /** Whether memory approves it; once for each delivery. */
  approves(item: DeliveryItem, memory: CachedAccount | undefined, pack: Pack): boolean
  onStore(available: boolean): void
}

/** Accounts whose memory is kept while the store is away. */
const maxKept = 10_000
/** A store that is away again within this time is away for the same reason. */
const quietMs = 60_000

/** Keeps the account of what is approved from memory while the store is away. */
export function createStandInDesk(clock: Clock): StandInDesk {
  const kept = new Map<string, CachedAccount>()
  const cards = new Map<string, { count: number; totalMinor: number }>()
  const accounts = new Map<string, number>()
  const asked = new WeakSet<DeliveryItem>()
  let availableSinceMonoMs = 0

  function forget(): void {
    kept.clear()
    cards.clear()
    accounts.clear()
  }

  return {
    keep(cached) {
      if (cached.loaded && kept.size < maxKept && !kept.has(cached.aggregate)) {
        kept.set(cached.aggregate, cached)
      }
    },
    kept: (aggregate) => kept.get(aggregate),
    landed: (aggregate) => void kept.delete(aggregate),
    approves(item, memory, pack) {
      if (asked.has(item) || pack.switches.standIn === null) return false
      asked.add(item)
      if (memory === undefined || !memory.loaded || memory.root === null) return false
      const { event, receivedAtMs } = item
      const { cardId } = event
      const book = openWorkingBook(memory, pack.retentionMs)
      book.next(receivedAtMs, { event: true, transaction: true })
      const view = gather(event, book)
      if (book.wanted.length > 0) return false
      // A command that is on its way, or failed, was to write it.
      const isInMemory = view.transaction.asks.some(({ eventKey }) => eventKey === view.eventKey)
      const decided = isInMemory ? (item.step?.answer ?? null) : null
      if (isInMemory && decided === null) return false
      const ofCard = cards.get(cardId) ?? { count: 0, totalMinor: 0 }
      const accountTotalMinor = accounts.get(memory.aggregate) ?? 0
      const before = {
        ...noStandIns,
        cardCount: ofCard.count,
        cardTotalMinor: ofCard.totalMinor,
        accountTotalMinor,
      }
      if (!mayStandIn(event, view, pack, receivedAtMs, before, decided)) return false
      const amountMinor = event.amountMinor ?? 0
      const { count, totalMinor } = ofCard
      cards.set(cardId, { count: count + 1, totalMinor: totalMinor + amountMinor })
      if (!isInMemory) accounts.set(memory.aggregate, accountTotalMinor + amountMinor)
      return true
    },
    onStore(available) {
      const nowMonoMs = clock.monoMs()
      if (!available && nowMonoMs - availableSinceMonoMs > quietMs) forget()
      if (available) availableSinceMonoMs = nowMonoMs
      // What the store says from now on is newer than memory; the counts go on for a while.
      if (available) kept.clear()
    },
  }
}
