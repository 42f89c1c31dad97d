import { readFileSync } from 'node:fs'
import { usedBetween } from './processes.mjs'

/** What a server, its Redis and the machine have used so far. */
export async function look(server, redis) {
  return { server: await server.figures(), redisUs: redis?.cpuUs() ?? 0, machine: ticksOfMachine() }
}

/**
 * Between two looks: microseconds of processor time a decision, by thread; the part of the time in which
 * gate and engine ran; the part of the machine that was idle.
 */
export function costOf(before, after, decisions) {
  const { processUs, threads } = usedBetween(before.server, after.server)
  const { main = Number.NaN, engine = 0, v8 = 0, pool = 0, ...others } = threads
  const other = Object.values(others).reduce((sum, us) => sum + us, 0)
  const wallUs = 1_000 * (after.server.atMs - before.server.atMs)
  const used = { gate: main, engine, v8, pool, other }
  return {
    processUs: processUs / decisions,
    threadsUs: Object.fromEntries(Object.entries(used).map(([name, us]) => [name, us / decisions])),
    redisUs: (after.redisUs - before.redisUs) / decisions,
    busy: { gate: main / wallUs, engine: engine / wallUs, process: processUs / wallUs },
    machineIdle: idleBetween(before.machine, after.machine),
  }
}

/** Only Linux has it. */
function ticksOfMachine() {
  try {
    const [, ...ticks] = readFileSync('/proc/stat', 'utf8').split('\n')[0].split(/\s+/).map(Number)
    return { idle: ticks[3] + ticks[4], all: ticks.slice(0, 8).reduce((sum, n) => sum + n, 0) }
  } catch {
    return { idle: Number.NaN, all: Number.NaN }
  }
}

function idleBetween(before, after) {
  return (after.idle - before.idle) / (after.all - before.all)
}
