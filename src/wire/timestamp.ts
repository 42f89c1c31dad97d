import { dayMs } from '../clock.ts'

const zero = 0x30

/**
 * RFC 3339, or null. By hand, because Date.parse also takes local times, missing parts and
 * 31 February. Digits beyond the millisecond are cut off.
 */
export function parseTimestamp(stamp: string): number | null {
  if (stamp.length < 20 || stamp.length > 40) return null
  const year = digitsAt(stamp, 0, 4)
  const month = digitsAt(stamp, 5, 2)
  const day = digitsAt(stamp, 8, 2)
  const hour = digitsAt(stamp, 11, 2)
  const minute = digitsAt(stamp, 14, 2)
  const second = digitsAt(stamp, 17, 2)
  if (year < 0 || day < 1 || hour < 0 || minute < 0 || second < 0) return null
  if (stamp[4] !== '-' || stamp[7] !== '-' || stamp[13] !== ':' || stamp[16] !== ':') return null
  if (stamp[10] !== 'T' && stamp[10] !== 't') return null
  if (month < 1 || month > 12 || day > daysIn(year, month)) return null
  if (hour > 23 || minute > 59 || second > 60) return null

  let at = 19
  let fractionMs = 0
  if (stamp[at] === '.') {
    const first = at + 1
    for (at = first; digitsAt(stamp, at, 1) >= 0; at++) {
      if (at < first + 3) fractionMs = fractionMs * 10 + stamp.charCodeAt(at) - zero
    }
    const digits = at - first
    if (digits === 0) return null
    for (let i = digits; i < 3; i++) fractionMs *= 10
  }
  const offsetMinutes = parseOffset(stamp, at)
  if (offsetMinutes === null) return null

  const dayMinutes = hour * 60 + minute - offsetMinutes
  // A leap second is the last one of a UTC day. It counts as the first of the next.
  if (second === 60 && (dayMinutes + 1) % 1440 !== 0) return null
  const minutesMs = dayMinutes * 60_000
  return dayNumber(year, month, day) * dayMs + minutesMs + second * 1000 + fractionMs
}

/** `Z` or `+hh:mm` as the very end of the text. */
function parseOffset(stamp: string, at: number): number | null {
  const sign = stamp[at]
  if (sign === 'Z' || sign === 'z') return stamp.length === at + 1 ? 0 : null
  if ((sign !== '+' && sign !== '-') || stamp.length !== at + 6 || stamp[at + 3] !== ':')
    return null
  const hours = digitsAt(stamp, at + 1, 2)
  const minutes = digitsAt(stamp, at + 4, 2)
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return null
  return (sign === '-' ? -1 : 1) * (hours * 60 + minutes)
}

/** The number that these digits make, or -1 when one of them is none. */
export function digitsAt(stamp: string, from: number, count: number): number {
  let number = 0
  for (let i = from; i < from + count; i++) {
    const digit = stamp.charCodeAt(i) - zero
    // Also refuses the NaN past the end.
    if (!(digit >= 0 && digit <= 9)) return -1
    number = number * 10 + digit
  }
  return number
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

/** Days since 1970-01-01. Date.UTC would take the years 0 to 99 for 1900 to 1999. */
function dayNumber(year: number, month: number, day: number): number {
  // Years that begin in March have their leap day last.
  const y = month <= 2 ? year - 1 : year
  const leapDays = Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400)
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1
  return y * 365 + leapDays + dayOfYear - 719_468
}
