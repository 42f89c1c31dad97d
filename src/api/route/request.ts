import { z } from 'zod'
import { isResponseCode, responseCodes } from '../../domain/record/response-code.ts'
import { type ReferenceStanding, readStanding } from '../../management/effect.ts'
import { referencePattern } from '../../management/id.ts'
import { readReference } from '../../management/reference.ts'
import {
  type ReferenceEnd,
  type ReferenceRecord,
  success,
} from '../../management/reference-record.ts'
import { conditions, refuse } from '../condition.ts'
import type { ApiContext } from '../context.ts'
import { defineRoute, type Route } from '../route.ts'

const nothing = z.object({})

const data = z.object({
  reference: z.string(),
  state: z.enum(['Processing', 'Succeeded', 'Failed']),
  method: z.string(),
  path: z.string(),
  startedAt: z.string(),
  endedAt: z.string().nullable(),
  httpStatus: z.int().nullable(),
  responseCode: z.string().nullable(),
  message: z.string().nullable(),
  finality: z.enum(['TerminalSuccess', 'TerminalFailure', 'Indeterminate']).nullable(),
  data: z.unknown(),
})

/** How a request ended that its caller lost sight of. */
export function requestRoutes({ store, aggregates }: ApiContext): readonly Route[] {
  return [
    defineRoute({
      operation: 'requests.show',
      summary: 'What became of an earlier request of this client',
      method: 'GET',
      path: '/requests/:reference',
      scope: 'CardAPIs.Read',
      params: z.object({ reference: z.string().regex(referencePattern, 'is no Reference') }),
      query: nothing,
      body: nothing,
      data,
      reads: true,
      refusals: ['recordUnknown'],
      async handle({ caller, params: { reference }, nowMs }) {
        const named = { clientId: caller.clientId, reference }
        const found = await readReference({ store, aggregates }, named, nowMs)
        if (found === null) return refuse('recordUnknown', 'there is no such request in 24 hours')
        const standing = await readStanding(store, named, found)
        return { data: { reference, ...shown(found, standing, nowMs) } }
      },
    }),
  ]
}

/** An attempt that nobody ended has no effect any more by then: its server is gone. */
const abandonedMs = 120_000

const abandoned = {
  done: false,
  httpStatus: conditions.unavailable.status,
  code: conditions.unavailable.code,
  message: 'nothing was done',
} as const

function endOf(
  { end, seenAtMs }: ReferenceRecord,
  standing: ReferenceStanding,
  nowMs: number,
): ReferenceEnd | null {
  if (standing.state === 'done') return { ...success, endedAtMs: standing.note.doneAtMs }
  if (standing.state === 'pending') return null
  if (end !== null) return end
  const endedAtMs = seenAtMs + abandonedMs
  return nowMs < endedAtMs ? null : { ...abandoned, endedAtMs }
}

function shown(found: ReferenceRecord, standing: ReferenceStanding, nowMs: number) {
  const { method, path, startedAtMs } = found
  const started = { method, path, startedAt: timeOf(startedAtMs) }
  const end = endOf(found, standing, nowMs)
  if (end === null) {
    const open = { endedAt: null, httpStatus: null, responseCode: null, message: null }
    return { state: 'Processing' as const, ...started, ...open, finality: null, data: null }
  }
  const { done, endedAtMs, httpStatus, code, message } = end
  return {
    state: done ? ('Succeeded' as const) : ('Failed' as const),
    ...started,
    endedAt: timeOf(endedAtMs),
    httpStatus,
    responseCode: code,
    message,
    finality: isResponseCode(code) ? responseCodes[code].finality : null,
    data: standing.state === 'done' ? standing.note.data : null,
  }
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}
