import type { Clock } from '../clock.ts'
import type { AggregateWrite } from '../engine/aggregate-copy.ts'
import type { Aggregates } from '../engine/aggregates.ts'
import { kycAggregate } from '../engine/format/layout.ts'
import type { Store } from '../store/port.ts'
import { type Endpoint, endpointsToTell } from '../webhook/endpoint.ts'
import { eventBeside, type Happening, type WebhookEvent } from '../webhook/event.ts'
import { imageKeys } from './image.ts'
import { decodeKyc, dueKyc, eventTypeOf, isFinal, type Kyc, readKyc, shownKyc } from './kyc.ts'

export interface KycChangeOptions {
  readonly store: Store
  readonly aggregates: Aggregates
  readonly clock: Clock
  /** How long events are kept. */
  readonly retentionDays: number
  readonly onMade: (event: WebhookEvent) => void
}

/** Changes a verification, and tells of it. null when nothing changed; what is over stays so. */
type KycChange = (kycToken: string, next: (kyc: Kyc) => Kyc | null) => Promise<Kyc | null>

/** What one commit makes of a verification, and what it tells. */
interface ChangedKyc {
  readonly after: Kyc | null
  readonly event: WebhookEvent | null
  readonly write: AggregateWrite
}

const unchanged: ChangedKyc = { after: null, event: null, write: {} }

export function createKycChange(options: KycChangeOptions): KycChange {
  const { store, aggregates, clock, retentionDays } = options

  function changed(
    before: Kyc,
    next: (kyc: Kyc) => Kyc | null,
    to: readonly Endpoint[],
    nowMs: number,
  ): ChangedKyc {
    const isOver = isFinal(before)
    // Its last word may have come while somebody was still asking: nobody looks at it again.
    const after = isOver ? { ...before, dueMs: null } : next(before)
    if (after === null) return unchanged
    const happening = happeningOf(before, after, nowMs)
    const aggregate = kycAggregate(before.kycToken)
    const told = happening && eventBeside(aggregate, happening, to, retentionDays)
    const isDropped = after.isHandedOver && !before.isHandedOver
    const write: AggregateWrite = {
      root: JSON.stringify(after),
      put: told?.write.put ?? [],
      remove: isDropped ? imageKeys(before.submittedAtMs, before.imageParts) : [],
      index: [...dueKyc(after), ...(told?.write.index ?? [])],
      unindex: dueKyc(before),
    }
    return { after: isOver ? null : after, event: told?.event ?? null, write }
  }

  return async (kycToken, next) => {
    const found = await readKyc(store, kycToken)
    if (found === null) return null
    const { organizationId } = found
    const endpoints = (await endpointsToTell(store, [organizationId])).get(organizationId)!
    const nowMs = clock.nowMs()
    const { after, event } = await aggregates.change<ChangedKyc>({
      aggregate: kycAggregate(kycToken),
      decide({ root }) {
        const before = decodeKyc(root ?? '')
        const result = before === null ? unchanged : changed(before, next, endpoints, nowMs)
        return { result, write: result.write }
      },
    })
    if (event !== null) options.onMade(event)
    return after
  }
}

/** What a change tells; null when it tells nothing. */
function happeningOf(before: Kyc, after: Kyc, atMs: number): Happening | null {
  const type = eventTypeOf(after)
  if (type === null || after.sequence === before.sequence) return null
  const { organizationId, kycToken, sequence } = after
  const key = `${kycToken}\n${sequence}`
  return { organizationId, type, atMs, key, sequence, data: shownKyc(after) }
}
