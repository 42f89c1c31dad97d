import { keepNewest } from '../bounded-map.ts'
/** How many calls each of many callers may still make; full again after a while. */
export interface RateLimit {
  /** Whether one more call is within the limit; it then counts. */
  take(name: string, nowMonoMs: number): boolean
  /** Whether nothing is left; asking does not count. */
  isSpent(name: string, nowMonoMs: number): boolean
  readonly size: number
}

interface Bucket {
  left: number
  filledMonoMs: number
}

/**
 * A bucket for each name, filled by `perSecond` up to `burst`. More names than `maxNames` and the one that
 * called longest ago is forgotten, which leaves its next call a full bucket.
 */
export function createRateLimit(perSecond: number, burst: number, maxNames: number): RateLimit {
  const buckets = new Map<string, Bucket>()

  function leftIn({ left, filledMonoMs }: Bucket, nowMonoMs: number): number {
    return Math.min(burst, left + ((nowMonoMs - filledMonoMs) / 1000) * perSecond)
  }

  return {
    get size() {
      return buckets.size
    },
    isSpent(name, nowMonoMs) {
      const bucket = buckets.get(name)
      return bucket !== undefined && leftIn(bucket, nowMonoMs) < 1
    },
    take(name, nowMonoMs) {
      const bucket = buckets.get(name) ?? { left: burst, filledMonoMs: nowMonoMs }
      bucket.left = leftIn(bucket, nowMonoMs)
      bucket.filledMonoMs = nowMonoMs
      keepNewest(buckets, name, bucket, maxNames)
      if (bucket.left < 1) return false
      bucket.left--
      return true
    },
  }
}
