/** Whoever counts these goes no further: that many is that many or more. */
export const countedUpTo = {
  unmatched: 1_000,
  anomalies: 1_000,
  webhooks: 10_000,
  transfers: 1_000,
  kycs: 1_000,
} as const

type Counts = Readonly<Partial<Record<keyof typeof countedUpTo, number>>>

/** Whether there may be more than their sum. */
export function isCutOff(counts: Counts): boolean {
  const names = Object.keys(counts) as (keyof Counts)[]
  return names.some((name) => counts[name]! >= countedUpTo[name])
}
