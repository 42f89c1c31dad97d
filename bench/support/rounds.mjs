/** Each round runs all variants, every other one in the reverse order; a drift hits all alike. */
export async function inRounds(rounds, names, progress, measure) {
  const samples = Object.fromEntries(names.map((name) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? names : names.toReversed()
    for (const [i, name] of order.entries()) {
      progress(`round ${round + 1} of ${rounds}, ${i + 1} of ${names.length}: ${name}`)
      samples[name].push(await measure(name, round))
    }
  }
  return samples
}

export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  if (sorted.length === 0) return Number.NaN
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** The median of ratios within a round: both sides met the same weather. */
export function medianRatio(above, below, pick) {
  return median(above.map((sample, round) => pick(sample) / pick(below[round])))
}

/** The value below which this part of the sorted numbers lies. */
export function quantile(sorted, part) {
  if (sorted.length === 0) return Number.NaN
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]
}
