/**
 * The number of letters added, left out, changed or swapped with their neighbour; of more than `most`, one more. Only
 * places so far apart are looked at: every start compares all variables of its environment with all settings.
 */
export function slips(a: string, b: string, most: number): number {
  const tooMany = most + 1
  if (Math.abs(a.length - b.length) > most) return tooMany
  const newRow = () => new Array<number>(b.length + 1).fill(tooMany)
  let beforeLast = newRow()
  let last = newRow().map((_, j) => Math.min(j, tooMany))
  for (let i = 1; i <= a.length; i++) {
    const row = newRow()
    row[0] = Math.min(i, tooMany)
    let isNear = row[0] <= most
    for (let j = Math.max(1, i - most); j <= Math.min(b.length, i + most); j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let least = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + same, tooMany)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (swapped) least = Math.min(least, beforeLast[j - 2]! + 1)
      row[j] = least
      // By a swap the next row may go on from the last one, with one more.
      isNear ||= least <= most || last[j]! < most
    }
    if (!isNear) return tooMany
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
    const distance = slips(lower, candidate.toLowerCase(), maxSlips)
    if (distance < least) [nearest, least] = [candidate, distance]
  }
  return nearest === '' ? '' : `: did you mean ${nearest}?`
}
