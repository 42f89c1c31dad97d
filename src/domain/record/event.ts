/** Asks may be declined; advices tell what has already happened and are always acknowledged. */
export const requestTypes = {
  Authorization: 'ask',
  PreAuthorization: 'ask',
  CashWithdrawal: 'ask',
  Settlement: 'advice',
  PartialReversal: 'advice',
  Reversal: 'advice',
  Refund: 'advice',
} as const

export type RequestType = keyof typeof requestTypes

export interface Merchant {
  readonly mid: string
  readonly mcc: string
  readonly name: string
  readonly city: string
  readonly country: string
}

/** How an ask was verified, and what else its relay may say: facts for rules, never booked. */
export const detailNames = [
  'wallet',
  'token',
  'pin',
  'cvc',
  'avs',
  'threeDs',
  'liability',
  'initiator',
  'state',
  'postalCode',
  'location',
  'cashAmount',
  'riskScore',
] as const

/** By `detailNames`, and `metadata.NAME`; what was not said is not there. */
export type EventDetails = Readonly<Record<string, string>>

export const metadataPrefix = 'metadata.'
export const maxMetadata = 20
export const maxDetailChars = 100

/** The name of something that the relay's operator adds, such as basket_id. */
export function isMetadataName(name: string): boolean {
  return /^[a-z][a-z0-9_]{0,39}$/.test(name)
}

/** One message from the relay. An absent optional text is '', an absent time is 0. */
export interface CardEvent {
  readonly eventId: string
  readonly requestType: RequestType
  readonly transactionId: string
  readonly originalTransactionId: string
  readonly cardId: string
  /** null only for a Reversal, which voids whatever its amount. */
  readonly amountMinor: number | null
  readonly currency: string
  readonly final: boolean | null
  readonly partialApprovalSupported: boolean
  readonly merchant: Merchant
  readonly channel: string
  readonly entryMode: string
  readonly merchantAmountMinor: number
  readonly merchantCurrency: string
  readonly occurredAtMs: number
  /** The organization whose own address it came to; absent where it came to the common one. */
  readonly organizationId?: string
  /** Absent where nothing of it was said. */
  readonly details?: EventDetails
}

export function isAsk(event: CardEvent): boolean {
  return requestTypes[event.requestType] === 'ask'
}

/** Relays fill a missing transaction id with nothing or with zeros. */
export function isAbsentId(id: string): boolean {
  for (let i = 0; i < id.length; i++) if (id.charCodeAt(i) !== 48) return false
  return true
}

/**
 * The hash of all that must be equal in two deliveries of one event. The other fields may change in a
 * retry. Two 32-bit mixes make 64 bits: this tells a retry from a mistake, it guards no secret.
 */
export function contentHash(event: CardEvent): string {
  const { requestType, cardId, transactionId, originalTransactionId, amountMinor, currency } = event
  const amount = amountMinor === null ? '' : String(amountMinor)
  const final = event.final === null ? '' : event.final ? 'y' : 'n'
  return hashOf([
    requestType,
    cardId,
    transactionId,
    originalTransactionId,
    amount,
    currency,
    final,
  ])
}

/** A 64-bit text hash in hexadecimal, the same on every machine. */
export function hash64(text: string): string {
  return hashOf([text])
}

const lineBreak = 10

/** The hash of the texts joined by line breaks, without joining them. */
function hashOf(texts: readonly string[]): string {
  let a = 0xdeadbeef
  let b = 0x41c6ce57
  for (let n = 0; n < texts.length; n++) {
    if (n > 0) {
      a = Math.imul(a ^ lineBreak, 0x9e3779b1)
      b = Math.imul(b ^ lineBreak, 0x5f356495)
    }
    const text = texts[n]!
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      a = Math.imul(a ^ code, 0x9e3779b1)
      b = Math.imul(b ^ code, 0x5f356495)
    }
  }
  a = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ Math.imul(b ^ (b >>> 13), 0xc2b2ae35)
  b = Math.imul(b ^ (b >>> 16), 0x85ebca6b) ^ Math.imul(a ^ (a >>> 13), 0xc2b2ae35)
  return hexOf(a, b)
}

const digits = Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0))

/** Every event is hashed: in one call it takes a third of what toString and padStart take. */
function hexOf(a: number, b: number): string {
  const at = (value: number, bits: number) => digits[(value >>> bits) & 15]!
  return String.fromCharCode(
    at(a, 28),
    at(a, 24),
    at(a, 20),
    at(a, 16),
    at(a, 12),
    at(a, 8),
    at(a, 4),
    at(a, 0),
    at(b, 28),
    at(b, 24),
    at(b, 20),
    at(b, 16),
    at(b, 12),
    at(b, 8),
    at(b, 4),
    at(b, 0),
  )
}
