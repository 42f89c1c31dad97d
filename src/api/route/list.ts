import { z } from 'zod'
import { dayIndexOfText, dayMs, type Zone } from '../../domain/record/calendar.ts'
import { allTime, type Listing, readPage, type Span } from '../../projection/listing.ts'
import type { Store } from '../../store/port.ts'
import { parseTimestamp } from '../../wire/timestamp.ts'
import type { Caller } from '../authentication.ts'
import { isRefused, type Refused, refuseField } from '../condition.ts'
import type { Cursors } from '../cursor.ts'
import { fieldConditions } from '../input.ts'
import type { Done } from '../route.ts'

const time = z
  .string()
  .refine((text) => dayIndexOfText(text) !== null || parseTimestamp(text) !== null, {
    message: 'must be a date as 2026-11-15, or a time as 2026-11-15T10:00:00Z',
  })
const startDate = time.describe(
  'A day as 2026-11-15 in the time zone of the pack, or a time as 2026-11-15T10:00:00Z',
)
const endDate = time.describe('Likewise; a day is included, a time is not. At most 366 days later')
fieldConditions.add(time, { condition: 'dateMalformed' })

/** The query of every list. */
export const pageFields = {
  limit: z
    .string()
    .regex(/^(?:[1-9]\d?|100)$/, 'must be 1 to 100')
    .transform(Number)
    .default(25)
    // A client that is made from the document gives a number, not the text that it is in an address.
    .meta({
      type: 'integer',
      minimum: 1,
      maximum: 100,
      pattern: undefined,
      description: 'without it 25',
    }),
  cursor: z.string().optional().describe('nextCursor of the page before'),
}

/** The query of lists that can be cut by time. */
export const timeFields = { startDate: startDate.optional(), endDate: endDate.optional() }

/** The `data` of a list. */
export function listOf<T extends z.ZodType>(item: T) {
  return z.object({ items: z.array(item), nextCursor: z.string().nullable() })
}

/** What a list may be refused for, besides what every call may. */
export const pageRefusals = ['dateMalformed'] as const

interface GivenSpan {
  readonly startDate?: string | undefined
  readonly endDate?: string | undefined
}

interface PageQuery extends GivenSpan {
  readonly limit: number
  readonly cursor?: string | undefined
}

interface ListCall {
  /** Tells its cursors from those of other lists. */
  readonly list: string
  readonly caller: Pick<Caller, 'organization'>
  /** All fields but the limit and the cursor are filters. */
  readonly query: PageQuery
  readonly nowMs: number
}

/** Answers calls of lists: pages, cursors and stretches of time are the same in all of them. */
export interface ListDesk {
  answer<T>(
    call: ListCall,
    listingOf: (span: Span) => Listing<T> | Promise<Listing<T>>,
  ): Promise<Done<{ items: T[]; nextCursor: string | null }> | Refused>
}

export interface ListDeskOptions {
  readonly store: Store
  readonly cursors: Cursors
  /** Whose days a date without a time means. */
  readonly zone: () => Zone
}

export function createListDesk({ store, cursors, zone }: ListDeskOptions): ListDesk {
  return {
    async answer({ list, caller, query, nowMs }, listingOf) {
      const { limit, cursor, ...filters } = query
      const { organizationId } = caller.organization
      const name = { list, organizationId, filters }
      const place = cursor === undefined ? '' : cursors.open(name, cursor, nowMs)
      if (place === null) {
        return refuseField(
          'fieldNotAllowed',
          'cursor',
          'is not one of this list with these filters, or older than a day: begin again without it',
        )
      }
      const span = spanOf(query, zone())
      if (isRefused(span)) return span
      const { items, next } = await readPage(store, await listingOf(span), place, limit)
      const nextCursor = next === null ? null : cursors.seal(name, next, nowMs)
      return { data: { items: [...items], nextCursor } }
    },
  }
}

const maxSpanMs = 366 * dayMs

/** Why the stretch is none, or from when until when. */
export function spanOf({ startDate, endDate }: GivenSpan, zone: Zone): Span | Refused {
  const fromMs = startDate === undefined ? allTime.fromMs : instantOf(startDate, zone, 0)
  const beforeMs = endDate === undefined ? allTime.beforeMs : instantOf(endDate, zone, 1)
  // A day that is the end belongs to the stretch, so that one which has nothing of it is reversed.
  const isDay = endDate !== undefined && dayIndexOfText(endDate) !== null
  if (fromMs > beforeMs || (isDay && fromMs === beforeMs)) {
    return refuseField('dateMalformed', 'endDate', 'is before startDate')
  }
  // A day of a zone may have an hour more.
  const isLong = startDate !== undefined && beforeMs - fromMs > maxSpanMs + dayMs / 24
  if (isLong && endDate !== undefined) {
    return refuseField('dateMalformed', 'endDate', 'is more than 366 days after startDate')
  }
  return { fromMs, beforeMs }
}

/** A time as it is; of a date the beginning of that day, or of one some days later. */
function instantOf(text: string, zone: Zone, daysLater: number): number {
  const day = dayIndexOfText(text)
  return day === null ? parseTimestamp(text)! : startOfDay(day + daysLater, zone)
}

/** The first instant of a day of the zone; no zone is more than a day from UTC. */
function startOfDay(day: number, zone: Zone): number {
  let insideMs = (day + 1) * dayMs
  let outsideMs = (day - 1) * dayMs
  while (insideMs - outsideMs > 1) {
    const middleMs = Math.floor((insideMs + outsideMs) / 2)
    if (zone.dayOf(middleMs) >= day) insideMs = middleMs
    else outsideMs = middleMs
  }
  return insideMs
}

/** The same list of what its items are shown as. */
export function mapped<T, S>(listing: Listing<T>, show: (item: T) => S): Listing<S> {
  return {
    ...listing,
    async read(entries) {
      const items = await listing.read(entries)
      return items.map((item) => (item === null ? null : show(item)))
    },
  }
}
