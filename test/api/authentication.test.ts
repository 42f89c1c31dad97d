import { describe, expect, it } from 'vitest'
import { createCallerAuthentication } from '../../src/api/authentication.ts'
import type { ClientCache, KnownClient } from '../../src/api/client-cache.ts'
import { signCall } from '../../src/api/signature.ts'
import type { Tokens } from '../../src/api/token/token.ts'
import { sha256 } from '../../src/management/client.ts'

const clientId = 'cli_1'
const clientSecret = 'aT7pQ2mX9vL4kD1sW8zR5nB3cF6hJ0yG'
const uniqueKey = '5f0c'
const target = '/api/v1/organization'
const wrong = 10_000

/** One client that counts what is looked up for it, and a clock that stands. */
function open({ of = clientId, hasOrganization = true } = {}) {
  const counts = { clients: 0, tokens: 0 }
  const client = { enabled: true, tokensValidFromMs: 0 }
  const organization = { enabled: true, organizationId: 'org-1' }
  const checked = { secrets: [clientSecret], uniqueKeyHash: sha256(uniqueKey) }
  const known = { client, organization: hasOrganization ? organization : null, ...checked }
  const clients: ClientCache = {
    async find(id) {
      counts.clients++
      return id === clientId ? (known as unknown as KnownClient) : null
    },
  }
  const claims = { clientId: of, scopes: new Set(['CardAPIs']), issuedAtMs: 0, expiresAtMs: 1e15 }
  const tokens: Pick<Tokens, 'read'> = {
    async read(token) {
      counts.tokens++
      return token === 'right' ? claims : 'invalid'
    },
  }
  const authenticate = createCallerAuthentication({
    clients,
    tokens: tokens as Tokens,
    clock: { nowMs: () => 1, monoMs: () => 1 },
    publicUrls: ['http://a'],
    scheme: 'http',
    ratePerSecond: 50,
    sandbox: false,
  })
  const signed = { method: 'GET', baseUrls: ['http://a'], target, reference: 'R', clientId }
  const right: Record<string, string> = {
    reference: 'R',
    serviceauthorization: `ServiceAuth ${Buffer.from(clientId).toString('base64')}`,
    authorization: 'Bearer right',
    uniquekey: uniqueKey,
    signature: signCall(signed, clientSecret),
  }
  const call = (given: Record<string, string>, remoteAddress = '192.0.2.1') => {
    const rawHeaders = Object.entries({ ...right, ...given }).flat()
    return authenticate({ method: 'GET', target, rawHeaders, remoteAddress })
  }
  return { counts, call }
}

describe('ten thousand wrong calls of one address', () => {
  it('are looked up twenty times, when they have no token, and right ones pass meanwhile', async () => {
    const { counts, call } = open()
    for (let i = 0; i < wrong; i++) {
      const answer = await call({ authorization: 'Bearer x', signature: 'wrong' })
      expect(answer).toMatchObject({ condition: i < 20 ? 'notAuthenticated' : 'rateLimited' })
    }
    expect(counts.clients).toBe(20)
    // One look for each, which is what a token costs.
    expect(counts.tokens).toBe(wrong)
    expect(await call({})).toMatchObject({ clientId })
  })

  it('with a right token and a wrong Signature are told nothing, and right ones pass meanwhile', async () => {
    const { counts, call } = open()
    const signature = 'A'.repeat(54).concat('==')
    for (let i = 0; i < wrong; i++) {
      const answer = await call({ signature })
      expect(answer).toMatchObject({ condition: i < 20 ? 'notAuthenticated' : 'rateLimited' })
    }
    expect(counts.clients).toBe(wrong)
    expect(await call({})).toMatchObject({ clientId })
    const elsewhere = await call({ signature }, '192.0.2.2')
    expect(elsewhere).toMatchObject({ condition: 'notAuthenticated' })
  })
})

it.each(['bearer right', 'BEARER right', 'Bearer  right'])(
  'a token is taken as RFC 9110 lets a scheme be written: %s',
  async (authorization) => {
    const { call } = open()
    expect(await call({ authorization })).toMatchObject({ clientId })
  },
)

it('a token of another client is none, whatever that one may do', async () => {
  const { call } = open({ of: 'cli_2' })
  expect(await call({})).toMatchObject({
    condition: 'notAuthenticated',
    detail: 'see the header Authorization',
  })
})

it('a client whose organization is not there is refused as where it is disabled', async () => {
  const { call } = open({ hasOrganization: false })
  expect(await call({})).toMatchObject({ condition: 'organizationDisabled' })
})
