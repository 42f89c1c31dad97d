import type { CardEvent } from '../domain/record/event.ts'
import { parseMinor } from '../domain/record/money.ts'

/** An HTTP answer as it came. */
export interface RelayAnswer {
  readonly status: number
  readonly text: string
  readonly ms: number
}

/** The decision in an answer. */
export interface ReadAnswer {
  readonly approved: boolean
  readonly approvedMinor: number
  readonly code: string
}

/** Nothing was done for now, and the same event may be sent again. */
export function isToRepeat({ status }: RelayAnswer): boolean {
  return status >= 500 || status === 408 || status === 429
}

/** null when the event should be sent again: nothing came, or 408, 429 or a 5xx did. */
export function readAnswer(event: CardEvent, answered: RelayAnswer | null): ReadAnswer | null {
  if (answered === null || isToRepeat(answered)) return null
  try {
    const { decision, responseCode, approvedAmount } = JSON.parse(answered.text)
    const asked = event.amountMinor ?? 0
    const partial =
      approvedAmount === undefined ? asked : parseMinor(String(approvedAmount), event.currency)
    const approvedMinor = typeof partial === 'number' ? partial : asked
    return { approved: decision === 'approve', approvedMinor, code: String(responseCode) }
  } catch {
    return null
  }
}
