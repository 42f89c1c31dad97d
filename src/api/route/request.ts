import { z } from 'zod'
import { isResponseCode, responseCodes } from '../../domain/record/response-code.ts'
import { type ReferenceRecord, readReference } from '../../management/reference.ts'
import type { Store } from '../../store/port.ts'
import { refuse } from '../condition.ts'
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
export function requestRoutes(store: Store): readonly Route[] {
  return [
    defineRoute({
      operation: 'requests.show',
      summary: 'What became of an earlier request of this client',
      method: 'GET',
      path: '/requests/:reference',
      scope: 'CardAPIs.Read',
      params: z.object({ reference: z.string().regex(/^[!-%'-~]{1,30}$/, 'is no Reference') }),
      query: nothing,
      body: nothing,
      data,
      reads: true,
      refusals: ['recordUnknown'],
      async handle({ caller, params: { reference }, nowMs }) {
        const named = { clientId: caller.clientId, reference }
        const found = await readReference(store, named, nowMs)
        if (found === null) return refuse('recordUnknown', `no request ${reference} in 24 hours`)
        return { data: { reference, ...shown(found) } }
      },
    }),
  ]
}

function shown({ method, path, startedAtMs, end }: ReferenceRecord) {
  const started = { method, path, startedAt: timeOf(startedAtMs) }
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
    data: null,
  }
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}
