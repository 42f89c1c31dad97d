/** The number of letters added, left out, changed or swapped with their neighbour. */
export function slips(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let least = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + same)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (swapped) least = Math.min(least, beforeLast[j - 2]! + 1)
      row.push(least)
    }
    beforeLast = last
    last = row
  }
  return last[b.length]!
}

const maxSlips = 2
/** A longer text is no misspelt word, and comparing it would take long. */
const maxWordChars = 64

/** `: did you mean …?` when a known word is a few slips away, else ''. */
export function suggestion(word: string, known: Iterable<string>): string {
  if (word.length > maxWordChars) return ''
  const lower = word.toLowerCase()
  let nearest = ''
  let least = Math.min(maxSlips, Math.floor(word.length / 2)) + 1
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) > maxSlips) continue
    const distance = slips(lower, candidate.toLowerCase())
    if (distance < least) [nearest, least] = [candidate, distance]
  }
  return nearest === '' ? '' : `: did you mean ${nearest}?`
}
