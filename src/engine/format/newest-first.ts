/** Above every time that is kept, with as many digits. */
const lastMs = 999_999_999_999_999
const digits = 15

/** A time as part of a sort key, so that the newest comes first; indexes are read upwards only. */
export function newestFirst(atMs: number): string {
  const bounded = Math.min(Math.max(0, Math.floor(atMs)), lastMs)
  return String(lastMs - bounded).padStart(digits, '0')
}

/** The time at this place of a sort key, or NaN. */
export function newestFirstAt(sortKey: string, place: number): number {
  return lastMs - Number(sortKey.slice(place, place + digits) || Number.NaN)
}
