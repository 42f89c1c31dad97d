import type { ResponseCode } from '../domain/record/response-code.ts'
import type { Holder, Images, KycMethod, Submission } from './submission.ts'

/** What a provider says of a verification. */
export interface Verdict {
  readonly status: 'Initiated' | 'Pending' | 'Approved' | 'Rejected'
  readonly holder?: Holder | undefined
  readonly kycCode?: string | undefined
  readonly rejectType?: string | undefined
  readonly rejectLabels?: readonly string[] | undefined
  /** The call that says it, where it is none of a provider. */
  readonly endedBy?: string | undefined
}

/** What `kycCode` may say, by the status. */
export const kycCodes = {
  Pending: ['183'],
  Approved: ['000'],
  Rejected: ['180', '181', '182', '184', '185', '305', '306', '307'],
} as const satisfies Partial<Record<Verdict['status'], readonly ResponseCode[]>>

export type ProviderFault = 'failed' | 'timedOut'

interface KycVerification {
  readonly kycToken: string
  readonly submission: Submission
  readonly images: Images
  /** How often the same request was refused before. */
  readonly attempt: number
}

/** One that was handed over. */
export interface OpenVerification {
  readonly kycToken: string
  readonly method: KycMethod
  readonly submission: Submission
  readonly submittedAtMs: number
  /** As it was said last. */
  readonly status: Verdict['status']
}

/** Who verifies people and businesses; Arbiter decides nothing of it but whether names agree. */
export interface KycProvider {
  readonly name: 'sandbox' | 'http'
  /** Safe to repeat with the same token. */
  submit(verification: KycVerification): Promise<Verdict | ProviderFault>
  /** What it says by now; null when it knows nothing new. */
  ask(open: OpenVerification, nowMs: number): Promise<Verdict | ProviderFault | null>
  /** When to ask next; null: not any more, somebody will say. */
  nextMs(open: OpenVerification, nowMs: number): number | null
}
