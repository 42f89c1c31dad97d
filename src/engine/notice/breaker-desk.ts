import type { Clock } from '../../clock.ts'
import type { Step } from '../../domain/decide/answer.ts'
import { inShadow, type Pack } from '../../domain/decide/pack.ts'
import { startRoutine } from '../../timing.ts'
import type { Aggregates } from '../aggregates.ts'
import { trippedAggregate } from '../format/layout.ts'
import { type BreakerCounts, createBreakerCounts } from './breaker-counts.ts'
import type { NoticeBoard } from './notice-board.ts'
import { type TrippedRule, trippedIn, tripRule } from './tripped-rules.ts'

/** Counts for the breakers of the pack in use, trips those that are past their bound, and obeys all. */
export interface BreakerDesk {
  /** An ask that was decided for the first time. */
  note(step: Step): void
  setPack(pack: Pack): void
  /** The pack in use, with the tripped rules in shadow, and with these. */
  obeyed(others: readonly string[]): Pack
  tripped(): readonly string[]
  stop(): void
}

export interface BreakerDeskOptions {
  readonly aggregates: Aggregates
  readonly clock: Clock
  readonly board: NoticeBoard
  readonly pack: Pack
  readonly intervalMs: number
  /** Other rules than before only record. */
  readonly onChange: () => void
  readonly onTrouble: (message: string) => void
}

/** Resolves after the first look at what other instances have tripped. */
export async function openBreakerDesk(options: BreakerDeskOptions): Promise<BreakerDesk> {
  const { aggregates, clock, board } = options
  let pack = options.pack
  let counts: BreakerCounts = createBreakerCounts(pack.breakers ?? [])
  let all: readonly TrippedRule[] = []
  const told = new Set<string>()

  const inForce = () => all.filter(({ rulesVersion }) => rulesVersion === pack.version)

  await board.follow(trippedAggregate, (found) => {
    const before = new Set(inForce().map(({ ruleId }) => ruleId))
    all = trippedIn(found)
    const now = inForce()
    for (const { ruleId, reason } of now) {
      if (!before.has(ruleId)) {
        options.onTrouble(
          `rule ${ruleId} is in shadow now: it ${reason}; mend the pack, or run arbiter rules arm ${ruleId} --reason TEXT`,
        )
      }
    }
    const armed = [...before].filter((id) => now.every(({ ruleId }) => ruleId !== id))
    // Who armed it has looked at what it declined: it is counted anew.
    for (const ruleId of armed) counts.forget(ruleId)
    told.clear()
    options.onChange()
  })

  async function trip(): Promise<void> {
    try {
      const nowMs = clock.nowMs()
      const known = new Set(inForce().map(({ ruleId }) => ruleId))
      for (const { ruleId, reason } of counts.past(nowMs)) {
        if (known.has(ruleId) || told.has(ruleId)) continue
        const rule = { ruleId, rulesVersion: pack.version, atMs: nowMs, reason }
        await tripRule(aggregates, rule)
        told.add(ruleId)
        await board.look()
      }
    } catch {
      // The store is away: the breaker is still past its bound at the next look.
    }
  }

  const tripping = startRoutine(options.intervalMs, trip)
  return {
    note: (step) => counts.note(step, clock.nowMs()),
    setPack(next) {
      if (next.version !== pack.version) {
        counts = createBreakerCounts(next.breakers ?? [])
        told.clear()
      }
      pack = next
    },
    obeyed(others) {
      return inShadow(pack, new Set([...inForce().map(({ ruleId }) => ruleId), ...others]))
    },
    tripped: () => inForce().map(({ ruleId }) => ruleId),
    stop: tripping.stop,
  }
}
