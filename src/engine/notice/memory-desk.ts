import type { Clock } from '../../clock.ts'
import type { Pack } from '../../domain/decide/pack.ts'
import type { Aggregates } from '../aggregates.ts'
import { memoriesAggregate } from '../format/layout.ts'
import { agesWith, memoryAgesIn, noteMemories, seedingRules, unseeded } from './memory-ages.ts'
import type { NoticeBoard } from './notice-board.ts'

/** Keeps rules in shadow that would match because what they look at has only begun to fill. */
export interface MemoryDesk {
  setPack(pack: Pack): void
  seeding(): readonly string[]
  /** How much of what the pack keeps is still to be told by the log. */
  unseeded(): number
  stop(): void
}

export interface SeedingFigures {
  /** Rules that only record until what they look at has filled. */
  readonly seedingRules: readonly string[]
  /** Windows and facts of the pack that the log is still to be asked for. */
  readonly unseeded: number
}

export interface MemoryDeskOptions {
  readonly aggregates: Aggregates
  readonly clock: Clock
  readonly board: NoticeBoard
  readonly pack: Pack
  readonly intervalMs: number
  /** Other rules than before are seeding. */
  readonly onChange: () => void
}

/** Resolves when it is known since when the store keeps what the pack looks at. */
export async function openMemoryDesk(options: MemoryDeskOptions): Promise<MemoryDesk> {
  const { aggregates, clock, board, intervalMs, onChange } = options
  let pack = options.pack
  let former: Pack | null = null
  let known = memoryAgesIn(null)
  let ids: readonly string[] = []
  let noted = false

  /** New memories have no age until they are noted: their rules wait for it in shadow. */
  function look(): void {
    const nowMs = clock.nowMs()
    const memories = pack.memories ?? []
    const fresh = noted ? known : agesWith(known, { pack, former }, nowMs)
    const next = [...seedingRules(memories, fresh, nowMs).keys()].sort()
    if (next.join() === ids.join()) return
    ids = next
    onChange()
  }

  async function note(): Promise<void> {
    const { version } = pack
    try {
      await noteMemories(aggregates, { pack, former }, clock.nowMs())
      // Until its age was read, a memory that has begun would count as one that was always kept.
      if ((await board.look()) && pack.version === version) noted = true
    } catch {
      // The store is away: it is noted at a later look.
    }
    look()
  }

  await note()
  await board.follow(memoriesAggregate, (found) => {
    known = memoryAgesIn(found)
    look()
  })
  const timer = setInterval(() => {
    if (noted) look()
    else void note()
  }, intervalMs)
  timer.unref()
  return {
    setPack(next) {
      if (next.version === pack.version) return
      former = pack
      pack = next
      noted = false
      look()
      void note()
    },
    seeding: () => ids,
    unseeded: () => (noted ? unseeded(pack.memories ?? [], known, clock.nowMs()).length : 0),
    stop: () => clearInterval(timer),
  }
}
