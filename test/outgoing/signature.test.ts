import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import {
  isSignedBy,
  readWebhookSecret,
  signedHeaders,
  writeWebhookSecret,
} from '../../src/outgoing/signature.ts'

const secret = 'whsec_YXJiaXRlciB3ZWJob29rIHNlY3JldCwgMzIgYnl0ZXM='
const bytes = readWebhookSecret(secret)!
const id = 'evt_01JCQ8A1B2C3D4E5F6G7H8J9KM'
const body =
  '{"eventId":"evt_01JCQ8A1B2C3D4E5F6G7H8J9KM","type":"kyc.approved","timestamp":"2026-11-15T10:00:02.000Z","organizationId":"org-1","data":{"kycToken":"kyc_01JCQ89YV0C8M2N4P6Q8R0S2TW","clientReference":"user-77","status":"Approved","customerId":"cus_01JCQ8A0ZX9W7V5T3S1R0Q8P6N"}}'

describe('a signed message', () => {
  it('has the signature of the published vector', () => {
    const headers = signedHeaders({ id, body, atMs: 1_794_736_802_999 }, [bytes])
    expect(headers).toEqual({
      'webhook-id': id,
      'webhook-timestamp': '1794736802',
      'webhook-signature': 'v1,XGFKaRDQUKP1V0bLnqZOAMywlWtHik7KTvgxdsl9mcM=',
    })
  })

  it('is accepted by the library of Standard Webhooks, also while a secret changes', () => {
    const next = randomBytes(32)
    const headers = signedHeaders({ id, body, atMs: Date.now() }, [next, bytes])
    for (const each of [secret, writeWebhookSecret(next)]) {
      expect(new Webhook(each).verify(body, headers)).toMatchObject({ eventId: id })
    }
    const other = writeWebhookSecret(randomBytes(32))
    expect(() => new Webhook(other).verify(body, headers)).toThrow()
  })

  it('of the library of Standard Webhooks is accepted here', () => {
    const atMs = 1_794_736_802_000
    const signature = new Webhook(secret).sign(id, new Date(atMs), body)
    const headers = {
      'webhook-id': id,
      'webhook-timestamp': String(atMs / 1000),
      'webhook-signature': `v1,AAAA ${signature}`,
    }
    expect(isSignedBy(bytes, headers, body, atMs + 299_000)).toBe(true)
    expect(isSignedBy(bytes, headers, body, atMs + 301_000)).toBe(false)
    expect(isSignedBy(bytes, headers, body, atMs - 299_000)).toBe(true)
    expect(isSignedBy(bytes, headers, body, atMs - 301_000)).toBe(false)
    expect(isSignedBy(bytes, headers, `${body} `, atMs)).toBe(false)
    expect(isSignedBy(randomBytes(32), headers, body, atMs)).toBe(false)
    expect(isSignedBy(bytes, { ...headers, 'webhook-signature': undefined }, body, atMs)).toBe(
      false,
    )
    expect(isSignedBy(bytes, { ...headers, 'webhook-id': 'x' }, body, atMs)).toBe(false)
    expect(isSignedBy(bytes, { ...headers, 'webhook-timestamp': 'x' }, body, atMs)).toBe(false)
  })
})

describe('a webhook secret', () => {
  it('is whsec_ and 16 to 64 bytes in Base64', () => {
    expect(readWebhookSecret(writeWebhookSecret(randomBytes(32)))?.length).toBe(32)
    expect(readWebhookSecret(writeWebhookSecret(randomBytes(15)))).toBeNull()
    expect(readWebhookSecret(writeWebhookSecret(randomBytes(65)))).toBeNull()
    expect(readWebhookSecret('secret')).toBeNull()
    expect(readWebhookSecret('whsec_***')).toBeNull()
  })
})
