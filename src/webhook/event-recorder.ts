import type { Aggregates } from '../engine/aggregates.ts'
import { eventsAggregate } from '../engine/format/layout.ts'
import { idMadeFrom } from '../management/id.ts'
import { isPassed } from '../store/dated-group.ts'
import type { Store } from '../store/port.ts'
import { type EndpointsOf, endpointsToTell } from './endpoint.ts'
import { eventChild, type Happening, makeEvent, type WebhookEvent, writeOfEvent } from './event.ts'

/** Makes events of what the log tells. */
export interface EventRecorder {
  /** Resolves when all are durable; what was recorded before stays as it is. `known` are endpoints that were just read. */
  record(happenings: readonly Happening[], nowMs: number, known?: EndpointsOf): Promise<void>
}

export interface EventRecorderOptions {
  readonly store: Store
  readonly aggregates: Aggregates
  readonly retentionDays: number
  readonly onMade: (event: WebhookEvent) => void
}

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { store, aggregates, retentionDays } = options

  function put(event: WebhookEvent): Promise<boolean> {
    const aggregate = eventsAggregate(event.atMs)
    const child = eventChild(event.eventId, event.atMs, retentionDays)
    return aggregates.change({
      aggregate,
      reads: [child],
      decide(view) {
        if (view.child(child) !== null) return { result: false, write: null }
        return { result: true, write: writeOfEvent({ aggregate, ...child }, event, null) }
      },
    })
  }

  return {
    async record(happenings, nowMs, known) {
      const ids = new Set(happenings.map(({ organizationId }) => organizationId))
      const endpoints = known ?? (await endpointsToTell(store, [...ids]))
      const events = happenings.flatMap((happening) => {
        const { organizationId, atMs, key } = happening
        const eventId = idMadeFrom('evt', atMs, [organizationId, key])
        // The log of a store that was restored may tell of more than is kept.
        if (isPassed(eventChild(eventId, atMs, retentionDays).group, nowMs)) return []
        return makeEvent(happening, eventId, endpoints.get(organizationId) ?? [], nowMs) ?? []
      })
      const made = await Promise.all(events.map(put))
      events.forEach((event, i) => {
        if (made[i]) options.onMade(event)
      })
    },
  }
}
