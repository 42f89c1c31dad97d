import { createHash, createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { RelayAuthentication } from '../config.ts'

export interface AuthenticationRefusal {
  readonly status: 401
  /** Says no more than the caller knows: never which secret, which byte or which user. */
  readonly message: string
}

/** The part of a TLS socket that tells whether its client certificate was accepted. */
export interface Peer {
  readonly authorized?: boolean
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

export function createAuthentication(relay: RelayAuthentication): Authenticate {
  switch (relay.mode) {
    case 'hmac':
      return createHmacCheck(relay.secrets)
    case 'basic':
      return createBasicCheck(relay.user, relay.password)
    case 'mtls':
      return (_headers, _rawBody, _nowMs, peer) =>
        peer.authorized === true ? null : refuse('client certificate missing or wrong')
    case 'none':
      return () => null
  }
}

/** The value of the signature header, for clients, load generators and tests. */
export function signBody(secret: string, body: Buffer | string, nowMs: number): string {
  const mac = createHmac('sha256', secret).update(`${nowMs}.`).update(body).digest('hex')
  return `t=${nowMs},v1=${mac}`
}

function createHmacCheck(secrets: readonly string[]): Authenticate {
  const keys = secrets.map((secret) => createSecretKey(secret, 'utf8'))
  return (headers, rawBody, nowMs) => {
    const header = headers[signatureHeader]
    if (header === undefined || header === '') return refuse('signature missing')
    const parts = typeof header === 'string' ? signaturePattern.exec(header) : null
    if (parts === null) return refuse('signature wrong')
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
    if (header === undefined || header === '') return refuse('credentials missing')
    if (!/^basic /i.test(header)) return refuse('credentials wrong')
    // Hashes are of one length, so the comparison tells nothing about that of the password.
    const given = sha256(Buffer.from(header.slice(6), 'base64'))
    return timingSafeEqual(given, expected) ? null : refuse('credentials wrong')
  }
}

function sha256(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest()
}

function refuse(message: string): AuthenticationRefusal {
  return { status: 401, message }
}
