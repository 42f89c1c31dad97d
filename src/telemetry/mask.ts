const minDigits = 13
const maxDigits = 19

/**
 * Shows the first six and the last four digits of what may be a card number: 13 to 19 digits that
 * pass the Luhn check, also when marks divide them, or when more digits stand before or after them.
 */
export function maskPan(text: string): string {
  if (text.length < minDigits) return text
  // Three ids of every decision come here, and nearly all leave at once.
  let digits = 0
  let marked = false
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (isDigit(code)) {
      marked = false
      if (++digits === minDigits) return maskRuns(text)
    } else if (marked || !isMark(code)) {
      digits = 0
    } else {
      marked = true
    }
  }
  return text
}

/** Groups of digits as people write card numbers: one mark between two groups at most. */
const digitGroups = /\d+(?:[ ._/:-]\d+)*/g

function maskRuns(text: string): string {
  return text.replace(digitGroups, (run) => (run.length < minDigits ? run : maskRun(run)))
}

function maskRun(run: string): string {
  const places: number[] = []
  for (let i = 0; i < run.length; i++) if (isDigit(run.charCodeAt(i))) places.push(i)
  let masked = ''
  let shownTo = 0
  let at = 0
  while (at + minDigits <= places.length) {
    const length = cardLengthAt(run, places, at)
    if (length === 0) {
      at++
      continue
    }
    masked += `${run.slice(shownTo, places[at + 5]! + 1)}…`
    shownTo = places[at + length - 4]!
    at += length
  }
  return masked + run.slice(shownTo)
}

/** The digits of the card number that begins at this one, 0 when none does. */
function cardLengthAt(run: string, places: readonly number[], at: number): number {
  const from = places[at]!
  const begins = !isDigit(run.charCodeAt(from - 1))
  let groupEnd = from + 1
  while (isDigit(run.charCodeAt(groupEnd))) groupEnd++
  if (begins) {
    const alone = groupEnd - from
    // Ids are often made of times, and card numbers of 13 digits begin with 4, 5 or 6.
    const isTime = alone === 13 && run[from] === '1'
    const fits = alone >= minDigits && alone <= maxDigits
    if (fits && !isTime && passesLuhn(run, places, at, alone)) return alone
  }
  for (const length of lengthsOf(run[from]!, run[places[at + 1]!]!)) {
    const last = places[at + length - 1]
    if (last === undefined) continue
    const ends = !isDigit(run.charCodeAt(last + 1))
    // Whole groups, or the beginning or end of one: anywhere, every long number would hold some.
    const inPlace = last < groupEnd ? begins || ends : begins && ends
    if (inPlace && passesLuhn(run, places, at, length)) return length
  }
  return 0
}

const none: readonly number[] = []

/** How long the networks' card numbers are that begin so. */
function lengthsOf(first: string, second: string): readonly number[] {
  switch (first) {
    case '2':
      return second >= '2' && second <= '7' ? [16] : none
    case '3':
      if (second === '4' || second === '7') return [15]
      return '05689'.includes(second) ? [16, 14] : none
    case '4':
      return [16, 13, 19]
    case '5':
    case '6':
      return [16, 19]
    default:
      return none
  }
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

/** Space, dash, dot, slash, colon or underscore. */
function isMark(code: number): boolean {
  return code === 0x20 || (code >= 0x2d && code <= 0x2f) || code === 0x3a || code === 0x5f
}

function passesLuhn(run: string, places: readonly number[], at: number, length: number): boolean {
  let sum = 0
  for (let i = 0; i < length; i++) {
    const digit = run.charCodeAt(places[at + length - 1 - i]!) - 0x30
    const doubled = i % 2 === 1 ? digit * 2 : digit
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}
