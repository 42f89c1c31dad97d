import { timingSafeEqual } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { sha256 } from '../management/client.ts'
import { referencePattern } from '../management/id.ts'
import type { Organization } from '../management/organization.ts'
import type { ClientCache, KnownClient } from './client-cache.ts'
import { type Refused, refuse } from './condition.ts'
import { type Header, headerIn } from './header.ts'
import { createRateLimit } from './rate-limit.ts'
import { canonicalText, isRawDigest, isSigned, type SignedCall } from './signature.ts'
import type { Tokens } from './token/token.ts'

/** What of a request its five headers are checked against. */
interface IncomingCall {
  readonly method: string
  /** Path and query, exactly as they came. */
  readonly target: string
  readonly rawHeaders: readonly string[]
  readonly remoteAddress: string
}

/** Who may make a call. */
export interface Caller {
  readonly clientId: string
  readonly organization: Organization
  readonly scopes: ReadonlySet<string>
  readonly reference: string
}

export interface AuthenticationOptions {
  readonly clients: ClientCache
  readonly tokens: Tokens
  readonly clock: Clock
  /** The address as clients write it; empty: that of the Host header. */
  readonly publicUrls: readonly string[]
  readonly scheme: 'http' | 'https'
  readonly ratePerSecond: number
  /** Explains a wrong Signature. */
  readonly sandbox: boolean
}

export type AuthenticateCaller = (call: IncomingCall) => Promise<Caller | Refused>

const serviceAuthPattern = /^ServiceAuth ([A-Za-z0-9+/]{1,128})(={0,2})$/
const bearerPattern = /^Bearer +([A-Za-z0-9._~+/=-]{1,4096})$/i
const maxClients = 10_000
const maxAddresses = 10_000
/** Wrong calls of one address that are explained; each minute allows as many again. */
const explainedFailures = 20

/** An unknown client is checked against this, so that it takes as long as a known one. */
const dummySecrets = ['00000000000000000000000000000000']
const dummyKeyHash = sha256('')

const tooManyFailures = refuse('rateLimited', '', { retryAfterSeconds: 60 })
const invalidToken = 'Bearer error="invalid_token"'

