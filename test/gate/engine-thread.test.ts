import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { createTrustedClock } from '../../src/clock.ts'
import { type EngineThread, startEngineThread } from '../../src/gate/engine-thread.ts'
import { loadPack } from '../../src/rules/load/compiler.ts'
import { bytesOfPack } from '../../src/rules/pack/bytes.ts'
import { fastFolder, plainPack } from '../support/server.ts'

const eventRetentionDays = 120

function startEngine(dataDir: string, onFindings: () => void): EngineThread {
  const clock = createTrustedClock(null)
  const nothing = () => {}
  const fixed = { redis: null, dataDir, sandbox: false, demo: false, instance: 'one' }
  const sizes = { cacheCards: 100, cacheBytes: 2 ** 20, eventRetentionDays, logRetentionDays: 1 }
  return startEngineThread({
    clock,
    settings: { ...fixed, ...sizes, time: clock.time },
    newNonce: () => 'nonce',
    heapMb: 256,
    heartbeatMs: 1_000,
    onAnswer: () => true,
    onBooked: nothing,
    onStandIn: nothing,
    onSetAside: nothing,
    onStart: nothing,
    onEnd: nothing,
    onRefused: nothing,
    onRules: nothing,
    onRuleCounts: nothing,
    onFindings,
    onOrganizations: nothing,
    onDamage: nothing,
    onTrouble: nothing,
    onStore: nothing,
    onClock: nothing,
  })
}

it('an engine that becomes ready just as it is told to stop has no successor', async () => {
  const folder = fastFolder()
  onTestFinished(folder.remove)
  let tell = () => {}
  // What it has found it tells with its first beat, right before it is ready.
  const engine = startEngine(folder.path, () => tell())
  const stopped = new Promise<void>((resolve) => {
    tell = () => resolve(engine.stop(10_000))
  })
  const bytes = bytesOfPack(loadPack(plainPack, eventRetentionDays))
  engine.setPack({ number: 1, bytes })
  await stopped
  // Another would be started within this time.
  await sleep(300)
  expect([engine.state, engine.restarts]).toEqual(['stopped', 0])
})
