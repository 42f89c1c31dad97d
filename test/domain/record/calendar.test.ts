import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createZone,
  dayText,
  monthIndexOfText,
  type Zone,
} from '../../../src/domain/record/calendar.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** Instants around which the calendar of a zone does something unusual. */
const oddities: readonly (readonly [zone: string, instant: string])[] = [
  ['America/New_York', '2026-03-08T07:00:00Z'],
  ['America/New_York', '2026-11-01T06:00:00Z'],
  ['Europe/London', '2026-10-25T01:00:00Z'],
  ['America/Sao_Paulo', '2018-02-18T02:00:00Z'],
  ['America/Sao_Paulo', '2018-11-04T03:00:00Z'],
  ['Africa/Cairo', '2024-04-25T22:00:00Z'],
  ['Africa/Cairo', '2024-10-31T21:00:00Z'],
  ['Asia/Beirut', '2023-03-29T22:00:00Z'],
  ['Asia/Beirut', '2024-10-26T21:00:00Z'],
  ['Australia/Lord_Howe', '2026-04-04T15:00:00Z'],
  ['Australia/Lord_Howe', '2026-10-03T15:30:00Z'],
  ['Pacific/Apia', '2011-12-30T10:00:00Z'],
  ['Pacific/Kwajalein', '1993-08-21T12:00:00Z'],
  ['America/St_Johns', '2006-10-29T02:31:00Z'],
  ['America/St_Johns', '1988-10-30T01:31:00Z'],
  ['Asia/Kathmandu', '1985-12-31T18:30:00Z'],
  ['Asia/Pyongyang', '2018-05-04T15:00:00Z'],
  ['Africa/Monrovia', '1972-01-07T00:44:30Z'],
  ['Antarctica/Troll', '2026-03-29T01:00:00Z'],
  ['Africa/Casablanca', '2026-02-15T02:00:00Z'],
  ['Asia/Tehran', '2022-09-21T19:30:00Z'],
  ['Europe/Amsterdam', '1937-06-30T23:40:28Z'],
  ['UTC', '1970-01-01T00:00:00Z'],
]

const zoneNames = [...new Set(oddities.map(([zone]) => zone)), 'Africa/Lagos', 'Asia/Kolkata']

interface LocalTime {
  readonly day: number
  readonly week: number
  readonly month: number
  readonly hour: number
  readonly weekday: number
}

const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const formatters = new Map<string, Intl.DateTimeFormat>()

/** What Intl says about one instant, field by field, with no offsets and no cache. */
function localTimeByIntl(zoneName: string, ms: number): LocalTime {
  let formatter = formatters.get(zoneName)
  if (formatter === undefined) {
    formatter = new Intl.DateTimeFormat('en-US', {
      timeZone: zoneName,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      weekday: 'short',
    })
    formatters.set(zoneName, formatter)
  }
  const parts = new Map(formatter.formatToParts(ms).map(({ type, value }) => [type, value]))
  const year = Number(parts.get('year'))
  const month = Number(parts.get('month'))
  const day = Date.UTC(year, month - 1, Number(parts.get('day'))) / dayMs
  const weekday = weekdays.indexOf(parts.get('weekday') ?? '') + 1
  const mondayOfFirstWeek = -3
  return {
    day,
    week: (day - (weekday - 1) - mondayOfFirstWeek) / 7,
    month: year * 12 + month - 1,
    hour: Number(parts.get('hour')),
    weekday,
  }
}

function localTimeByZone(zone: Zone, ms: number): LocalTime {
  return {
    day: zone.dayOf(ms),
    week: zone.weekOf(ms),
    month: zone.monthOf(ms),
    hour: zone.hourOf(ms),
    weekday: zone.weekdayOf(ms),
  }
}

/** First instants of a new date within a range, found minute by minute. */
function dateChanges(zone: Zone, fromText: string, toText: string): string[] {
  const changes: string[] = []
  for (let ms = Date.parse(fromText); ms < Date.parse(toText); ms += minuteMs) {
    if (zone.dayOf(ms) !== zone.dayOf(ms - 1)) {
      changes.push(`${new Date(ms).toISOString().slice(0, 16)} ${dayText(zone.dayOf(ms))}`)
    }
  }
  return changes
}

