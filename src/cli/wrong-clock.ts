import { maxSlipMs, systemClock } from '../clock.ts'
import { readClockMark } from '../gate/clock-watch.ts'
import { type StorePlace, storeFolder } from '../store/open.ts'
import { type Store, StoreRefused } from '../store/port.ts'

/**
 * Refuses to date anything, or to leave out what is past its time, by a wall clock that is behind the last
 * time that a server trusted, or that differs from that of Redis.
 */
export async function refuseWrongClock(store: Store, { dataDir }: StorePlace): Promise<void> {
  const nowMs = systemClock.nowMs()
  const markMs = readClockMark(dataDir) ?? 0
  if (nowMs < markMs - maxSlipMs) {
    const servedAt = new Date(markMs).toISOString()
    throw new StoreRefused(
      `the wall clock is wrong: ${storeFolder(dataDir)} was served at ${servedAt}; set it right, then repeat`,
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
