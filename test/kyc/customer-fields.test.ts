import { expect, it } from 'vitest'
import { verifiedCustomer } from '../../src/kyc/customer-fields.ts'
import type { Kyc } from '../../src/kyc/kyc.ts'
import type { Holder, Individual } from '../../src/kyc/submission.ts'
import { customerFields } from '../../src/management/customer.ts'

const kyc = { organizationId: 'org-1', clientReference: 'user-1', kycToken: 'kyc_1' } as Kyc

/** Of what is said, or of a holder where nothing is; an import must take it again. */
function nameOf(said: Partial<Individual>, holder: Holder = {}): string {
  const submission = { method: 'document', individualKyc: { idType: 'PASSPORT', ...said } } as const
  const fields = verifiedCustomer(kyc, submission, 'cus_1', { status: 'Approved', holder })
  const row = JSON.parse(JSON.stringify(fields))
  expect(customerFields.safeParse(row).error).toBeUndefined()
  return row.name
}

it('a customer is called as its submission says, else as the provider does, else as its client does', () => {
  const said = { firstName: 'Ada', middleName: 'Uche', lastName: 'Obi' }
  const holder = { firstName: 'Chidi', lastName: 'Eze' }
  expect(nameOf(said, holder)).toBe('Ada Uche Obi')
  expect(nameOf({}, holder)).toBe('Chidi Eze')
  expect(nameOf({})).toBe('user-1')
})

it('a customer is called as an import takes it, however long its names are and whatever its provider says', () => {
  const long = 'x'.repeat(60)
  const said = { firstName: long, middleName: long, lastName: long }
  expect(nameOf(said)).toBe(`${long} ${long} ${'x'.repeat(58)}`)
  expect(nameOf({}, { firstName: 'A\u001b[2Jda\n', lastName: 'Obi\ud800' })).toBe('A [2Jda Obi')
  const faces = '\ud83d\ude00'.repeat(60)
  for (const length of [118, 119]) {
    const firstName = 'x'.repeat(length)
    expect(nameOf({}, { firstName, lastName: faces })).toBe(`${firstName} ${faces.slice(0, 60)}`)
  }
  expect(nameOf({}, { firstName: '\n', lastName: '\u0000' })).toBe('user-1')
})
