import {
  createHmac,
  createSecretKey,
  type KeyObject,
  randomUUID,
  timingSafeEqual,
} from 'node:crypto'
import type { RelayAuthentication } from '../config/config.ts'
import {
  type Authenticate,
  type AuthenticationRefusal,
  createAuthentication,
  createSigning,
  type Sign,
  signatureHeader,
  signatureWindowMs,
} from '../wire/authentication.ts'
import type { AuthenticationFile } from './file.ts'

export class AuthenticationMismatch extends Error {
  override readonly name = 'AuthenticationMismatch'
}

type Scheme = AuthenticationFile['scheme']

/** Which RELAY_AUTH a scheme goes with. mtls and none go with all: they do not look at the body. */
const modeOf: Readonly<Record<Exclude<Scheme, 'none'>, RelayAuthentication['mode']>> = {
  'arbiter-hmac': 'hmac',
  stripe: 'hmac',
  'standard-webhooks': 'hmac',
  basic: 'basic',
}

const maxHeaderChars = 1024
const maxSignatures = 8

/**
 * How this peer proves itself: RELAY_AUTH says by what, the profile in which form. Throws
 * AuthenticationMismatch when the two do not go together.
 */
export function createProfileAuthentication(
  file: AuthenticationFile,
  relay: RelayAuthentication,
): Authenticate {
  const { scheme } = file
  if (scheme === 'none' || relay.mode === 'mtls' || relay.mode === 'none') {
    return createAuthentication(relay)
  }
  if (modeOf[scheme] !== relay.mode) {
    throw new AuthenticationMismatch(
      `the relay profile needs RELAY_AUTH=${modeOf[scheme]} (its scheme is ${scheme}), and it is ${relay.mode}`,
    )
  }
  if (relay.mode !== 'hmac' || scheme === 'basic') return createAuthentication(relay)
  switch (scheme) {
    case 'arbiter-hmac':
      return createAuthentication(relay, headerOf(file, signatureHeader))
    case 'stripe':
      return createStripeCheck(relay.secrets, headerOf(file, stripeHeader))
    case 'standard-webhooks':
      return createStandardCheck(relay.secrets, standardHeaders(file))
  }
}

/** How this peer would sign, so that a sandbox can call as it does: what the above lets pass. */
export function createProfileSigning(file: AuthenticationFile, relay: RelayAuthentication): Sign {
  const { scheme } = file
  if (relay.mode !== 'hmac' || scheme === 'none' || scheme === 'basic') return createSigning(relay)
  if (scheme === 'arbiter-hmac') return createSigning(relay, headerOf(file, signatureHeader))
  const secret = relay.secrets[0] ?? ''
  const key = scheme === 'stripe' ? createSecretKey(secret, 'utf8') : readStandardSecret(secret)
  const macOf = (text: string) => createHmac('sha256', key).update(text)
  if (scheme === 'stripe') {
    const header = headerOf(file, stripeHeader)
    return (body, nowMs) => {
      const seconds = Math.floor(nowMs / 1000)
      return { [header]: `t=${seconds},v1=${macOf(`${seconds}.${body}`).digest('hex')}` }
    }
  }
  const names = standardHeaders(file)
  return (body, nowMs) => {
    const [id, seconds] = [`msg_${randomUUID()}`, String(Math.floor(nowMs / 1000))]
    const signature = `v1,${macOf(`${id}.${seconds}.${body}`).digest('base64')}`
    return { [names.id]: id, [names.timestamp]: seconds, [names.signature]: signature }
  }
}

const stripeHeader = 'stripe-signature'

function headerOf({ header }: AuthenticationFile, usual: string): string {
  return (header ?? usual).toLowerCase()
}

interface StandardHeaders {
  readonly id: string
  readonly timestamp: string
  readonly signature: string
}

function standardHeaders(file: AuthenticationFile): StandardHeaders {
  return {
    id: (file.idHeader ?? 'webhook-id').toLowerCase(),
    timestamp: (file.timestampHeader ?? 'webhook-timestamp').toLowerCase(),
    signature: headerOf(file, 'webhook-signature'),
  }
}

