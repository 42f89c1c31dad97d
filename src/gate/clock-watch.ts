import { readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TrustedClock } from '../clock.ts'
import type { Logger } from '../telemetry/logger.ts'

export interface ClockWatch {
  /** What a person says: false when the store's servers say otherwise. */
  accept(): boolean
  stop(): Promise<void>
}

export const clockLookMs = 1_000
export const markEveryMs = 60_000
const fileName = 'clock.mark'

/** The last time that was trusted in this folder; null when none was. */
export function readClockMark(folder: string): number | null {
  try {
    const markMs = Number(readFileSync(join(folder, fileName), 'utf8'))
    return Number.isSafeInteger(markMs) && markMs > 0 ? markMs : null
  } catch {
    return null
  }
}

/** Looks at the clocks, and says what is wrong with them; to be called every `clockLookMs`. */
export function createObserver(clock: TrustedClock, logger: Logger): () => void {
  let told = ''
  return () => {
    clock.observe()
    const { doubt } = clock
    if (doubt !== '' && told === '') {
      logger.error(`${doubt}: nothing expires and nothing is dropped until the clocks agree again`)
    }
    if (doubt === '' && told !== '') logger.info('the clocks agree again')
    told = doubt
  }
}

/** Looks at the clocks, says what is wrong with them, and leaves a mark for the next start. */
export function watchClock(clock: TrustedClock, folder: string, logger: Logger): ClockWatch {
  const observe = createObserver(clock, logger)
  let markedMonoMs = Number.NEGATIVE_INFINITY

  /** Neither flushed nor missed: an older mark only makes the next start more careful. */
  async function mark(): Promise<void> {
    if (clock.isDoubted()) return
    markedMonoMs = clock.monoMs()
    const path = join(folder, fileName)
    try {
      await writeFile(`${path}.new`, String(clock.nowMs()), { mode: 0o600 })
      await rename(`${path}.new`, path)
    } catch {
      // The folder is the journal's to complain about.
    }
  }

  function look(): void {
    observe()
    if (clock.monoMs() - markedMonoMs >= markEveryMs) void mark()
  }

  const timer = setInterval(look, clockLookMs)
  return {
    accept() {
      const accepted = clock.accept()
      look()
      if (accepted) {
        logger.warn('the wall clock was accepted by a person')
        void mark()
      }
      return accepted
    },
    async stop() {
      clearInterval(timer)
      await mark()
    },
  }
}
