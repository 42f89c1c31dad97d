import { z } from 'zod'
import { imageProblem } from '../../kyc/image.ts'
import { documentIdTypes, type IdType, idTypes, methodOf } from '../../kyc/submission.ts'
import { address } from '../../management/address.ts'
import { filledText } from '../../management/given-text.ts'
import { type Refused, refuse, refuseField } from '../condition.ts'
import { fieldConditions } from '../input.ts'

/** What is said of a person or a business that is to be verified. */

export const clientReference = filledText(64)
const contact = { email: filledText(254).optional(), phoneNumber: filledText(32).optional() }

const dateOfBirth = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/, 'must be a date as 1990-01-31')
  .refine(isDate, 'must be a date as 1990-01-31')
  .register(fieldConditions, { condition: 'dateMalformed' })

/** A day that the calendar has. */
function isDate(given: string): boolean {
  const date = new Date(`${given}T00:00:00Z`)
  return !Number.isNaN(date.valueOf()) && date.toISOString().startsWith(given)
}

const image = z.string().superRefine((given, check) => {
  const problem = imageProblem(given)
  if (problem !== '') check.addIssue({ code: 'custom', message: problem })
})
const imageText = 'a PNG, JPEG, WebP or PDF of at most 4 MiB in Base64, or as a data URI'
const ofNumbers = 'Required for BVN, NIN and vNIN'

export const individualKyc = z.object({
  idType: z.enum(idTypes),
  idNumber: filledText(32)
    .optional()
    .describe(
      `${ofNumbers}: 11 digits, or 16 letters and digits of a vNIN; GHA-123456789-0 of a GHANA_CARD`,
    ),
  idFrontImage: image
    .optional()
    .describe(`Required for documents, and for these only: ${imageText}`),
  idBackImage: image.optional().describe(`For documents only: ${imageText}`),
  firstName: filledText(60).optional().describe(ofNumbers),
  middleName: filledText(60).optional(),
  lastName: filledText(60).optional().describe(ofNumbers),
  dateOfBirth: dateOfBirth.optional().describe('Required for NIN and vNIN'),
  address: address.optional().describe(`${ofNumbers}, there in NG; in GH for a GHANA_CARD`),
  ...contact,
})

export const businessKyc = z.object({
  businessName: filledText(120),
  registrationNumber: filledText(40),
  address,
  ...contact,
})

type GivenIndividual = z.output<typeof individualKyc>

const numberPatterns: Readonly<Partial<Record<IdType, RegExp>>> = {
  BVN: /^\d{11}$/,
  NIN: /^\d{11}$/,
  vNIN: /^[A-Za-z0-9]{16}$/,
  GHANA_CARD: /^GHA-\d{9}-\d$/,
}

/** What one field demands of another, in the order of the contract's table. */
export function individualProblem(person: GivenIndividual, nowMs: number): Refused | null {
  const { idType, idNumber, dateOfBirth } = person
  const isNumber = methodOf(idType) === 'number'
  const missing = (
    isNumber
      ? ([
          'idNumber',
          'firstName',
          'lastName',
          ...(idType === 'BVN' ? [] : ['dateOfBirth']),
          'address',
        ] as const)
      : (['idFrontImage'] as const)
  ).find((name) => person[name as keyof GivenIndividual] === undefined)
  if (missing !== undefined) return wrong('fieldMissing', missing, `is required for ${idType}`)
  const pattern = numberPatterns[idType]
  if (idNumber !== undefined && pattern?.test(idNumber) === false) {
    return wrong('bodyMalformed', 'idNumber', `is no ${idType}`)
  }
  const picture = isNumber && (['idFrontImage', 'idBackImage'] as const).find((one) => person[one])
  if (picture) return wrong('fieldNotAllowed', picture, `is for ${documentIdTypes.join(', ')} only`)
  if (dateOfBirth !== undefined && Date.parse(dateOfBirth) >= nowMs) {
    return wrong('dateMalformed', 'dateOfBirth', 'must be in the past')
  }
  return null
}

export function countryProblem({ idType, address }: GivenIndividual): Refused | null {
  const needed = methodOf(idType) === 'number' ? 'NG' : idType === 'GHANA_CARD' ? 'GH' : null
  if (needed === null || address === undefined || address.country === needed) return null
  return refuse('countryNotSupported', `address.country must be ${needed} for ${idType}`)
}

function wrong(
  condition: 'fieldMissing' | 'fieldNotAllowed' | 'bodyMalformed' | 'dateMalformed',
  name: string,
  message: string,
): Refused {
  return refuseField(condition, `individualKyc.${name}`, message)
}
