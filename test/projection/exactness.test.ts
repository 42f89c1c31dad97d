import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { importRows } from '../../src/engine/import.ts'
import { entryIn } from '../../src/engine/log-reading.ts'
import { createProjector } from '../../src/projection/projector.ts'
import { createRowDesk } from '../../src/projection/row-desk.ts'
import type { LogLine, Store } from '../../src/store/port.ts'
import { handed, startEngine, testEvent } from '../support/engine-world.ts'
import { createMemoryState, createMemoryStore, type Fault } from '../support/memory-store.ts'
import { checkRows } from '../support/row-check.ts'
import { createRandom } from '../support/traffic.ts'

const histories = process.env.TORTURE ? 200 : 6
const cards = 5

/**
 * Lines are hidden for a while, as if their commits were still on their way. Of one account none is seen
 * before an earlier one, because its commits follow each other.
 */
function createVisibility(random: () => number, time: { ms: number }, counts: boolean) {
  const visibleAt = new Map<string, number>()
  const ofAccount = new Map<string, number>()
  function isVisible(line: LogLine): boolean {
    const known = visibleAt.get(line.cursor)
    if (known !== undefined) return known <= time.ms
    const { accountId } = entryIn(line)!
    const own = line.writtenMs + (random() < 0.1 ? random() * 5_000 : 0)
    const at = Math.max(own, ofAccount.get(accountId) ?? 0)
    visibleAt.set(line.cursor, at)
    ofAccount.set(accountId, at)
    return at <= time.ms
  }
  return (store: Store): Store => {
    const visible = async (after: string) => (await store.readLog(after, 10_000)).filter(isVisible)
    return {
      ...store,
      readLog: async (after, limit) => (await visible(after)).slice(0, limit),
      ...(counts && {
        async countLog(after, last) {
          return (await visible(after)).filter(({ cursor }) => Number(cursor) <= Number(last))
            .length
        },
      }),
    }
  }
}

function openHistory(seed: number) {
  const random = createRandom(seed)
  const time = { ms: Date.now() }
  const state = createMemoryState()
  const clock = { nowMs: () => time.ms, monoMs: () => time.ms }
  const store = createMemoryStore(state, { nowMs: clock.nowMs })
  const engine = startEngine(store, { clock })
  const withLateLines = createVisibility(random, time, seed % 2 === 0)
  let number = 0

  function faults(): Fault {
    const kind = random()
    if (kind < 0.1) return { kind: 'refused' }
    if (kind < 0.2) return { kind: 'replyLost' }
    if (kind < 0.3) return { kind: 'late', release: sleep(random() * 20) }
    return { kind: 'none' }
  }

  /** A process of its own: what it had on its way when it was killed may still be executed. */
  function startInstance(faulty: boolean) {
    const instance = `i${seed}.${number++}`
    const own = createMemoryStore(state, { nowMs: clock.nowMs, ...(faulty && { faults }) })
    const view = withLateLines(own)
    let versions = 0
    const newVersion = () => `${instance}.${versions++}`
    const aggregates = createAggregates({ store: view, newVersion })
    const desk = createRowDesk({ aggregates, retentionDays: 400, nowMs: clock.nowMs })
    const consumers = [desk]
    const onTrouble = (message: string) => expect(message).toBe('')
    const options = { store: view, aggregates, clock, instance, consumers, onTrouble }
    const projector = createProjector(options)
    let busy = false
    return {
      step: projector.step,
      /** As a timer does: not while a step is still at work. */
      tick() {
        if (busy) return
        busy = true
        void projector
          .step()
          .catch(() => {})
          .finally(() => {
            busy = false
          })
      },
      kill: () => aggregates.stop(),
    }
  }

  let events = 0
  async function happen(): Promise<void> {
    const delivery = handed(
      testEvent({
        eventId: `e${events++}`,
        cardId: `card-${Math.floor(random() * cards)}`,
        transactionId: `t${Math.floor(random() * 20)}`,
        requestType: random() < 0.3 ? 'Settlement' : 'Authorization',
        amountMinor: Math.floor(random() * 40_000),
      }),
      `s${events}`,
      time.ms,
    )
    engine.deliver(delivery)
    await engine.idle()
    if (random() < 0.3) {
      engine.deliver({ ...delivery, said: takenBack })
      await engine.idle()
    }
  }

  return { random, time, store, engine, startInstance, happen }
}

const takenBack = {
  code: '176',
  decidedBy: 'default',
  cause: 'deadline',
  ruleId: '',
  approvedAmountMinor: null,
  rulesVersion: 'v',
} as const

describe('the rows of the transactions list', () => {
  it(`are each there once and as the log has them, through ${histories} histories of faults`, {
    timeout: 5_000 + 1_000 * histories,
  }, async () => {
    for (let seed = 1; seed <= histories; seed++) {
      const { random, time, store, engine, startInstance, happen } = openHistory(seed)
      await importRows(
        Array.from({ length: cards }, (_, i) => ({
          cardId: `card-${i}`,
          customerId: `customer-${i % 2}`,
          accountId: `account-${i}`,
          organizationId: 'org-1',
          type: 'retail',
          currency: 'USD',
          country: 'US',
          balance: '1000.00',
        })),
        engine,
      )
      let running = [startInstance(true), startInstance(true)]
      for (let round = 0; round < 40; round++) {
        time.ms += Math.floor(random() * 1_500)
        await happen()
        for (const one of running) one.tick()
        await sleep(random() * 4)
        if (random() < 0.15) {
          running[0]!.kill()
          running = [running[1]!, startInstance(true)]
        }
      }
      for (const one of running) one.kill()
      await sleep(30)
      const last = startInstance(false)
      for (let i = 0; i < 30; i++) {
        time.ms += 1_000
        while (await last.step()) {}
      }
      const { rows, wrong, strayEntries } = await checkRows(store, 'org-1')
      expect({ seed, wrong, strayEntries }).toEqual({ seed, wrong: [], strayEntries: 0 })
      expect(rows).toBeGreaterThan(30)
    }
  })
})
