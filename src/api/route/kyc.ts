import { z } from 'zod'
import { kycAggregate } from '../../engine/format/layout.ts'
import type { KycRequest } from '../../kyc/desk.ts'
import { readIdentity } from '../../kyc/identity.ts'
import { type Kyc, kycMethods, kycStatuses, readKyc, rejectTypes, shownKyc } from '../../kyc/kyc.ts'
import type { Verdict } from '../../kyc/provider.ts'
import { methodOf, numberIdTypes, type Submission } from '../../kyc/submission.ts'
import { referenceIdOf } from '../../management/reference.ts'
import { type Refused, refuse } from '../condition.ts'
import type { ApiContext } from '../context.ts'
import { type ApiCall, defineRoute, type Route } from '../route.ts'
import {
  businessKyc,
  clientReference,
  countryProblem,
  individualKyc,
  individualProblem,
} from './kyc-field.ts'

const nothing = z.object({})
const kycToken = z
  .string()
  .trim()
  .regex(/^[!-~]{1,64}$/, 'is no kycToken')
/** How a verification stands. */
export const kycData = z.object({
  kycToken: z.string(),
  clientReference: z.string(),
  method: z.enum(kycMethods),
  status: z.enum(kycStatuses),
  customerId: z.string().optional(),
  kycCode: z.string().optional(),
  rejectType: z.enum(rejectTypes).optional(),
  rejectLabels: z.array(z.string()).optional(),
  submittedAt: z.string(),
  completedAt: z.string().nullable(),
})

/** Two pictures of 4 MiB in Base64, and what is said with them. */
const maxBodyBytes = 12 * 2 ** 20
const identityNumber = /^(?:\d{11}|[A-Za-z0-9]{16})$/

/** Verification of people and businesses. */
export function kycRoutes(context: ApiContext): readonly Route[] {
  const ofSandbox = context.settings.sandbox ? [endingRoute(context)] : []
  return [...submissionRoutes(context), ...statusRoutes(context), ...ofSandbox]
}

function submissionRoutes({ effects, outside }: ApiContext): readonly Route[] {
  async function submit(
    call: ApiCall,
    given: Pick<KycRequest, 'clientReference' | 'submission' | 'images'>,
    check: () => Refused | null,
  ) {
    const { kyc } = outside
    if (kyc === null) return refuse('notPermitted', 'no KYC provider is configured')
    // Whoever repeats it hears the same, so nothing has to stay in its place.
    const refused = check()
    if (refused !== null) return refused
    const { organizationId } = call.caller.organization
    const result = await effects.onNew(call, 'kyc', kycAggregate, async (kycToken, attempt) => {
      const { nowMs } = call
      const begun = await kyc.desk.begin({ ...given, kycToken, organizationId, attempt, nowMs })
      if (begun === 'timedOut') return refuse('providerTimedOut', 'the KYC provider is silent')
      if (begun === 'failed') return refuse('providerFailed', 'the KYC provider did not decide')
      return () => ({ data: dataOf(begun.kyc), write: begun.write })
    })
    if ('data' in result && !('condition' in result)) kyc.followUp.wake(result.data.kycToken)
    return result
  }

  return [
    defineRoute({
      operation: 'kyc.individual',
      summary: 'Verifies a person, by a number at once or by a document later',
      method: 'POST',
      path: '/kyc/individual',
      scope: 'CardAPIs',
      params: nothing,
      query: nothing,
      body: z.object({ clientReference, individualKyc }),
      data: kycData,
      maxBodyBytes,
      hasIdentity: true,
      reads: false,
      refusals: [
        'dateMalformed',
        'notPermitted',
        'countryNotSupported',
        'providerFailed',
        'providerTimedOut',
      ],
      async handle(call) {
        const { clientReference, individualKyc: person } = call.body
        const refused = individualProblem(person, call.nowMs)
        if (refused !== null) return refused
        const { idFrontImage, idBackImage, ...subject } = person
        const images = {
          ...(idFrontImage !== undefined && { idFrontImage }),
          ...(idBackImage !== undefined && { idBackImage }),
        }
        const method = methodOf(person.idType) as 'number' | 'document'
        const submission: Submission = { method, individualKyc: subject }
        return submit(call, { clientReference, submission, images }, () => countryProblem(person))
      },
    }),
    defineRoute({
      operation: 'kyc.business',
      summary: 'Verifies a business',
      method: 'POST',
      path: '/kyc/business',
      scope: 'CardAPIs',
      params: nothing,
      query: nothing,
      body: z.object({ clientReference, businessKyc }),
      data: kycData,
      hasIdentity: true,
      reads: false,
      refusals: ['notPermitted'],
      async handle(call) {
        const { clientReference, businessKyc } = call.body
        const submission: Submission = { method: 'business', businessKyc }
        return submit(call, { clientReference, submission, images: {} }, () => null)
      },
    }),
  ]
}

