import type { Clock } from '../../clock.ts'
import type { Pack } from '../../domain/decide/pack.ts'
import { isAsk } from '../../domain/record/event.ts'
import type { DeliveryItem } from '../item.ts'
import type { CachedAccount } from '../memory/cache.ts'
import type { Table } from '../memory/table.ts'
import type { StandInDesk } from './desk.ts'

export interface StandInWatchOptions {
  readonly clock: Clock
  readonly desk: StandInDesk
  /** Not yet answered or booked. */
  readonly open: Table<DeliveryItem>
  readonly memoryOf: (cardId: string) => CachedAccount | undefined
  readonly pack: () => Pack
  readonly isOver: () => boolean
  readonly onStandIn: (slot: string) => void
}

export interface StandInWatch {
  /** Looks from now on, until nothing is open or the pack has no stand-in policy. */
  begin(): void
  stop(): void
}

/** What waits this long may not be committed in time: memory is asked whether it would approve. */
const standInAfterMs = 120
/** What is committed while a part of the store is away has left by then. The rest of the budget is for a machine that stalls. */
const standInAwayAfterMs = 40
const lookMs = 20

export function createStandInWatch(options: StandInWatchOptions): StandInWatch {
  const { clock, desk, open, memoryOf, isOver, onStandIn } = options
  let timer: NodeJS.Timeout | undefined

  /** Few wait so long. */
  function look(): void {
    timer = undefined
    if (open.size === 0 || isOver()) return
    const pack = options.pack()
    const afterMs = desk.isAway ? standInAwayAfterMs : standInAfterMs
    const nowMonoMs = clock.monoMs()
    for (const item of open.values()) {
      if (nowMonoMs - item.enqueuedMonoMs < afterMs) continue
      if (item.said !== null || item.saidInFlight !== null || !isAsk(item.event)) continue
      if (approves(item, pack)) onStandIn(item.slot)
    }
    if (pack.switches.standIn !== null) begin()
  }

  /** What cannot be decided is not approved either. */
  function approves(item: DeliveryItem, pack: Pack): boolean {
    try {
      return desk.approves(item, memoryOf(item.event.cardId), pack)
    } catch {
      return false
    }
  }

  function begin(): void {
    timer ??= setTimeout(look, lookMs)
  }

  return { begin, stop: () => clearTimeout(timer) }
}
