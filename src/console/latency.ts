/** Times in buckets that grow by a twentieth, from 10 µs to above ten seconds: quantiles within 5 %. */
export const latencyBuckets = 288
const firstMs = 0.01
const growth = Math.log(1.05)

export function bucketOfMs(ms: number): number {
  if (ms <= firstMs) return 0
  return Math.min(latencyBuckets - 1, Math.ceil(Math.log(ms / firstMs) / growth))
}

/** The upper end of the bucket in which the share of all times lies; 0 when there are none. */
export function quantileMs(counts: ArrayLike<number>, share: number): number {
  let total = 0
  for (let i = 0; i < counts.length; i++) total += counts[i]!
  if (total === 0) return 0
  let left = Math.ceil(total * share)
  for (let i = 0; i < counts.length; i++) {
    left -= counts[i]!
    if (left <= 0) return firstMs * Math.exp(i * growth)
  }
  return firstMs * Math.exp(counts.length * growth)
}
