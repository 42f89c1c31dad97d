import { expect, it } from 'vitest'
import { startBeat } from '../../src/engine/beat.ts'
import type { FromEngine } from '../../src/engine/messages.ts'
import { startEngine } from '../support/engine-world.ts'
import { createMemoryStore } from '../support/memory-store.ts'

it('tells its figures at once: whoever asks first hears of tripped rules', () => {
  const engine = startEngine(createMemoryStore())
  const sent: FromEngine[] = []
  const others = {
    blocks: 0,
    trippedRules: ['large'],
    seedingRules: [],
    unseeded: 0,
    rulesSkew: 0,
    sharedKeys: 0,
    waiting: { unmatched: 0, anomalies: 0 },
    backOffice: null,
    damagedRecords: [],
    damage: [],
  }
  const beat = startBeat(
    engine,
    (message) => sent.push(message),
    () => others,
  )
  clearInterval(beat)
  engine.stop()
  expect(sent).toMatchObject([{ type: 'beat', figures: { trippedRules: ['large'] } }])
})
