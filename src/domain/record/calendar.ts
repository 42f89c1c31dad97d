const hourMs = 3_600_000
export const dayMs = 24 * hourMs

/** Stretches kept per zone: a day has one, or two when clocks change within it. */
const cachedStretches = 8

/** The calendar of a named time zone; every argument is an instant, every answer is local. */
export interface Zone {
  readonly name: string
  /** Days since 1970-01-01 of the civil date. */
  dayOf(ms: number): number
  /** Number of the week that begins on Monday; consecutive weeks differ by one. */
  weekOf(ms: number): number
  /** Year × 12 + month, January being 0. */
  monthOf(ms: number): number
  /** 0 to 23. */
  hourOf(ms: number): number
  /** 1 is Monday, 7 is Sunday. */
  weekdayOf(ms: number): number
  /** The calendar of accounts in this country: itself, unless the pack names another zone for it. */
  of(country: string): Zone
}

/**
 * A time within one local day during which the offset stays the same. Not the whole day: where
 * clocks go back just after midnight, the instants of one date are not even contiguous.
 */
interface Stretch {
  readonly startMs: number
  readonly endMs: number
  readonly offsetMs: number
  readonly day: number
  readonly month: number
}

/** Throws RangeError when the zone is unknown. */
export function createZone(name: string): Zone {
  const offsetOf = offsetReaderOf(name)
  const stretches: Stretch[] = []
  let oldest = 0
  let latest = stretchAround(0, offsetOf)

  function stretchOf(ms: number): Stretch {
    if (ms >= latest.startMs && ms < latest.endMs) return latest
    for (const stretch of stretches) {
      if (ms >= stretch.startMs && ms < stretch.endMs) {
        latest = stretch
        return stretch
      }
    }
    latest = stretchAround(ms, offsetOf)
    stretches[oldest] = latest
    oldest = (oldest + 1) % cachedStretches
    return latest
  }

  const zone: Zone = {
    name,
    of: () => zone,
    dayOf: (ms) => stretchOf(ms).day,
    weekOf: (ms) => Math.floor(daysSinceMonday(stretchOf(ms).day) / 7),
    monthOf: (ms) => stretchOf(ms).month,
    hourOf(ms) {
      const { day, offsetMs } = stretchOf(ms)
      return Math.floor((ms + offsetMs - day * dayMs) / hourMs)
    },
    weekdayOf(ms) {
      const days = daysSinceMonday(stretchOf(ms).day)
      return days - Math.floor(days / 7) * 7 + 1
    },
  }
  return zone
}

/** A zone, and others by country; throws RangeError when one is unknown. */
export function createZones(name: string, byCountry: Readonly<Record<string, string>>): Zone {
  const zone = createZone(name)
  const others = new Map(
    Object.entries(byCountry).map(([country, other]) => [country, createZone(other)]),
  )
  return others.size === 0 ? zone : { ...zone, of: (country) => others.get(country) ?? zone }
}

/** 1970-01-01 was a Thursday, three days after a Monday. */
function daysSinceMonday(day: number): number {
  return day + 3
}

type OffsetReader = (ms: number) => number

/** By zone: making one takes half a millisecond, and packs name the same few. */
const offsetReaders = new Map<string, OffsetReader>()

function offsetReaderOf(zoneName: string): OffsetReader {
  // Zones are found whatever the case of their letters is.
  const key = zoneName.toLowerCase()
  const kept = offsetReaders.get(key) ?? createOffsetReader(zoneName)
  offsetReaders.set(key, kept)
  return kept
}

/** What local time is ahead of UTC, in milliseconds. */
function createOffsetReader(zoneName: string): OffsetReader {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zoneName,
    timeZoneName: 'longOffset',
  })
  return (ms) => {
    // '12/31/2026, GMT+05:45'; a bare GMT is zero, and old local mean times have seconds.
    const match = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(format.format(ms))
    if (match === null) throw new Error(`no offset for ${zoneName} at ${ms}`)
    const [, sign, hours = '0', minutes = '0', seconds = '0'] = match
    const offsetMs = Number(hours) * hourMs + Number(minutes) * 60_000 + Number(seconds) * 1000
    return sign === '-' ? -offsetMs : offsetMs
  }
}

function stretchAround(ms: number, offsetOf: OffsetReader): Stretch {
  const offsetMs = offsetOf(ms)
  const day = Math.floor((ms + offsetMs) / dayMs)
  const midnightMs = day * dayMs - offsetMs
  const nextMidnightMs = midnightMs + dayMs
  const firstMs = lastWithOffset(ms, midnightMs, offsetMs, offsetOf)
  const lastMs = lastWithOffset(ms, nextMidnightMs - 1, offsetMs, offsetOf)
  return { startMs: firstMs, endMs: lastMs + 1, offsetMs, day, month: monthOfDay(day) }
}

/**
 * Going from one instant towards another of the same day, the last that still has the offset.
 * Bisecting is sound because changes of offset are never less than three days apart in the tz
 * database (the closest two are of Freetown, 1939), so there is at most one to find.
 */
function lastWithOffset(
  fromMs: number,
  towardsMs: number,
  offsetMs: number,
  offsetOf: OffsetReader,
): number {
  if (offsetOf(towardsMs) === offsetMs) return towardsMs
  let insideMs = fromMs
  let outsideMs = towardsMs
  while (Math.abs(outsideMs - insideMs) > 1) {
    const middleMs = Math.floor((insideMs + outsideMs) / 2)
    if (offsetOf(middleMs) === offsetMs) insideMs = middleMs
    else outsideMs = middleMs
  }
  return insideMs
}

function monthOfDay(day: number): number {
  const date = new Date(day * dayMs)
  return date.getUTCFullYear() * 12 + date.getUTCMonth()
}

/** The day, as `dayOf` counts them, that a month on the scale of `monthOf` begins with. */
export function firstDayOfMonth(month: number): number {
  return Date.UTC(Math.floor(month / 12), month % 12, 1) / dayMs
}

/** 'YYYY-MM-DD' of a day as `dayOf` counts them. */
export function dayText(day: number): string {
  return new Date(day * dayMs).toISOString().slice(0, -'T00:00:00.000Z'.length)
}

/** 'YYYY-MM' on the scale of `monthOf`; null when it is not a month. */
export function monthIndexOfText(text: string): number | null {
  const match = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(text)
  return match === null ? null : Number(match[1]) * 12 + Number(match[2]) - 1
}

/** 'YYYY-MM-DD' on the scale of `dayOf`; null when there is no such day. */
export function dayIndexOfText(text: string): number | null {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return null
  const day = Date.parse(`${text}T00:00:00Z`) / dayMs
  return Number.isInteger(day) && dayText(day) === text ? day : null
}
