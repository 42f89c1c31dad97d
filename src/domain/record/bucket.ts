export interface Bucket {
  readonly index: number
  readonly sumMinor: number
  readonly count: number
  /** Of a window that tells its spread. */
  readonly spread?: Spread
}

/** How far amounts lie apart, as far as a bucket knows. */
export interface Spread {
  /** Of the amounts, each as it stands; beyond 2^53 no longer exact. */
  readonly squares: number
  /** The largest amount that was ever counted there: giving back does not lower it. */
  readonly maxMinor: number
}

/** The buckets from `oldest` on with one added to; a bucket with nothing left in it goes. */
export function merged(
  buckets: readonly Bucket[],
  oldest: number,
  added: Bucket,
): readonly Bucket[] {
  let after = buckets.length
  // Mostly the newest bucket is the one that changes.
  while (after > 0 && buckets[after - 1]!.index > added.index) after--
  const same = after > 0 && buckets[after - 1]!.index === added.index ? buckets[after - 1]! : null
  const until = same === null ? after : after - 1
  let from = 0
  while (from < until && buckets[from]!.index < oldest) from++
  const bucket = same !== null && same.index >= oldest ? sumOf(same, added) : added
  if (after === buckets.length && !isEmpty(bucket)) return endingIn(buckets, from, until, bucket)
  const next = buckets.slice(from, until)
  if (!isEmpty(bucket)) next.push(bucket)
  for (let i = after; i < buckets.length; i++)
    if (buckets[i]!.index >= oldest) next.push(buckets[i]!)
  return next
}

/** Made in its length: a list that grows by `push` has room for 16 more, and cards keep thousands of lists. */
function endingIn<T>(list: readonly T[], from: number, until: number, last: T): readonly T[] {
  if (from === until) return [last]
  if (until === list.length) return (from === 0 ? list : list.slice(from)).concat(last)
  const next = list.slice(from, until + 1)
  next[next.length - 1] = last
  return next
}

/** A bucket that is empty again still knows its largest amount. */
function isEmpty({ sumMinor, count, spread }: Bucket): boolean {
  return sumMinor === 0 && count === 0 && spread === undefined
}

function sumOf(kept: Bucket, added: Bucket): Bucket {
  const { index } = added
  const sumMinor = kept.sumMinor + added.sumMinor
  const count = kept.count + added.count
  const spread = spreadOf(kept.spread, added.spread)
  return spread === undefined ? { index, sumMinor, count } : { index, sumMinor, count, spread }
}

function spreadOf(kept: Spread | undefined, added: Spread | undefined): Spread | undefined {
  if (kept === undefined || added === undefined) return kept ?? added
  const squares = Math.max(0, kept.squares + added.squares)
  return { squares, maxMinor: Math.max(kept.maxMinor, added.maxMinor) }
}
