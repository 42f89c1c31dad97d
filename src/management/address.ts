import { z } from 'zod'
import { isCountry } from '../wire/country.ts'
import { filledText, givenText } from './given-text.ts'

/** Clients of the service write these two as words. */
const countryNames: Readonly<Record<string, string>> = { Nigeria: 'NG', Ghana: 'GH' }

const must = 'must be an ISO 3166 alpha-2 country'

/** The pattern is for those who read the description; the list has the last word. */
const code = z
  .string()
  .regex(/^[A-Z]{2}$/, { error: must, abort: true })
  .refine(isCountry, must)

const country = z
  .string()
  .describe('ISO 3166 alpha-2')
  .transform((text) => countryNames[text] ?? text)
  .pipe(code)

/** Of a customer, and of a card where it differs. */
export const address = z.object({
  line1: filledText(100),
  line2: givenText(100).optional(),
  city: filledText(60),
  state: filledText(60),
  postalCode: givenText(16).optional(),
  country,
})