/** `t=<unix seconds>,v1=<hex>`, over the time, a dot and the body; several v1 while a secret changes. */
function createStripeCheck(secrets: readonly string[], headerName: string): Authenticate {
  const keys = secrets.map((secret) => createSecretKey(secret, 'utf8'))
  return (headers, rawBody, nowMs) => {
    const header = headers[headerName]
    if (header === undefined || header === '') return refuse('signature missing')
    const parts = typeof header === 'string' ? readStripeHeader(header) : null
    if (parts === null) return refuse('signature wrong')
    const stale = checkTime(parts.seconds, nowMs)
    if (stale !== null) return stale
    return isSigned(keys, [`${parts.seconds}.`, rawBody], parts.signatures)
      ? null
      : refuse('signature wrong')
  }
}

function readStripeHeader(header: string): { seconds: string; signatures: Buffer[] } | null {
  if (header.length > maxHeaderChars) return null
  let seconds = ''
  const signatures: Buffer[] = []
  for (const part of header.split(',')) {
    const [, name, value] = /^\s*([a-z0-9]{1,8})=([0-9a-zA-Z]{1,128})\s*$/.exec(part) ?? []
    if (name === undefined || value === undefined) return null
    if (name === 't') {
      // Two times would leave open which one is signed.
      if (seconds !== '' || !/^[0-9]{1,12}$/.test(value)) return null
      seconds = value
    } else if (name === 'v1') {
      if (!/^[0-9a-fA-F]{64}$/.test(value)) return null
      signatures.push(Buffer.from(value, 'hex'))
    }
  }
  if (seconds === '' || signatures.length === 0 || signatures.length > maxSignatures) return null
  return { seconds, signatures }
}

/** The Standard Webhooks: base64 signatures over id, time and body, separated by dots. */
function createStandardCheck(secrets: readonly string[], names: StandardHeaders): Authenticate {
  const keys = secrets.map(readStandardSecret)
  return (headers, rawBody, nowMs) => {
    const id = headers[names.id]
    const seconds = headers[names.timestamp]
    const header = headers[names.signature]
    if (!id || !seconds || !header) return refuse('signature missing')
    if (typeof id !== 'string' || typeof seconds !== 'string' || typeof header !== 'string') {
      return refuse('signature wrong')
    }
    if (id.length > 256 || !/^[0-9]{1,12}$/.test(seconds)) return refuse('signature wrong')
    const signatures = readStandardHeader(header)
    if (signatures === null) return refuse('signature wrong')
    const stale = checkTime(seconds, nowMs)
    if (stale !== null) return stale
    return isSigned(keys, [`${id}.${seconds}.`, rawBody], signatures)
      ? null
      : refuse('signature wrong')
  }
}

/** `whsec_` and base64, the prefix may be left out. */
function readStandardSecret(secret: string): KeyObject {
  const encoded = secret.startsWith('whsec_') ? secret.slice(6) : secret
  if (!/^[A-Za-z0-9+/]{16,}={0,2}$/.test(encoded)) {
    throw new AuthenticationMismatch(
      'the relay profile needs RELAY_SECRET in base64, as the peer shows it (whsec_…)',
    )
  }
  return createSecretKey(Buffer.from(encoded, 'base64'))
}

function readStandardHeader(header: string): Buffer[] | null {
  if (header.length > maxHeaderChars) return null
  const signatures: Buffer[] = []
  for (const part of header.split(' ')) {
    // Other versions stand beside ours while a peer changes.
    if (!part.startsWith('v1,')) continue
    const signature = Buffer.from(part.slice(3), 'base64')
    if (signature.length !== 32) return null
    signatures.push(signature)
  }
  return signatures.length === 0 || signatures.length > maxSignatures ? null : signatures
}

/** Before the comparison: told afterwards, an old signature would be known to be a true one. */
function checkTime(seconds: string, nowMs: number): AuthenticationRefusal | null {
  const ageMs = nowMs - Number(seconds) * 1000
  if (ageMs > signatureWindowMs) return refuse('signature too old')
  return ageMs < -signatureWindowMs ? refuse('signature too new') : null
}

function isSigned(
  keys: readonly KeyObject[],
  signed: readonly (string | Buffer)[],
  signatures: readonly Buffer[],
): boolean {
  for (const key of keys) {
    const hmac = createHmac('sha256', key)
    for (const part of signed) hmac.update(part)
    const mac = hmac.digest()
    for (const signature of signatures) if (timingSafeEqual(mac, signature)) return true
  }
  return false
}

function refuse(message: string): AuthenticationRefusal {
  return { status: 401, message, challenge: '' }
}
