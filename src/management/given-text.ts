import { z } from 'zod'

const control = /\p{Cc}/u

function withoutControls(text: z.ZodString): z.ZodString {
  return text.refine((given) => !control.test(given), 'must have no control characters')
}

/** A text for people. What moves the cursor of a terminal, or ends a part of a key, is in none. */
export const givenText = (max: number) => withoutControls(z.string().max(max))

/** One that says something, without the spaces around it. */
export const filledText = (max: number) => withoutControls(z.string().trim().min(1).max(max))
