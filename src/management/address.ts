import { z } from 'zod'

/** Clients of the service write these two as words. */
const countryNames: Readonly<Record<string, string>> = { Nigeria: 'NG', Ghana: 'GH' }

const country = z
  .string()
  .transform((text) => countryNames[text] ?? text)
  .pipe(z.string().regex(/^[A-Z]{2}$/, 'an ISO 3166 alpha-2 country'))

const text = (max: number) => z.string().trim().min(1).max(max)

/** Of a customer, and of a card where it differs. */
export const address = z.object({
  line1: text(100),
  line2: z.string().max(100).optional(),
  city: text(60),
  state: text(60),
  postalCode: z.string().max(16).optional(),
  country,
})
