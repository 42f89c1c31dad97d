import type { Clock } from '../../clock.ts'
import { gather } from '../../domain/change/book.ts'
import type { Pack } from '../../domain/decide/pack.ts'
import { noStandIns, standInMinor } from '../../domain/decide/stand-in.ts'
import type { DeliveryItem } from '../item.ts'
import type { CachedAccount } from '../memory/cache.ts'
import { openWorkingBook } from '../memory/working-book.ts'

export interface StandInDesk {
  /** Whether the store is known to be away. */
  readonly isAway: boolean
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
/** A store that is away again within this time is away for the same reason; what it was too slow for is booked by then. */
const quietMs = 60_000

/** What was approved from memory. */
interface Approved {
  readonly count: number
  readonly totalMinor: number
  readonly latestMonoMs: number
}

const noneApproved: Approved = { count: 0, totalMinor: 0, latestMonoMs: 0 }

/** Keeps the account of what is approved from memory while the store is away. */
export function createStandInDesk(clock: Clock): StandInDesk {
  const kept = new Map<string, CachedAccount>()
  /** Those that were approved for last are at the end. */
  const cards = new Map<string, Approved>()
  const accounts = new Map<string, Approved>()
  const asked = new WeakSet<DeliveryItem>()
  let isAway = false
  let availableSinceMonoMs = 0

  /** While a store only hangs it is not away yet: what is approved in that time counts when it is. */
  function forgetOlder(nowMonoMs: number): void {
    if (isAway) return
    for (const approved of [cards, accounts]) {
      for (const [key, { latestMonoMs }] of approved) {
        if (nowMonoMs - Math.max(latestMonoMs, availableSinceMonoMs) <= quietMs) break
        approved.delete(key)
      }
    }
  }

  function add(approved: Map<string, Approved>, key: string, minor: number): void {
    const { count, totalMinor } = approved.get(key) ?? noneApproved
    approved.delete(key)
    const latestMonoMs = clock.monoMs()
    approved.set(key, { count: count + 1, totalMinor: totalMinor + minor, latestMonoMs })
  }

  return {
    get isAway() {
      return isAway
    },
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
      if (memory === undefined || !memory.loaded) return false
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
      forgetOlder(clock.monoMs())
      const ofCard = cards.get(cardId) ?? noneApproved
      const before = {
        ...noStandIns,
        cardCount: ofCard.count,
        cardTotalMinor: ofCard.totalMinor,
        accountTotalMinor: (accounts.get(memory.aggregate) ?? noneApproved).totalMinor,
      }
      const takenMinor = standInMinor(event, view, pack, receivedAtMs, before, decided)
      if (takenMinor === null) return false
      add(cards, cardId, event.amountMinor ?? 0)
      if (!isInMemory) add(accounts, memory.aggregate, takenMinor)
      return true
    },
    onStore(available) {
      const nowMonoMs = clock.monoMs()
      if (!available && nowMonoMs - availableSinceMonoMs > quietMs) kept.clear()
      forgetOlder(nowMonoMs)
      isAway = !available
      if (available) availableSinceMonoMs = nowMonoMs
      // What the store says from now on is newer than memory; the counts go on for a while.
      if (available) kept.clear()
    },
  }
}
