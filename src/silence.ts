import type { Clock } from './clock.ts'

/** How long a thread has said nothing, by the clock and by how often it was looked at. */
export interface Silence {
  readonly heardMonoMs: number
  heard(): void
  /** To be asked at each look. */
  outlasts(patienceMs: number): boolean
}

/**
 * After a pause of the whole process much time has passed, and what the thread says has not been read yet: so many looks
 * must have heard nothing, too. They are more than there are between two beats.
 */
const quietLooks = 5

export function createSilence(clock: Pick<Clock, 'monoMs'>): Silence {
  let heardMonoMs = clock.monoMs()
  let looks = 0
  return {
    get heardMonoMs() {
      return heardMonoMs
    },
    heard() {
      heardMonoMs = clock.monoMs()
      looks = 0
    },
    outlasts(patienceMs) {
      looks++
      return looks >= quietLooks && clock.monoMs() - heardMonoMs >= patienceMs
    },
  }
}
