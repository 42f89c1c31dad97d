import type { KycProvider, OpenVerification, Verdict } from './provider.ts'
import { identityOf, type Submission } from './submission.ts'

const rejected = (kycCode: string, rejectType: 'FINAL' | 'RETRY', label: string): Verdict => ({
  status: 'Rejected',
  kycCode,
  rejectType,
  rejectLabels: [label],
})

const verdicts: Readonly<Record<string, Verdict>> = {
  '0001': rejected('185', 'FINAL', 'ID_NOT_FOUND'),
  '0002': rejected('182', 'FINAL', 'NAME_MISMATCH'),
  '0003': rejected('182', 'RETRY', 'DATE_OF_BIRTH_MISMATCH'),
  '0004': rejected('184', 'RETRY', 'ADDRESS_MISMATCH'),
  '0005': rejected('305', 'FINAL', 'SANCTIONS'),
}
const slow = ['0006', '0007']
const reviewed = '0008'

/** Results by the last four characters of a number, for tests of an integration. */
export function createSandboxProvider(delayMs: number): KycProvider {
  // A whole number: it is kept with the verification.
  const halfMs = Math.ceil(delayMs / 2)
  const stepMs = ({ submission }: OpenVerification) =>
    (slow.includes(endingOf(submission)) ? delayMs : halfMs) || 1

  return {
    name: 'sandbox',
    async submit({ submission, attempt }) {
      if (submission.method !== 'number') return { status: 'Initiated' }
      const ending = endingOf(submission)
      if (ending === '0006' && attempt === 0) return 'failed'
      if (ending === '0007' && attempt === 0) return 'timedOut'
      const { firstName, lastName, dateOfBirth } = submission.individualKyc
      const other = { firstName: 'Other', lastName: 'Person', dateOfBirth }
      if (ending === '0002') return { status: 'Approved', holder: other }
      const verdict = verdicts[ending] ?? { status: 'Approved' as const }
      return { ...verdict, holder: { firstName, lastName, dateOfBirth } }
    },
    async ask(open, nowMs) {
      const passedMs = nowMs - open.submittedAtMs
      if (passedMs < stepMs(open)) return null
      const ending = endingOf(open.submission)
      if (ending === reviewed) return { status: 'Pending', kycCode: '183' }
      // Also when nobody asked in time: a test of an integration waits for each word.
      const isPendingNext = passedMs < 2 * stepMs(open) || open.status === 'Initiated'
      if (isPendingNext) return { status: 'Pending' }
      return verdicts[ending] ?? { status: 'Approved' }
    },
    nextMs(open, nowMs) {
      const passedMs = nowMs - open.submittedAtMs
      // One that was handed over late has not been told as Pending yet, however long ago it was submitted.
      if (endingOf(open.submission) === reviewed && open.status === 'Pending') return null
      return open.submittedAtMs + (passedMs < stepMs(open) ? 1 : 2) * stepMs(open)
    },
  }
}

function endingOf(submission: Submission): string {
  return identityOf(submission)?.number.slice(-4) ?? ''
}
