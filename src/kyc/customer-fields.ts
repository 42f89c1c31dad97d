import { type CustomerFields, maxCustomerName } from '../management/customer.ts'
import type { Kyc } from './kyc.ts'
import type { Verdict } from './provider.ts'
import type { Submission } from './submission.ts'

/** What a customer is known by; of an identity number its last four characters. */
export function verifiedCustomer(
  kyc: Kyc,
  submission: Submission,
  customerId: string,
  { holder }: Verdict,
): CustomerFields {
  const { organizationId, clientReference, kycToken } = kyc
  const base = { customerId, organizationId, clientReference, kycToken }
  if (submission.method === 'business') {
    const { businessName: name, registrationNumber, ...rest } = submission.businessKyc
    return { ...base, type: 'business', name, ...lastFour(registrationNumber), ...rest }
  }
  const { idType, idNumber = '', address, email, phoneNumber } = submission.individualKyc
  const { firstName, middleName, lastName } = submission.individualKyc
  const given = [firstName, middleName, lastName].filter((part) => part !== undefined)
  const held = [holder?.firstName, holder?.lastName].filter((part) => part !== undefined)
  const name = keptName((given.length > 0 ? given : held).join(' ')) || clientReference
  const contact = { address, email, phoneNumber }
  return { ...base, type: 'individual', name, idType, ...lastFour(idNumber), ...contact }
}

/** As an import takes it: three names are longer together, and a provider may say anything of a holder. */
function keptName(name: string): string {
  const cut = name.trim().slice(0, maxCustomerName)
  // The second half of a character may have been cut off, too.
  return cut.replace(/\s*[\p{Cc}\p{Cs}]+\s*/gu, ' ').trim()
}

function lastFour(number: string): { idLast4?: string } {
  const characters = number.replace(/[^A-Za-z0-9]/g, '').slice(-4)
  return characters === '' ? {} : { idLast4: characters }
}
