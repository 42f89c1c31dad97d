import { describe, expect, it } from 'vitest'
import { afterVerdict, decodeKyc, judgeVerdict, type Kyc, kycStatuses } from '../../src/kyc/kyc.ts'
import type { Submission } from '../../src/kyc/submission.ts'

const address = { line1: '1 Marina', city: 'Lagos', state: 'Lagos', country: 'NG' }
const business: Submission = {
  method: 'business',
  businessKyc: { businessName: 'Acme', registrationNumber: 'RC1', address },
}
const kycAt = (status: Kyc['status']): Kyc => ({
  format: 1,
  kycToken: 'kyc_1',
  organizationId: 'org-1',
  clientReference: 'biz-1',
  method: 'business',
  status,
  customerId: status === 'Approved' ? 'cus_0' : '',
  kycCode: '',
  rejectType: '',
  rejectLabels: [],
  submittedAtMs: 1,
  completedAtMs: null,
  sequence: 3,
  sealed: '',
  isHandedOver: true,
  imageParts: 0,
  dueMs: 5,
  isApproving: false,
})

/** Where a word of the provider leads from a state; all others change nothing. */
const leads: Readonly<Record<Kyc['status'], readonly Kyc['status'][]>> = {
  Initiated: ['Pending', 'Approved', 'Rejected'],
  Pending: ['Approved', 'Rejected'],
  Approved: [],
  Rejected: [],
}

describe('a verification', () => {
  for (const from of kycStatuses) {
    it.each(kycStatuses)(`that is ${from} goes on by %s as the table of states says`, (status) => {
      const after = afterVerdict(kycAt(from), judgeVerdict({ status }, business), 'cus_1', 9)
      if (!leads[from].includes(status)) return expect(after).toBeNull()
      const isOver = status !== 'Pending'
      expect(after).toMatchObject({
        status,
        customerId: status === 'Approved' ? 'cus_1' : '',
        completedAtMs: isOver ? 9 : null,
        dueMs: isOver ? null : 5,
        sequence: 4,
      })
    })
  }
})

describe('what a provider says', () => {
  it('has a code of the table, or the plain one of its status', () => {
    const codeOf = (status: Kyc['status'], kycCode?: string) =>
      judgeVerdict({ status, kycCode }, business).kycCode
    for (const code of ['180', '181', '182', '184', '185', '305', '306', '307']) {
      expect(codeOf('Rejected', code)).toBe(code)
    }
    expect(codeOf('Rejected', '999')).toBe('180')
    expect(codeOf('Rejected')).toBe('180')
    expect(codeOf('Approved', '185')).toBe('000')
    expect([codeOf('Pending', '183'), codeOf('Pending', '000')]).toEqual(['183', ''])
  })

  it('has up to twenty labels that are words and no identity number, and a type that is known', () => {
    const words = Array.from({ length: 25 }, (_, i) => `LABEL_${i}`)
    const rejectLabels = ['not a word', '22200000100 belongs to Ada', ...words]
    const judged = judgeVerdict({ status: 'Rejected', rejectType: 'MAYBE', rejectLabels }, business)
    expect(judged).toMatchObject({ rejectType: '', rejectLabels: words.slice(0, 20) })
    const person = { idType: 'BVN', idNumber: '22200000100', address } as const
    const submission: Submission = { method: 'number', individualKyc: person }
    const told = ['22200000100', 'BVN_22200000100', '222_000_00100', 'BVN_0100']
    const hidden = judgeVerdict({ status: 'Rejected', rejectLabels: told }, submission)
    expect(hidden.rejectLabels).toEqual(['BVN_0100'])
    const retry = judgeVerdict({ status: 'Rejected', rejectType: 'RETRY' }, business)
    expect(retry).toMatchObject({ rejectType: 'RETRY', rejectLabels: [] })
  })
})

it('is read with the half of a millisecond that sandboxes of earlier releases wrote', () => {
  const halved = { ...kycAt('Initiated'), dueMs: 150.5 }
  expect(decodeKyc(JSON.stringify(halved))).toEqual(halved)
})
