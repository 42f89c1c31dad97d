import { createHash, createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { RelayAuthentication } from '../config/config.ts'

export type { RelayAuthentication }

export interface AuthenticationRefusal {
  readonly status: 401
  /** Says no more than the caller knows: never which secret, which byte or which user. */
  readonly message: string
  /** The value of WWW-Authenticate, '' for what HTTP has no scheme for. */
  readonly challenge: string
}

/** The part of a TLS socket that tells whether its client certificate was accepted. */
export interface Peer {
  readonly authorized?: boolean
  getPeerX509Certificate?(): unknown
}

/** Null when the call may pass. */
export type Authenticate = (
  headers: IncomingHttpHeaders,
  rawBody: Buffer,
  nowMs: number,
  peer: Peer,
) => AuthenticationRefusal | null

export const signatureHeader = 'relay-signature'
export const signatureWindowMs = 300_000

// Exact, so a t or v1 given twice (also in two headers, which Node joins by a comma) never matches.
// A million characters fail as fast as ten: nothing in it can repeat without a bound.
const signaturePattern = /^t=([0-9]{1,15}),v1=([0-9a-fA-F]{64})$/

const basicChallenge = 'Basic realm="arbiter", charset="UTF-8"'
const basicPattern = /^basic +([0-9a-z+/]+={0,2})$/i

export function createAuthentication(
  relay: RelayAuthentication,
  hmacHeader = signatureHeader,
): Authenticate {
  switch (relay.mode) {
    case 'hmac':
      return createHmacCheck(relay.secrets, hmacHeader)
    case 'basic':
      return createBasicCheck(relay.user, relay.password)
    case 'mtls':
      return createCertificateCheck()
    case 'none':
      return () => null
  }
}

/** The headers by which a caller proves itself, for whoever calls as a relay does. */
export type Sign = (body: string, nowMs: number) => Readonly<Record<string, string>>

/** What `createAuthentication` lets pass; of several secrets it takes the first. */
export function createSigning(relay: RelayAuthentication, hmacHeader = signatureHeader): Sign {
  if (relay.mode === 'basic') {
    const both = Buffer.from(`${relay.user}:${relay.password}`).toString('base64')
    return () => ({ authorization: `Basic ${both}` })
  }
  const [secret] = relay.mode === 'hmac' ? relay.secrets : []
  if (secret === undefined) return () => ({})
  return (body, nowMs) => ({ [hmacHeader]: signBody(secret, body, nowMs) })
}

/** The value of the signature header, for clients, load generators and tests. */
export function signBody(secret: string, body: Buffer | string, nowMs: number): string {
  const mac = createHmac('sha256', secret).update(`${nowMs}.`).update(body).digest('hex')
  return `t=${nowMs},v1=${mac}`
}

function createHmacCheck(secrets: readonly string[], headerName: string): Authenticate {
  const keys = secrets.map((secret) => createSecretKey(secret, 'utf8'))
  return (headers, rawBody, nowMs) => {
    const header = headers[headerName]
    if (header === undefined || header === '') return refuse('signature missing')
    const parts = typeof header === 'string' ? signaturePattern.exec(header) : null
    if (parts === null) return refuse('signature is not t=<unix ms>,v1=<64 hex digits>')
    const [, time, given] = parts as unknown as [string, string, string]
    // Before the comparison: told afterwards, an old signature would be known to be a true one.
    const ageMs = nowMs - Number(time)
    if (ageMs > signatureWindowMs) return refuse('signature too old')
    if (ageMs < -signatureWindowMs) return refuse('signature too new')
    const claimed = Buffer.from(given, 'hex')
    for (const key of keys) {
      const mac = createHmac('sha256', key).update(`${time}.`).update(rawBody).digest()
      if (timingSafeEqual(mac, claimed)) return null
    }
    return refuse('signature wrong')
  }
}

function createBasicCheck(user: string, password: string): Authenticate {
  const expected = sha256(Buffer.from(`${user}:${password}`))
  return (headers) => {
    const header = headers.authorization
    if (header === undefined || header === '') return refuse('credentials missing', basicChallenge)
    // Exact, because Buffer ignores whatever follows the end of what is base64.
    const encoded = basicPattern.exec(header)?.[1]
    if (encoded === undefined) return refuse('credentials wrong', basicChallenge)
    // Hashes are of one length, so the comparison tells nothing about that of the password.
    const given = sha256(Buffer.from(encoded, 'base64'))
    return timingSafeEqual(given, expected) ? null : refuse('credentials wrong', basicChallenge)
  }
}

function createCertificateCheck(): Authenticate {
  const known = new WeakSet<Peer>()
  return (_headers, _rawBody, _nowMs, peer) => {
    if (known.has(peer)) return null
    // Node calls a resumed TLS 1.3 session authorized though its client never had a certificate.
    const certificate = peer.authorized === true ? peer.getPeerX509Certificate?.() : undefined
    if (certificate === undefined) return refuse('client certificate missing or wrong')
    known.add(peer)
    return null
  }
}

function sha256(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest()
}

function refuse(message: string, challenge = ''): AuthenticationRefusal {
  return { status: 401, message, challenge }
}
