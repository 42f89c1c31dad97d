import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { plantedTransferFaults } from '../../support/planted-transfer-faults.ts'
import { simulateTransfers } from '../../support/transfer-simulation.ts'

beforeEach(() => {
  vi.useFakeTimers({
    now: Date.UTC(2026, 10, 15, 10),
    toFake: ['Date', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate'],
  })
})
afterEach(() => void vi.useRealTimers())

const seeds = Number(process.env.SEEDS ?? (process.env.TORTURE ? 2_000 : 8))

/** The first seed that notices each; where the code has changed, the next ones are tried. */
const noticing: Readonly<Record<string, number>> = {
}
const searched = process.env.TORTURE || process.env.UPDATE_SEEDS ? 200 : 20

describe('transfers of several servers', () => {
  it('add up at every moment, once for a Reference, and come to an end', async () => {
    const wrong: string[] = []
    for (let seed = 1; seed <= seeds; seed++) {
      await simulateTransfers(seed).catch((error: Error) => wrong.push(`${seed}: ${error.stack}`))
    }
    expect(wrong).toEqual([])
  })
})

describe('the simulation of transfers', () => {
  it.each(Object.entries(plantedTransferFaults))('notices when %s', async (name, planted) => {
    const known = noticing[name] ?? 1
    const found: number[] = []
    for (let seed = known; seed < known + searched && found.length === 0; seed++) {
      await simulateTransfers(seed, planted).catch(() => found.push(seed))
    }
    if (process.env.UPDATE_SEEDS) console.log(`  '${name}': ${found[0]},`)
    expect(found).not.toEqual([])
  })
})
