import { z } from 'zod'
import { filledText, givenText } from './given-text.ts'

/** Clients of the service write these two as words. */
const countryNames: Readonly<Record<string, string>> = { Nigeria: 'NG', Ghana: 'GH' }

const country = z
  .string()
  .transform((text) => countryNames[text] ?? text)
  .pipe(z.string().regex(/^[A-Z]{2}$/, 'must be an ISO 3166 alpha-2 country'))

/** Of a customer, and of a card where it differs. */
export const address = z.object({
  line1: filledText(100),
  line2: givenText(100).optional(),
  city: filledText(60),
  state: filledText(60),
  postalCode: givenText(16).optional(),
  country,
})
