import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import type { Engine } from './engine.ts'
import type { FromEngine } from './messages.ts'
import type { EngineFigures, EngineStats } from './stats.ts'

const beatMs = 250

/** Tells the gate that this loop turns, and what it has done. */
export function startBeat(
  engine: Engine,
  send: (message: FromEngine) => void,
  others: () => Omit<EngineFigures, keyof EngineStats | 'loopLagMs' | 'heapUsedBytes'>,
): NodeJS.Timeout {
  const lag = monitorEventLoopDelay({ resolution: 10 })
  lag.enable()
  const beat = () => {
    const loopLagMs = lag.max / 1e6
    lag.reset()
    // Not process.memoryUsage: it opens a file, and an engine must beat also when no descriptor is left.
    const heapUsedBytes = getHeapStatistics().used_heap_size
    const figures = { ...engine.stats(), ...others(), loopLagMs, heapUsedBytes }
    const [ruleCounts, findings] = [engine.takeRuleCounts(), engine.takeFindings()]
    send({ type: 'beat', figures, ruleCounts, findings })
  }
  // The first at once: until then nobody knows of damage and tripped rules.
  beat()
  return setInterval(beat, beatMs)
}
