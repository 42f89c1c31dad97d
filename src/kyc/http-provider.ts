import { z } from 'zod'
import { type Clock, dayMs } from '../clock.ts'
import { readJson } from '../outgoing/answer.ts'
import type { Outgoing } from '../outgoing/call.ts'
import { isSignedBy, signedHeaders } from '../outgoing/signature.ts'
import type { KycProvider, ProviderFault, Verdict } from './provider.ts'
import { namesSomebody } from './submission.ts'

export interface HttpKycOptions {
  readonly outgoing: Pick<Outgoing, 'call'>
  readonly clock: Pick<Clock, 'nowMs'>
  /** Without a slash at its end. */
  readonly url: string
  readonly secret: Buffer
  /** Where later results may be sent; '' when nobody knows our own address. */
  readonly callbackUrl: string
  /** Why it did not answer as it should; nothing of an answer is in it. */
  readonly onTrouble: (message: string) => void
}

const timeoutMs = 8_000
const pollMs = 60_000
const polledMs = 7 * dayMs

const verdict = z.object({
  status: z.enum(['Approved', 'Rejected', 'Pending']),
  holder: z
    .object({
      firstName: z.string().max(120).optional(),
      lastName: z.string().max(120).optional(),
      dateOfBirth: z.string().max(10).optional(),
    })
    .optional(),
  kycCode: z.string().optional(),
  rejectType: z.string().optional(),
  rejectLabels: z.array(z.string()).optional(),
})

/** Of a number, whose holder is compared: one without a name would reject everybody for good. */
const numberVerdict = verdict.refine(
  ({ status, holder }) => status !== 'Approved' || holder === undefined || namesSomebody(holder),
  { path: ['holder'] },
)

const told = verdict.extend({ kycToken: z.string().max(64) })

export type ToldVerdict = Verdict & { readonly kycToken: string }

/** Somebody's own server that verifies; it is asked by its token, which is also what makes a repeat safe. */
export function createHttpProvider(options: HttpKycOptions): KycProvider {
  const { outgoing, clock, url, secret, callbackUrl, onTrouble } = options

  function failed(problem: string): 'failed' {
    onTrouble(`the KYC provider ${problem}`)
    return 'failed'
  }

  async function call(
    method: 'GET' | 'POST',
    path: string,
    id: string,
    body: string,
    shape: z.ZodType<Verdict> = verdict,
  ): Promise<Verdict | ProviderFault> {
    const signed = signedHeaders({ id, body, atMs: clock.nowMs() }, [secret])
    const said = await outgoing.call({
      method,
      url: `${url}${path}`,
      headers: { accept: 'application/json', 'content-type': 'application/json', ...signed },
      ...(method === 'POST' && { body }),
      timeoutMs,
    })
    if ('fault' in said) {
      const fault = failed(`cannot be reached: ${said.detail}`)
      return said.fault === 'timedOut' ? 'timedOut' : fault
    }
    if (said.status < 200 || said.status > 299) return failed(`answers ${said.status}`)
    const found = said.isCut ? 'it is too long' : readJson(said.body, shape)
    if (typeof found !== 'string') return found.said
    return failed(`answers otherwise than docs/WEBHOOKS.md says: ${found}`)
  }

  return {
    name: 'http',
    submit({ kycToken, submission, images }) {
      const { method, ...given } = submission
      const callback = callbackUrl === '' ? {} : { callbackUrl }
      const subject =
        'individualKyc' in given ? { individualKyc: { ...given.individualKyc, ...images } } : given
      const body = JSON.stringify({ kycToken, method, ...subject, ...callback })
      const shape = method === 'number' ? numberVerdict : verdict
      return call('POST', '/verifications', kycToken, body, shape)
    },
    ask: ({ kycToken }) => call('GET', `/verifications/${kycToken}`, kycToken, ''),
    nextMs: ({ submittedAtMs }, nowMs) =>
      nowMs - submittedAtMs < polledMs ? nowMs + pollMs : null,
  }
}

/** What a provider sends by itself; null when it is not from it, a text when it is otherwise than it must be. */
export function readCallback(
  secret: Buffer,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  body: Buffer,
  nowMs: number,
): ToldVerdict | string | null {
  if (!isSignedBy(secret, headers, body, nowMs)) return null
  const found = readJson(body.toString('utf8'), told)
  if (typeof found !== 'string') return found.said
  return `the KYC provider calls back otherwise than docs/WEBHOOKS.md says: ${found}`
}
