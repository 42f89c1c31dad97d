import type { z } from 'zod'
import type { address } from '../management/address.ts'
import { plainName } from '../management/plain-name.ts'

/** How a person can be verified: by a number at once, by a document later. */
export const numberIdTypes = ['BVN', 'NIN', 'vNIN'] as const
export const documentIdTypes = [
  'PASSPORT',
  'NATIONAL_ID',
  'DRIVERS_LICENSE',
  'VOTERS_CARD',
  'GHANA_CARD',
] as const
export const idTypes = [...numberIdTypes, ...documentIdTypes] as const
export type IdType = (typeof idTypes)[number]
export type KycMethod = 'number' | 'document' | 'business'

type Address = z.output<typeof address>

/** What was said of a person. It is kept encrypted. */
export interface Individual {
  readonly idType: IdType
  readonly idNumber?: string | undefined
  readonly firstName?: string | undefined
  readonly middleName?: string | undefined
  readonly lastName?: string | undefined
  readonly dateOfBirth?: string | undefined
  readonly address?: Address | undefined
  readonly email?: string | undefined
  readonly phoneNumber?: string | undefined
}

interface Business {
  readonly businessName: string
  readonly registrationNumber: string
  readonly address: Address
  readonly email?: string | undefined
  readonly phoneNumber?: string | undefined
}

export type Submission =
  | { readonly method: 'number' | 'document'; readonly individualKyc: Individual }
  | { readonly method: 'business'; readonly businessKyc: Business }

/** Pictures of a document, in Base64, by the name of their field. */
export type Images = Readonly<Record<string, string>>

export function methodOf(idType: IdType): KycMethod {
  return (numberIdTypes as readonly string[]).includes(idType) ? 'number' : 'document'
}

/** What tells whose identity it is; null when nothing does. */
export function identityOf(given: Submission): { kind: string; number: string } | null {
  if (given.method === 'business') {
    return { kind: 'business', number: given.businessKyc.registrationNumber }
  }
  const { idType, idNumber } = given.individualKyc
  return idNumber === undefined ? null : { kind: idType, number: idNumber }
}

/** Of the holder of an identity number, as the provider knows it. */
export interface Holder {
  readonly firstName?: string | undefined
  readonly lastName?: string | undefined
  readonly dateOfBirth?: string | undefined
}

export type HolderFault = 'NAME_MISMATCH' | 'DATE_OF_BIRTH_MISMATCH'

/**
 * One of the holder's two names must equal one of the two that were supplied; a NIN needs an equal date of
 * birth too.
 */
export function holderFault(person: Individual, holder: Holder): HolderFault | null {
  const supplied = lettersOf(person.firstName, person.lastName)
  const held = lettersOf(holder.firstName, holder.lastName)
  if (!held.some((name) => supplied.includes(name))) return 'NAME_MISMATCH'
  if (person.idType === 'BVN' || !numberIdTypes.includes(person.idType as never)) return null
  return person.dateOfBirth === holder.dateOfBirth ? null : 'DATE_OF_BIRTH_MISMATCH'
}

/** Whether somebody could agree with it. */
export function namesSomebody({ firstName, lastName }: Holder): boolean {
  return lettersOf(firstName, lastName).length > 0
}

/** As people write them differently: without marks, case and anything that is no letter. */
function lettersOf(...names: readonly (string | undefined)[]): string[] {
  return names.flatMap((name = '') => {
    const letters = plainName(name).replace(/\P{L}/gu, '')
    return letters === '' ? [] : [letters]
  })
}
