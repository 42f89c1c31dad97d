import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Command } from '../../../src/store/port.ts'
import { type Step, stepOf } from '../../support/transfer-duel.ts'
import { startInstance, type TransferInstance } from '../../support/transfer-instance.ts'
import { checkAtRest, checkConserved, creditedIn } from '../../support/transfer-invariants.ts'
import { createTransferNodes } from '../../support/transfer-nodes.ts'
import { accounts, ask, pass, prepare, wallet } from '../../support/transfer-world.ts'

beforeEach(() => {
  vi.useFakeTimers({
    now: Date.UTC(2026, 10, 15, 10),
    toFake: ['Date', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate'],
  })
})
afterEach(() => void vi.useRealTimers())

const steps: readonly Step[] = ['debit', 'credit', 'close']
const cases = steps.flatMap((step) => [true, false].map((taken) => ({ step, taken })))

it.each(cases)(
  'a transfer whose server is killed after its $step ends within a minute at any other, taken: $taken',
  async ({ step, taken }) => {
    const nodes = createTransferNodes()
    let killed = false
    const start = (onCommit: (commands: readonly Command[]) => void): TransferInstance =>
      startInstance({
        nodes,
        random: () => 0.6,
        weather: { calm: false },
        planted: {},
        mayLose: false,
        onPartition: () => {},
        trick(commands) {
          onCommit(commands)
          return { kind: 'none' }
        },
      })
    const one = start((commands) => {
      if (killed || !commands.some((command) => stepOf(command) === step)) return
      killed = true
      // After it was executed, and before its reply is heard.
      queueMicrotask(() => one.crash())
    })
    await prepare(one, nodes)
    const others = [start(() => {}), start(() => {})]
    const set = { status: taken ? 'Active' : 'Frozen' } as const
    void one.engine.operate('account-1', { type: 'changeCard', cardId: 'card-1', set }, 'test')
    await pass(100)
    void ask(one, 'R', { from: 0, to: 1, amountMinor: 500 }, 10_000)
    await pass(100)
    expect(killed).toBe(true)
    checkConserved(nodes, wallet, accounts)
    await pass(60_000)
    checkAtRest(nodes)
    checkConserved(nodes, wallet, accounts)
    expect(creditedIn(nodes).size).toBe(taken ? 1 : 0)
    for (const other of others) other.crash()
  },
)