describe('createZone', () => {
  it('throws RangeError for a zone that does not exist', () => {
    expect(() => createZone('Mars/Olympus')).toThrow(RangeError)
    expect(() => createZone('')).toThrow(RangeError)
  })

  it('keeps the name it was given', () => {
    expect(createZone('Asia/Kathmandu').name).toBe('Asia/Kathmandu')
  })

  it('throws RangeError for what is no instant, whatever is cached', () => {
    const zone = createZone('UTC')
    zone.dayOf(0)
    expect(() => zone.dayOf(Number.NaN)).toThrow(RangeError)
    expect(() => zone.dayOf(Number.POSITIVE_INFINITY)).toThrow(RangeError)
  })

  it('counts from the epoch: 1970-01-01 was day 0, a Thursday of week 0', () => {
    const zone = createZone('UTC')
    expect(localTimeByZone(zone, 0)).toEqual({
      day: 0,
      week: 0,
      month: 1970 * 12,
      hour: 0,
      weekday: 4,
    })
    expect(zone.dayOf(-1)).toBe(-1)
    expect(zone.hourOf(-1)).toBe(23)
    expect(zone.weekdayOf(-4 * dayMs)).toBe(7)
    expect(zone.weekOf(-4 * dayMs)).toBe(-1)
    expect(zone.weekOf(4 * dayMs)).toBe(1)
  })

  it('begins the day of Kathmandu at 18:15 UTC', () => {
    const zone = createZone('Asia/Kathmandu')
    const midnightMs = Date.parse('2026-11-14T18:15:00Z')
    expect(dayText(zone.dayOf(midnightMs - 1))).toBe('2026-11-14')
    expect(dayText(zone.dayOf(midnightMs))).toBe('2026-11-15')
    expect(zone.hourOf(midnightMs)).toBe(0)
    expect(zone.weekdayOf(midnightMs)).toBe(7)
  })

  it('has days of 23 and 25 hours in New York', () => {
    const zone = createZone('America/New_York')
    expect(dateChanges(zone, '2026-03-08T00:00Z', '2026-03-10T00:00Z')).toEqual([
      '2026-03-08T05:00 2026-03-08',
      '2026-03-09T04:00 2026-03-09',
    ])
    expect(dateChanges(zone, '2026-11-01T00:00Z', '2026-11-03T00:00Z')).toEqual([
      '2026-11-01T04:00 2026-11-01',
      '2026-11-02T05:00 2026-11-02',
    ])
  })

  it('has one date change when clocks go back from midnight in São Paulo', () => {
    const zone = createZone('America/Sao_Paulo')
    expect(dateChanges(zone, '2018-02-17T00:00Z', '2018-02-19T00:00Z')).toEqual([
      '2018-02-17T02:00 2018-02-17',
      '2018-02-18T03:00 2018-02-18',
    ])
  })

  it('begins the day at one in the morning when clocks skip midnight in São Paulo', () => {
    const zone = createZone('America/Sao_Paulo')
    const startMs = Date.parse('2018-11-04T03:00:00Z')
    expect(zone.hourOf(startMs - 1)).toBe(23)
    expect(zone.hourOf(startMs)).toBe(1)
    expect(zone.dayOf(startMs)).toBe(zone.dayOf(startMs - 1) + 1)
  })

  it('goes from the 29th to the 31st of December 2011 in Apia', () => {
    const zone = createZone('Pacific/Apia')
    expect(dateChanges(zone, '2011-12-29T00:00Z', '2012-01-01T00:00Z')).toEqual([
      '2011-12-29T10:00 2011-12-29',
      '2011-12-30T10:00 2011-12-31',
      '2011-12-31T10:00 2012-01-01',
    ])
  })

  it('returns to the day before when clocks go back a minute after midnight in St John’s', () => {
    const zone = createZone('America/St_Johns')
    expect(dateChanges(zone, '2006-10-29T00:00Z', '2006-10-30T00:00Z')).toEqual([
      '2006-10-29T02:30 2006-10-29',
      '2006-10-29T02:31 2006-10-28',
      '2006-10-29T03:30 2006-10-29',
    ])
  })

  it.each(oddities)('agrees with Intl around the change of %s at %s', (zoneName, instant) => {
    const aroundMs = Date.parse(instant)
    const zone = createZone(zoneName)
    for (let minutes = -36 * 60; minutes <= 36 * 60; minutes += 15) {
      for (const nudgeMs of [-1, 0, 1]) {
        const ms = aroundMs + minutes * minuteMs + nudgeMs
        expect(localTimeByZone(zone, ms), `${ms}`).toEqual(localTimeByIntl(zoneName, ms))
      }
    }
  })

  it('agrees with Intl in any order of instants near an oddity, far more than it caches', () => {
    const nearby = fc.integer({ min: -20 * dayMs, max: 20 * dayMs })
    fc.assert(
      fc.property(
        fc.constantFrom(...oddities),
        fc.array(nearby, { minLength: 1, maxLength: 40 }),
        ([zoneName, instant], offsets) => {
          const zone = createZone(zoneName)
          for (const offset of [...offsets, ...offsets]) {
            const ms = Date.parse(instant) + offset
            expect(localTimeByZone(zone, ms)).toEqual(localTimeByIntl(zoneName, ms))
          }
        },
      ),
      { numRuns: 60 },
    )
  })

  it('agrees with Intl at any instant of two centuries in any zone', () => {
    const zones = new Map(zoneNames.map((name) => [name, createZone(name)]))
    const instants = fc.integer({
      min: Date.parse('1900-01-01T00:00:00Z'),
      max: Date.parse('2100-01-01T00:00:00Z'),
    })
    fc.assert(
      fc.property(fc.constantFrom(...zoneNames), instants, (zoneName, ms) => {
        const zone = zones.get(zoneName)!
        expect(localTimeByZone(zone, ms)).toEqual(localTimeByIntl(zoneName, ms))
      }),
      { numRuns: 2000 },
    )
  })
})

describe('dayText', () => {
  it.each([
    [0, '1970-01-01'],
    [-1, '1969-12-31'],
    [20771, '2026-11-14'],
    [11016, '2000-02-29'],
  ])('writes day %d as %s', (day, text) => {
    expect(dayText(day)).toBe(text)
  })
})

describe('monthIndexOfText', () => {
  it('is on the scale of monthOf', () => {
    const zone = createZone('UTC')
    expect(monthIndexOfText('2029-12')).toBe(zone.monthOf(Date.parse('2029-12-31T23:59:59Z')))
    expect(monthIndexOfText('2030-01')).toBe(zone.monthOf(Date.parse('2030-01-01T00:00:00Z')))
  })

  it.each(['2029-00', '2029-13', '2029-1', '29-12', '2029/12', '2029-12-01', '2029-12\n', '', 'x'])(
    'is null for %j',
    (text) => {
      expect(monthIndexOfText(text)).toBeNull()
    },
  )
})
