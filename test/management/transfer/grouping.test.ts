import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { isRefused } from '../../../src/api/condition.ts'
import { startInstance } from '../../support/transfer-instance.ts'
import { createTransferNodes } from '../../support/transfer-nodes.ts'
import { ask, pass, prepare } from '../../support/transfer-world.ts'

beforeEach(() => {
  vi.useFakeTimers({
    now: Date.UTC(2026, 10, 15, 10),
    toFake: ['Date', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate'],
  })
})
afterEach(() => void vi.useRealTimers())

it('transfers that come at once share their commits, however many there are', async () => {
  const nodes = createTransferNodes()
  const weather = { calm: true }
  const sizes: number[] = []
  const server = startInstance({
    nodes,
    weather,
    random: () => 0.6,
    planted: {},
    mayLose: false,
    onPartition: () => {},
    trick(commands) {
      sizes.push(commands.length)
      // As long as a disk or another machine takes.
      return { kind: 'delayed', until: new Promise((resolve) => setTimeout(resolve, 5)) }
    },
  })
  await prepare(server, nodes)
  weather.calm = false
  const asking = Array.from({ length: 64 }, (_, i) =>
    ask(server, `R${i}`, { from: -1, to: i % 10, amountMinor: 100 }, 10_000),
  )
  await pass(1_000)
  const answers = await Promise.all(asking)
  expect(answers.some(isRefused)).toBe(false)
  // Four waves on two nodes; the wallet and each card once in a wave, and no more References than were given.
  expect(sizes.length).toBeLessThanOrEqual(4 * 2)
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(64 + 1 + 10 + 1)
  server.crash()
})
