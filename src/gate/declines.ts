import { keepNewest } from '../bounded-map.ts'
import type { Answer } from '../domain/record/event-record.ts'

/** Asks that were declined by default, which may have left no record: who repeats one hears the same. */
export interface Declines {
  remember(key: string, answer: Answer): void
  /** Undefined for an ask that was not declined so, or too long ago. */
  find(key: string): Answer | undefined
}

/** About 15 MB; when there are more, the oldest go. */
export const maxDeclines = 50_000

export function createDeclines(): Declines {
  const byKey = new Map<string, Answer>()
  return {
    remember: (key, answer) => keepNewest(byKey, key, answer, maxDeclines),
    find: (key) => byKey.get(key),
  }
}
