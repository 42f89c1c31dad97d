import { setTimeout as sleep } from 'node:timers/promises'
import { maxSlipMs, systemClock } from '../clock.ts'
import { markEveryMs, readClockMark } from '../gate/clock-watch.ts'
import { type StorePlace, storeFolder } from '../store/open.ts'
import { type Store, StoreRefused } from '../store/port.ts'
import { isServed } from './store/address.ts'

/** A server that has just started trusts no clock before it has read its store. */
const startMs = 10_000
const lookMs = 100

/**
 * Refuses to date anything, or to leave out what is past its time, by a wall clock that is behind the last
 * time that a server trusted, that the server of this folder does not trust, or that differs from that of Redis.
 */
export async function refuseWrongClock(
  store: Store,
  { dataDir }: StorePlace,
  patienceMs = startMs,
): Promise<void> {
  const nowMs = systemClock.nowMs()
  const markMs = readClockMark(dataDir) ?? 0
  if (nowMs < markMs - maxSlipMs) {
    const servedAt = new Date(markMs).toISOString()
    throw new StoreRefused(
      `the wall clock is wrong: ${storeFolder(dataDir)} was served at ${servedAt}; set it right, then repeat`,
    )
  }
  if ((await isServed(dataDir)) && !(await isTrusted(dataDir, patienceMs))) {
    throw new StoreRefused(
      `the server of ${dataDir} does not trust the wall clock: /readyz says why; set it right, or accept it there, then repeat`,
    )
  }
  // A user who may not ask Redis for its time has what there is without it.
  const times = (await store.serverTimes?.().catch(() => [])) ?? []
  const other = times.find((atMs) => Math.abs(atMs - nowMs) > maxSlipMs)
  if (other === undefined) return
  const at = new Date(other).toISOString()
  throw new StoreRefused(
    `the clock of Redis says ${at}, that of this machine otherwise: set the wrong one right, then repeat`,
  )
}

/** A server marks the time that it trusts, again and again, and none while it doubts. */
async function isTrusted(dataDir: string, patienceMs: number): Promise<boolean> {
  const isMarked = () =>
    systemClock.nowMs() - (readClockMark(dataDir) ?? 0) <= markEveryMs + maxSlipMs
  const endMs = systemClock.monoMs() + patienceMs
  while (!isMarked() && systemClock.monoMs() < endMs) await sleep(lookMs)
  return isMarked()
}
