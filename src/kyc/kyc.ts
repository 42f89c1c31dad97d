import { z } from 'zod'
import { indexes, kycAggregate, timeSortKey } from '../engine/format/layout.ts'
import { newestFirst } from '../engine/format/newest-first.ts'
import { parseStored, RecordUnreadable } from '../engine/format/row-codec.ts'
import type { SecretBox } from '../management/secret-box.ts'
import type { IndexEntryPut, Store } from '../store/port.ts'
import type { EventType } from '../webhook/event-type.ts'
import { kycCodes, type Verdict } from './provider.ts'
import { holderFault, identityOf, type Submission } from './submission.ts'

export const kycStatuses = ['Initiated', 'Pending', 'Approved', 'Rejected'] as const
export const kycMethods = ['number', 'document', 'business'] as const
export const rejectTypes = ['FINAL', 'RETRY'] as const

/** One verification of a person or a business. */
const record = z.object({
  format: z.literal(1),
  kycToken: z.string(),
  organizationId: z.string(),
  clientReference: z.string(),
  method: z.enum(kycMethods),
  status: z.enum(kycStatuses),
  /** '' until it is approved. */
  customerId: z.string(),
  kycCode: z.string(),
  rejectType: z.enum(['', ...rejectTypes]),
  rejectLabels: z.array(z.string()),
  submittedAtMs: z.int(),
  completedAtMs: z.int().nullable(),
  /** How often it changed. */
  sequence: z.int(),
  /** What was said of the subject, encrypted. */
  sealed: z.string(),
  /** Whether the provider has it; until then its pictures are kept, in so many parts. */
  isHandedOver: z.boolean(),
  imageParts: z.int(),
  /** When to look at it again; null: not by itself. Sandboxes of earlier releases wrote halves of a millisecond. */
  dueMs: z.number().nullable(),
  /** Whether its approval is decided, and only its customer has yet to be made: no other word counts from here on. */
  isApproving: z.boolean().default(false),
  /** Of the call that ended it, where one did: its retry finds its own verdict. */
  endedBy: z.string().optional(),
})

export type Kyc = Readonly<z.output<typeof record>>

/** Throws RecordUnreadable. '' is left by a request that was refused. */
export function decodeKyc(value: string): Kyc | null {
  if (value === '') return null
  const found = record.safeParse(parseStored(value))
  if (found.success) return found.data
  throw new RecordUnreadable('a KYC was written by a newer release')
}

export async function readKyc(store: Store, kycToken: string): Promise<Kyc | null> {
  const [found] = await store.load([{ aggregate: kycAggregate(kycToken), group: '', id: '' }])
  return found === undefined ? null : decodeKyc(found.value)
}

const sealPlace = (kycToken: string) => ({ kind: 'kyc', id: kycToken, field: 'submission' })

export function sealSubmission(given: Submission, kycToken: string, box: SecretBox): string {
  return box.seal(sealPlace(kycToken), JSON.stringify(given))
}

/** null when no key opens it. */
export function submissionOf({ kycToken, sealed }: Kyc, box: SecretBox): Submission | null {
  const text = box.open(sealPlace(kycToken), sealed)
  return text === null ? null : (JSON.parse(text) as Submission)
}

/** The same, sealed with the key that seals now; null when no key opens it. */
export function rewrappedKyc(kyc: Kyc, box: SecretBox): Kyc | null {
  const given = submissionOf(kyc, box)
  return given === null ? null : { ...kyc, sealed: sealSubmission(given, kyc.kycToken, box) }
}

export function isFinal({ status }: Pick<Kyc, 'status'>): boolean {
  return status === 'Approved' || status === 'Rejected'
}

/** Its provider has it: its pictures are not needed any more. */
export function handedOver(kyc: Kyc, endedBy = kyc.endedBy): Kyc {
  return { ...kyc, isHandedOver: true, imageParts: 0, endedBy }
}

const rejectCodes: readonly string[] = kycCodes.Rejected
const maxLabels = 20
/** What is shown of an identity number anyway, so that a shorter one needs no hiding. */
const shownLast = 4

