/** How many calls each of many callers may still make; full again after a while. */
export interface RateLimit {
  /** Whether one more call is within the limit; it then counts. */
  take(name: string, nowMonoMs: number): boolean
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

  return {
    get size() {
      return buckets.size
    },
    take(name, nowMonoMs) {
      const bucket = buckets.get(name) ?? { left: burst, filledMonoMs: nowMonoMs }
      const gained = ((nowMonoMs - bucket.filledMonoMs) / 1000) * perSecond
      bucket.left = Math.min(burst, bucket.left + gained)
      bucket.filledMonoMs = nowMonoMs
      buckets.delete(name)
      buckets.set(name, bucket)
      const [oldest] = buckets.keys()
      if (buckets.size > maxNames && oldest !== undefined) buckets.delete(oldest)
      if (bucket.left < 1) return false
      bucket.left--
      return true
    },
  }
}
