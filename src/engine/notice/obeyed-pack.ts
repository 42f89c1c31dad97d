import type { Clock } from '../../clock.ts'
import type { Step } from '../../domain/decide/answer.ts'
import { type Pack, withBlocks, withDisabled } from '../../domain/decide/pack.ts'
import type { Block } from '../../domain/record/block.ts'
import type { Store } from '../../store/port.ts'
import type { Aggregates } from '../aggregates.ts'
import { organizationsAggregate } from '../format/layout.ts'
import { watchBlocks } from './block-list.ts'
import { type BreakerDesk, openBreakerDesk } from './breaker-desk.ts'
import { type MemoryDesk, openMemoryDesk } from './memory-desk.ts'
import type { NoticeBoard } from './notice-board.ts'
import { disabledIn, type OrganizationTable, organizationsIn } from './organization-table.ts'

/** The pack in use with what people and breakers have said since: blocks, disabled organizations, tripped rules. */
export interface ObeyedPack {
  readonly version: string
  setPack(pack: Pack): void
  /** An ask that was decided for the first time. */
  note(step: Step): void
  tripped(): readonly string[]
  seeding(): readonly string[]
  unseeded(): number
  /** Blocks that count now. */
  blocks(): number
  stop(): void
}

export interface ObeyedPackOptions {
  readonly store: Store
  readonly aggregates: Aggregates
  readonly clock: Clock
  readonly board: NoticeBoard
  readonly pack: Pack
  readonly intervalMs: number
  readonly use: (pack: Pack) => void
  readonly onOrganizations: (table: OrganizationTable) => void
  readonly onTrouble: (message: string) => void
}

/** Resolves when all of it is known: no event may be decided before. */
export async function openObeyedPack(options: ObeyedPackOptions): Promise<ObeyedPack> {
  const { store, clock, board } = options
  let breakers: BreakerDesk | null = null
  let memories: MemoryDesk | null = null
  let { pack } = options
  let blocked: readonly Block[] = []
  let disabled: ReadonlySet<string> = new Set()

  function use(): void {
    const shadowed = breakers?.obeyed(memories?.seeding() ?? []) ?? pack
    options.use(withBlocks(withDisabled(shadowed, disabled), blocked))
  }

  const blocks = await watchBlocks(board, store, (list) => {
    blocked = list
    use()
  })
  await board.follow(organizationsAggregate, (found) => {
    const table = organizationsIn(found)
    disabled = disabledIn(table)
    use()
    options.onOrganizations(table)
  })
  const desk = { ...options, onChange: use }
  breakers = await openBreakerDesk(desk)
  memories = await openMemoryDesk(desk)
  use()
  const desks = { breakers, memories }

  return {
    get version() {
      return pack.version
    },
    setPack(next) {
      pack = next
      desks.breakers.setPack(next)
      desks.memories.setPack(next)
      use()
    },
    note: desks.breakers.note,
    tripped: desks.breakers.tripped,
    seeding: desks.memories.seeding,
    unseeded: desks.memories.unseeded,
    blocks: () => blocks.count(clock.nowMs()),
    stop() {
      desks.breakers.stop()
      desks.memories.stop()
    },
  }
}
