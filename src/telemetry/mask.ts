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
  let marks = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (isDigit(code)) {
      marks = 0
      if (++digits === minDigits) return maskRuns(text)
    } else if (isLetter(code) || ++marks > maxMarks) {
      digits = 0
    }
  }
  return text
}

/**
 * Groups of digits as people write card numbers: whatever is no letter may stand between two, but for two
 * spaces, which divide the columns of what the command line prints, and a quote before a comma, which divide
 * values: several MCCs beside each other often look like a card number.
 */
const maxMarks = 3
const digitGroups = /\d+(?:(?:(?! {2}|["'],)[^0-9A-Za-z]){1,3}\d+)*/g

function maskRuns(text: string): string {
  return text.replace(digitGroups, (run) => (run.length < minDigits ? run : maskRun(run)))
}

function maskRun(run: string): string {
  const places: number[] = []
  for (let i = 0; i < run.length; i++) if (isDigit(run.charCodeAt(i))) places.push(i)
  let masked = ''
  let shownTo = 0
  // All that overlap are hidden: one found by chance must not uncover the one that is meant.
  for (let at = 0; at + minDigits <= places.length; at++) {
    for (const length of cardLengthsAt(run, places, at)) {
      const from = Math.max(shownTo, places[at + 5]! + 1)
      const to = places[at + length - 4]!
      if (to <= from) continue
      if (from > shownTo || masked === '') masked += `${run.slice(shownTo, from)}…`
      shownTo = to
    }
  }
  return masked + run.slice(shownTo)
}

/** The lengths of card numbers that may begin at this digit. */
function cardLengthsAt(run: string, places: readonly number[], at: number): number[] {
  const from = places[at]!
  const begins = !isDigit(run.charCodeAt(from - 1))
  let groupEnd = from + 1
  while (isDigit(run.charCodeAt(groupEnd))) groupEnd++
  const found: number[] = []
  const alone = groupEnd - from
  // Ids are often made of times, and card numbers of 13 digits begin with 4, 5 or 6.
  const isTime = alone === 13 && run[from] === '1'
  const fits = begins && alone >= minDigits && alone <= maxDigits
  if (fits && !isTime && passesLuhn(run, places, at, alone)) found.push(alone)
  for (const length of lengthsOf(run[from]!, run[places[at + 1]!]!)) {
    const last = places[at + length - 1]
    if (last === undefined || (fits && length === alone)) continue
    const isInPlace =
      last < groupEnd
        ? // Nobody has 13 digits any more but by tradition: in the midst of a number they are chance.
          length > minDigits || begins || !isDigit(run.charCodeAt(last + 1))
        : // Whole groups, but for zeros around them: else every two times would hold some.
          isPadding(run, from, -1) && isPadding(run, last, 1)
    if (isInPlace && passesLuhn(run, places, at, length)) found.push(length)
  }
  return found
}

/** Nothing but zeros up to the end of the group. */
function isPadding(run: string, from: number, step: 1 | -1): boolean {
  let at = from + step
  while (run[at] === '0') at += step
  return !isDigit(run.charCodeAt(at))
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

function isLetter(code: number): boolean {
  const lower = code | 0x20
  return lower >= 0x61 && lower <= 0x7a
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