function statusRoutes({ store, outside }: ApiContext): readonly Route[] {
  async function find(call: ApiCall, kycToken: string) {
    const found = await readKyc(store, kycToken)
    const isOwn = found?.organizationId === call.caller.organization.organizationId
    return found !== null && isOwn ? { data: dataOf(found) } : unknown()
  }

  /** The newest submission with a BVN, NIN or vNIN. */
  async function findByNumber(call: ApiCall, number: string) {
    const { organizationId } = call.caller.organization
    const names = numberIdTypes.map((kind) => ({ organizationId, kind, number }))
    const found = await Promise.all(
      names.map((name) => readIdentity(store, organizationId, outside.identityHashes(name))),
    )
    const [newest] = found
      .flatMap((one) => one ?? [])
      .sort((a, b) => b.submittedAtMs - a.submittedAtMs)
    return newest === undefined ? unknown() : find(call, newest.kycToken)
  }

  return [
    defineRoute({
      operation: 'kyc.status',
      summary: 'How a verification stands, by its token or by the BVN, NIN or vNIN in the body',
      method: 'POST',
      path: '/kyc/status',
      scope: 'CardAPIs.Read',
      params: nothing,
      query: nothing,
      body: z.object({
        kycToken: kycToken.describe('Or the BVN, NIN or vNIN that was verified'),
      }),
      data: kycData,
      hasIdentity: true,
      reads: true,
      refusals: ['recordUnknown'],
      handle: async (call) => {
        const { kycToken } = call.body
        return identityNumber.test(kycToken) ? findByNumber(call, kycToken) : find(call, kycToken)
      },
    }),
    defineRoute({
      operation: 'kyc.show',
      summary: 'How a verification stands',
      method: 'GET',
      path: '/kyc/:kycToken',
      scope: 'CardAPIs.Read',
      params: z.object({ kycToken }),
      query: nothing,
      body: nothing,
      data: kycData,
      reads: true,
      refusals: ['identityInUrl', 'recordUnknown'],
      handle: async (call) => {
        const { kycToken } = call.params
        if (!identityNumber.test(kycToken)) return find(call, kycToken)
        const message = 'send an identity number as kycToken in the body of POST /kyc/status'
        return refuse('identityInUrl', message, { errors: [{ field: 'kycToken', message }] })
      },
    }),
  ]
}

/** A sandbox: ends a verification now, as a person at the provider would. */
function endingRoute({ store, effects, outside }: ApiContext): Route {
  return defineRoute({
    operation: 'sandbox.kyc',
    summary: 'Ends a verification now',
    method: 'POST',
    path: '/sandbox/kyc/:kycToken',
    scope: 'CardAPIs',
    params: z.object({ kycToken }),
    query: nothing,
    body: z.object({
      status: z.enum(['Approved', 'Rejected']),
      rejectType: z.enum(rejectTypes).optional(),
      rejectLabels: z
        .array(z.string().regex(/^[A-Z0-9_]{1,40}$/))
        .max(20)
        .optional(),
    }),
    data: kycData,
    reads: false,
    refusals: ['recordUnknown', 'notPermitted'],
    async handle(call) {
      const { kycToken } = call.params
      const found = await readKyc(store, kycToken)
      if (found?.organizationId !== call.caller.organization.organizationId) return unknown()
      const home = kycAggregate(kycToken)
      return effects.onPrepared<z.input<typeof kycData>>(call, home, async () => {
        const word = { ...call.body, endedBy: referenceIdOf(call.caller) }
        const heard = (await outside.kyc?.desk.hear(kycToken, word)) ?? null
        const kyc = heard === 'final' ? await endedAs(word, kycToken) : heard
        return () => {
          if (kyc === null) return unknown()
          if (kyc === 'final') return refuse('notPermitted', 'it is over')
          return { data: dataOf(kyc), write: {} }
        }
      })
    },
  })

  /** What the request that is repeated has ended, as it asks. */
  async function endedAs({ status, endedBy }: Verdict, kycToken: string) {
    const kyc = await readKyc(store, kycToken)
    return kyc?.status === status && kyc.endedBy === endedBy ? kyc : 'final'
  }
}

function unknown(): Refused {
  return refuse('recordUnknown', 'there is no such KYC')
}

function dataOf(kyc: Kyc): z.input<typeof kycData> {
  return shownKyc(kyc) as z.input<typeof kycData>
}
