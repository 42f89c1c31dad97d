import { hkdfSync, randomUUID } from 'node:crypto'
import { errors, jwtVerify, SignJWT } from 'jose'
import { keepNewest } from '../../bounded-map.ts'
import { maxSlipMs } from '../../clock.ts'

/** What a token says about who carries it. */
interface TokenClaims {
  readonly clientId: string
  readonly scopes: ReadonlySet<string>
  readonly issuedAtMs: number
  readonly expiresAtMs: number
}

type TokenFault = 'expired' | 'invalid'

export interface Tokens {
  readonly lifetimeSeconds: number
  issue(clientId: string, scopes: readonly string[], nowMs: number): Promise<string>
  read(token: string, nowMs: number): Promise<TokenClaims | TokenFault>
}

const algorithm = 'HS256'
const type = 'at+jwt'
const issuer = 'arbiter'
const audience = 'arbiter-management'
const clockToleranceSeconds = 30
/** A token of ours has some 300 characters; a longer one is not worth a look. */
const maxTokenCharacters = 2_048
/** A client has one or two at a time. */
const maxReadTokens = 1_000

/** Tokens have no record: any instance with the same key reads them. The first key signs, all of them read. */
export function createTokens(
  keys: readonly [Buffer, ...Buffer[]],
  lifetimeSeconds: number,
): Tokens {
  const signing = keys.map(signingKeyOf) as [Uint8Array, ...Uint8Array[]]
  // Reading one is a tenth of a call, and a client sends the same for a quarter of an hour.
  const readBefore = new Map<string, TokenClaims>()

  async function readWith(key: Uint8Array, token: string, nowMs: number) {
    const { payload } = await jwtVerify(token, key, {
      algorithms: [algorithm],
      typ: type,
      issuer,
      audience,
      clockTolerance: clockToleranceSeconds,
      currentDate: new Date(nowMs),
      requiredClaims: ['sub', 'iat', 'exp', 'jti'],
    })
    const scopes = new Set(typeof payload.scope === 'string' ? payload.scope.split(' ') : [])
    const { sub: clientId = '', iat = 0, exp = 0 } = payload
    const expiresAtMs = (exp + clockToleranceSeconds) * 1000
    return { clientId, scopes, issuedAtMs: iat * 1000, expiresAtMs }
  }

  function remember(token: string, claims: TokenClaims): TokenClaims {
    keepNewest(readBefore, token, claims, maxReadTokens)
    return claims
  }

  return {
    lifetimeSeconds,
    issue(clientId, scopes, nowMs) {
      const issuedAtSeconds = Math.floor(nowMs / 1000)
      return new SignJWT({ scope: scopes.join(' ') })
        .setProtectedHeader({ alg: algorithm, typ: type })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject(clientId)
        .setJti(randomUUID())
        .setIssuedAt(issuedAtSeconds)
        .setExpirationTime(issuedAtSeconds + lifetimeSeconds)
        .sign(signing[0])
    },
    async read(token, nowMs) {
      if (token.length > maxTokenCharacters) return 'invalid'
      const known = readBefore.get(token)
      if (known !== undefined && nowMs < known.expiresAtMs && !isAhead(known, nowMs)) return known
      readBefore.delete(token)
      let fault: TokenFault = 'invalid'
      for (const key of signing) {
        try {
          const claims = await readWith(key, token, nowMs)
          return isAhead(claims, nowMs) ? 'expired' : remember(token, claims)
        } catch (error) {
          if (error instanceof errors.JWTExpired) fault = 'expired'
        }
      }
      return fault
    },
  }
}

/** Made by a clock that was set back since: it would be good for as much longer. */
function isAhead({ issuedAtMs }: TokenClaims, nowMs: number): boolean {
  return issuedAtMs - nowMs > maxSlipMs
}

function signingKeyOf(key: Buffer): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', key, Buffer.alloc(0), 'arbiter/token/v1', 32))
}
