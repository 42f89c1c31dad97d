import { createHmac, timingSafeEqual } from 'node:crypto'

/** Standard Webhooks 1.0: how what we send, and what a provider sends us, proves who it is from. */
const secretPrefix = 'whsec_'
const minSecretBytes = 16
const maxSecretBytes = 64
/** A message that is older, or younger than now, may be somebody's copy. */
const toleranceSeconds = 300

/** The bytes of a secret that is written `whsec_…`; null for any other text. */
export function readWebhookSecret(text: string): Buffer | null {
  if (!text.startsWith(secretPrefix)) return null
  const encoded = text.slice(secretPrefix.length)
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return null
  const bytes = Buffer.from(encoded, 'base64')
  const fits = bytes.length >= minSecretBytes && bytes.length <= maxSecretBytes
  return fits ? bytes : null
}

export function writeWebhookSecret(bytes: Buffer): string {
  return `${secretPrefix}${bytes.toString('base64')}`
}

/** One message, as its receiver tells a repetition from another. */
export interface SignedMessage {
  readonly id: string
  readonly body: string
  readonly atMs: number
}

/** Two secrets sign while one replaces the other. */
export function signedHeaders(
  { id, body, atMs }: SignedMessage,
  secrets: readonly Buffer[],
): Record<string, string> {
  const seconds = Math.floor(atMs / 1000)
  const signatures = secrets.map((secret) => `v1,${macOf(secret, id, seconds, body)}`)
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signatures.join(' '),
  }
}

/** Whether a message that came to us was signed with this secret, lately: by its bytes, whatever they say. */
export function isSignedBy(
  secret: Buffer,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  body: string | Buffer,
  nowMs: number,
): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': given } = headers
  if (typeof id !== 'string' || typeof time !== 'string' || typeof given !== 'string') return false
  if (id.length > 256 || given.length > 4_096 || !/^[0-9]{1,12}$/.test(time)) return false
  const expected = Buffer.from(macOf(secret, id, Number(time), body))
  let fits = false
  for (const each of given.split(' ')) {
    const mac = Buffer.from(each.startsWith('v1,') ? each.slice(3) : '')
    fits = (mac.length === expected.length && timingSafeEqual(mac, expected)) || fits
  }
  return fits && Math.abs(nowMs / 1000 - Number(time)) <= toleranceSeconds
}

function macOf(secret: Buffer, id: string, seconds: number, body: string | Buffer): string {
  const mac = createHmac('sha256', secret).update(`${id}.${seconds}.`)
  return mac.update(body).digest('base64')
}