/** What counts of a verdict: names that do not agree reject, whatever the provider says. */
export function judgeVerdict(verdict: Verdict, submission: Submission): Verdict {
  const { status, holder } = verdict
  if (status === 'Pending') return { status, kycCode: verdict.kycCode === '183' ? '183' : '' }
  if (status === 'Initiated') return { status }
  if (status === 'Approved') {
    const person = submission.method === 'number' ? submission.individualKyc : null
    const fault = person === null || holder === undefined ? null : holderFault(person, holder)
    if (fault === null) return { status, kycCode: '000' }
    const rejectType = fault === 'NAME_MISMATCH' ? 'FINAL' : 'RETRY'
    return { status: 'Rejected', kycCode: '182', rejectType, rejectLabels: [fault] }
  }
  const { kycCode = '', rejectType, rejectLabels = [] } = verdict
  const isWord = (label: string) => /^[A-Z0-9_]{1,40}$/.test(label) && !tells(label, submission)
  const labels = rejectLabels.filter(isWord)
  return {
    status,
    kycCode: rejectCodes.includes(kycCode) ? kycCode : '180',
    rejectType: rejectTypes.find((type) => type === rejectType) ?? '',
    rejectLabels: labels.slice(0, maxLabels),
  }
}

/** What to tell of a word after the last one; '' where it is that again, or a Pending that comes late. */
export function laterWord(kyc: Kyc, verdict: Verdict, submission: Submission | null): string {
  const { status } = submission === null ? verdict : judgeVerdict(verdict, submission)
  if (status === kyc.status || status === 'Pending') return ''
  return `KYC ${kyc.kycToken} is ${kyc.status}: its provider says ${status} now, which changes nothing`
}

/** Whether it has the identity number in it: labels are kept, shown and sent as they are. */
function tells(label: string, submission: Submission): boolean {
  const plain = (text: string) => text.toUpperCase().replace(/[^A-Z0-9]/g, '')
  const number = plain(identityOf(submission)?.number ?? '')
  return number.length > shownLast && plain(label).includes(number)
}

/** Nothing leaves a final state, and nothing goes back; null when nothing changes. */
export function afterVerdict(
  kyc: Kyc,
  verdict: Verdict,
  customerId: string,
  nowMs: number,
): Kyc | null {
  const isDecided = isFinal(kyc) || (kyc.isApproving && verdict.status !== 'Approved')
  if (isDecided || verdict.status === 'Initiated') return null
  const { status, kycCode = '', rejectType = '', rejectLabels = [] } = verdict
  if (status === kyc.status && kycCode === kyc.kycCode) return null
  const ended = isFinal({ status })
  return {
    ...kyc,
    status,
    kycCode,
    customerId: status === 'Approved' ? customerId : '',
    rejectType: rejectType as Kyc['rejectType'],
    rejectLabels: [...rejectLabels],
    completedAtMs: ended ? nowMs : null,
    dueMs: ended ? null : kyc.dueMs,
    isApproving: false,
    sequence: kyc.sequence + 1,
  }
}

/** For the API and webhooks; an identity number is nowhere in it. */
export function shownKyc(kyc: Kyc) {
  const { kycCode, customerId, rejectType, rejectLabels, completedAtMs } = kyc
  return {
    kycToken: kyc.kycToken,
    clientReference: kyc.clientReference,
    method: kyc.method,
    status: kyc.status,
    ...(customerId !== '' && { customerId }),
    ...(kycCode !== '' && { kycCode }),
    ...(kyc.status === 'Rejected' && rejectType !== '' && { rejectType }),
    ...(kyc.status === 'Rejected' && rejectLabels.length > 0 && { rejectLabels }),
    submittedAt: new Date(kyc.submittedAtMs).toISOString(),
    completedAt: completedAtMs === null ? null : new Date(completedAtMs).toISOString(),
  }
}

export function eventTypeOf({ status }: Kyc): EventType | null {
  if (status === 'Initiated') return null
  return `kyc.${status.toLowerCase()}` as EventType
}

export function listedKyc({ organizationId, submittedAtMs, kycToken }: Kyc): IndexEntryPut {
  const sortKey = [organizationId, newestFirst(submittedAtMs), kycToken].join('\n')
  return { index: indexes.kycs, sortKey, value: kycToken }
}

export function dueKyc({ dueMs, kycToken }: Kyc): IndexEntryPut[] {
  if (dueMs === null) return []
  const sortKey = timeSortKey(dueMs, kycToken)
  return [{ index: indexes.kycsDue, sortKey, value: kycToken }]
}
