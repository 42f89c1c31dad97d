import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { plantedFaults } from '../support/planted-faults.ts'
import { type Habits, simulate } from '../support/protocol-simulation.ts'
import { type Counts, createStory } from '../support/protocol-story.ts'
import { firstSeedOf, isTorture } from '../support/torture.ts'

const seeds = isTorture ? 12_500 : 120
const firstSeed = firstSeedOf(seeds)
/** A fault that so many runs do not notice is not noticed. */
const maxSeedsPerFault = 3_000

describe('the protocol of gates, engines and store', () => {
  it(
    `keeps its promises over ${seeds} random runs from ${firstSeed} on`,
    async () => {
      const { counts } = createStory()
      for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
        const run = await simulate(seed)
        if (run.violation !== '') expect.fail(await account(seed))
        for (const name in run.counts)
          counts[name as keyof Counts] += run.counts[name as keyof Counts]
      }
      // A promise is worth what was done to break it: each kind of thing must have happened.
      for (const [name, count] of Object.entries(counts)) {
        if (ofFailovers.includes(name)) continue
        expect(count, `${name} in ${seeds} runs`).toBeGreaterThan(0)
      }
    },
    isTorture ? 3_600_000 : 240_000,
  )

  // The late line of an approval that was not given stayed in the journal, as the one behind it was not written.
  it.each([4_207, 5_557])('keeps its promises where it did not once, in run %i', async (seed) => {
    expect((await simulate(seed)).violation).toBe('')
  })
})

const ofFailovers = ['failovers', 'failBacks', 'losses']

describe('the same protocol on a store that loses what it acknowledged', () => {
  const lossySeeds = isTorture ? 12_500 : 60
  const firstLossySeed = firstSeedOf(lossySeeds)

  // An engine resumed that was replaced, or after one loss for another, or one told what another server had written:
  // the next loss was not noticed.
  it.each([17_206, 20_277, 20_665])(
    'keeps its promises where it did not once, in run %i',
    async (seed) => {
      const { violation } = await simulate(seed, {}, null, { failovers: true })
      expect(violation).toBe('')
    },
  )

  it(
    `keeps its promises over ${lossySeeds} random runs from ${firstLossySeed} on`,
    async () => {
      const { counts } = createStory()
      for (let seed = firstLossySeed; seed < firstLossySeed + lossySeeds; seed++) {
        const run = await simulate(seed, {}, null, { failovers: true })
        if (run.violation !== '') expect.fail(await account(seed, { failovers: true }))
        for (const name in run.counts)
          counts[name as keyof Counts] += run.counts[name as keyof Counts]
      }
      for (const name of [...ofFailovers, 'abandonedEngines', 'engineCrashes'] as const) {
        expect(counts[name as keyof Counts], name).toBeGreaterThan(lossySeeds / 10)
      }
    },
    isTorture ? 3_600_000 : 240_000,
  )
})

/** The run that noticed a fault which few runs notice, tried first; another may do it after a change. */
const noticedBefore: Record<string, number> = JSON.parse(
  readFileSync(join(import.meta.dirname, '..', 'fixtures', 'noticing-seeds.json'), 'utf8'),
)

describe('without one of its rules', () => {
  for (const { when, planted, failovers = false } of plantedFaults) {
    it(`the simulation notices when ${when}`, { timeout: 240_000 }, async () => {
      for (let seed = 0; seed <= maxSeedsPerFault; seed++) {
        const tried = seed === 0 ? (noticedBefore[when] ?? 1) : seed
        const { violation } = await simulate(tried, planted, null, { failovers })
        if (violation !== '') return
      }
      expect.fail(`${maxSeedsPerFault} runs did not notice it`)
    })
  }
})

/** What happened in a run, to be read by people. */
async function account(seed: number, habits: Habits = {}): Promise<string> {
  const trace: string[] = []
  const { violation } = await simulate(seed, {}, trace, habits)
  return [`seed ${seed}: ${violation}`, ...trace].join('\n')
}
