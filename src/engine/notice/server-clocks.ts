import { machineClock } from '../../clock.ts'
import type { Store } from '../../store/port.ts'
import { decodeEntry } from '../format/entry-codec.ts'
import type { FromEngine } from '../messages.ts'

const serverClocksMs = 5_000

/** Tells the gate what there is beside its own clock, at once and then again and again. */
export async function watchServerClocks(
  store: Store,
  send: (message: FromEngine) => void,
): Promise<NodeJS.Timeout> {
  const newestMs = await newestEntryMs(store)
  let missed = false
  async function look(): Promise<void> {
    // A store that is away tells nothing: what it said last goes on.
    const times = await store.serverTimes?.().catch((error: Error) => {
      if (!missed)
        send({ type: 'trouble', message: `the time of Redis is unknown: ${error.message}` })
      missed = true
      return null
    })
    if (times === null) return
    missed = false
    const monoMs = machineClock.monoMs()
    const serverOffsetsMs = (times ?? []).map((atMs) => atMs - monoMs)
    send({ type: 'clock', newestMs, serverOffsetsMs })
  }
  send({ type: 'clock', newestMs, serverOffsetsMs: [] })
  await look()
  const timer = setInterval(look, serverClocksMs)
  timer.unref()
  return timer
}

async function newestEntryMs(store: Store): Promise<number | null> {
  const [newest] = await store.tailLog(1)
  try {
    return newest === undefined ? null : decodeEntry(newest.entry).atMs
  } catch {
    // Damage is not the clock's to tell.
    return null
  }
}
