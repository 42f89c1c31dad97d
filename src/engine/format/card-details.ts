import { z } from 'zod'
import type { ChildPut } from '../../store/port.ts'
import { cardDetailsKey } from './layout.ts'
import { parseStored, RecordUnreadable } from './row-codec.ts'

/** As it was checked when it was given. */
export const keptAddress = z.object({
  line1: z.string(),
  line2: z.string().optional(),
  city: z.string(),
  state: z.string(),
  postalCode: z.string().optional(),
  country: z.string(),
})

/** What is shown of a card besides what decides. */
const details = z.object({
  format: z.literal(1),
  /** '' where nobody said. */
  nameOnCard: z.string(),
  address: keptAddress.nullable(),
  metadata: z.record(z.string(), z.string()),
  /** The first six and the last four digits; '' where there is no number. */
  maskedPan: z.string(),
})

export type CardDetails = Readonly<z.output<typeof details>>

/** Of a card that was imported. */
export const noDetails: CardDetails = {
  format: 1,
  nameOnCard: '',
  address: null,
  metadata: {},
  maskedPan: '',
}

export function decodeDetails(value: string | null): CardDetails {
  if (value === null) return noDetails
  const found = details.safeParse(parseStored(value))
  if (found.success) return found.data
  throw new RecordUnreadable('the details of a card were written by a newer release')
}

export function putDetails(cardId: string, given: CardDetails): ChildPut {
  return { ...cardDetailsKey(cardId), value: JSON.stringify(given) }
}