/** The five headers, in the order of the contract: the first check that fails answers. */
export function createCallerAuthentication(options: AuthenticationOptions): AuthenticateCaller {
  const { clients, tokens, clock } = options
  const calls = createRateLimit(options.ratePerSecond, 2 * options.ratePerSecond, maxClients)
  const failures = createRateLimit(explainedFailures / 60, explainedFailures, maxAddresses)

  async function identify(call: IncomingCall): Promise<Caller | Refused> {
    const reference = readReference(headerIn(call.rawHeaders, 'reference'))
    if (typeof reference !== 'string') return reference
    const clientId = readClientId(headerIn(call.rawHeaders, 'serviceauthorization'))
    if (clientId === null) return notAuthenticated('ServiceAuthorization')
    const nowMs = clock.nowMs()
    const known = await clients.find(clientId, nowMs)
    const token = await readToken(headerIn(call.rawHeaders, 'authorization'), clientId, known)
    const keyFits = isUniqueKey(headerIn(call.rawHeaders, 'uniquekey'), known)
    const signed = isCallSigned(call, reference, clientId, known)
    if (known === null) return notAuthenticated('ServiceAuthorization')
    if ('condition' in token) return token
    if (!keyFits) return refuse('uniqueKeyWrong', 'see the header UniqueKey')
    if (!signed) return wrongSignature(call, reference, clientId)
    if (!known.client.enabled) return refuse('clientDisabled', 'the client is disabled')
    const { organization } = known
    if (organization === null || !organization.enabled) {
      return refuse('organizationDisabled', 'the organization is disabled')
    }
    return { clientId, organization, scopes: token, reference }
  }

  async function readToken(
    header: Header,
    clientId: string,
    known: KnownClient | null,
  ): Promise<ReadonlySet<string> | Refused> {
    const [, text = ''] = header.state === 'given' ? (bearerPattern.exec(header.value) ?? []) : []
    const claims = await tokens.read(text, clock.nowMs())
    if (claims === 'expired') return badToken('the token has expired: ask for a new one')
    const validFromMs = known?.client.tokensValidFromMs ?? 0
    // A token says its second only, so one of the same second as a change may be from before it.
    const fits =
      claims !== 'invalid' && claims.clientId === clientId && claims.issuedAtMs >= validFromMs
    return fits ? claims.scopes : badToken('see the header Authorization')
  }

  function isCallSigned(
    call: IncomingCall,
    reference: string,
    clientId: string,
    known: KnownClient | null,
  ): boolean {
    const header = headerIn(call.rawHeaders, 'signature')
    const given = header.state === 'given' ? header.value : ''
    return isSigned(given, signedCall(call, reference, clientId), known?.secrets ?? dummySecrets)
  }

  function signedCall(call: IncomingCall, reference: string, clientId: string): SignedCall {
    const { method, target } = call
    const host = headerIn(call.rawHeaders, 'host')
    const own = `${options.scheme}://${host.state === 'given' ? host.value : ''}`
    const baseUrls = options.publicUrls.length > 0 ? options.publicUrls : [own]
    return { method, target, reference, clientId, baseUrls }
  }

  function wrongSignature(call: IncomingCall, reference: string, clientId: string): Refused {
    if (!options.sandbox) return notAuthenticated('Signature')
    const header = headerIn(call.rawHeaders, 'signature')
    const raw = header.state === 'given' && isRawDigest(header.value)
    const text = canonicalText(signedCall(call, reference, clientId))
    const message = `expected: Base64 of the SHA-1 in hex of ${text}<secret>`
    const slip = 'it looks like the raw digest in Base64: encode its hex text instead'
    const errors = [message, ...(raw ? [slip] : [])]
    return refuse('notAuthenticated', 'see the header Signature', {
      errors: errors.map((each) => ({ field: 'Signature', message: each })),
    })
  }

  /** All that can be told of a caller without the store, and at the price of one look at a token. */
  async function hasToken({ rawHeaders }: IncomingCall): Promise<boolean> {
    const clientId = readClientId(headerIn(rawHeaders, 'serviceauthorization'))
    if (clientId === null) return false
    return !(
      'condition' in (await readToken(headerIn(rawHeaders, 'authorization'), clientId, null))
    )
  }

  return async (call) => {
    // Who failed too often is told nothing, so nothing more is looked up for it: right calls have a token.
    if (failures.isSpent(call.remoteAddress, clock.monoMs()) && !(await hasToken(call))) {
      return tooManyFailures
    }
    const caller = await identify(call)
    if (!('condition' in caller)) {
      if (calls.take(caller.clientId, clock.monoMs())) return caller
      return refuse('rateLimited', 'too many calls in a second', { retryAfterSeconds: 1 })
    }
    const { condition } = caller
    if (condition === 'clientDisabled' || condition === 'organizationDisabled') return caller
    if (failures.take(call.remoteAddress, clock.monoMs())) return caller
    return tooManyFailures
  }
}

/** The reference of a call that was refused: null when it was malformed. */
export function referenceOf(rawHeaders: readonly string[]): string | null {
  const reference = readReference(headerIn(rawHeaders, 'reference'))
  return typeof reference === 'string' ? reference : null
}

const missingReference = refuse('headerMissing', 'send the header Reference', {
  errors: [{ field: 'Reference', message: 'is required' }],
})

function readReference(header: Header): string | Refused {
  if (header.state === 'missing') return missingReference
  if (header.state === 'given' && referencePattern.test(header.value)) return header.value
  const message = 'must be 1 to 30 visible ASCII characters without &, once'
  return refuse('headerMalformed', `the header Reference ${message}`, {
    errors: [{ field: 'Reference', message }],
  })
}

function readClientId(header: Header): string | null {
  if (header.state !== 'given') return null
  const [, encoded] = serviceAuthPattern.exec(header.value) ?? []
  if (encoded === undefined) return null
  const clientId = Buffer.from(encoded, 'base64').toString('utf8')
  return /^[!-~]{1,64}$/.test(clientId) ? clientId : null
}

function isUniqueKey(header: Header, known: KnownClient | null): boolean {
  const given = sha256(header.state === 'given' ? header.value : '')
  return timingSafeEqual(given, known?.uniqueKeyHash ?? dummyKeyHash) && header.state === 'given'
}

function notAuthenticated(header: string): Refused {
  return refuse('notAuthenticated', `see the header ${header}`)
}

function badToken(detail: string): Refused {
  return refuse('notAuthenticated', detail, { challenge: invalidToken })
}
