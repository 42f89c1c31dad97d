import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { isRawDigest, isSigned, type SignedCall, signCall } from '../../src/api/signature.ts'

const clientId = 'cli_01JCQ7Z8M4T0V5XK3N9R2B6DYE'
const secret = 'aT7pQ2mX9vL4kD1sW8zR5nB3cF6hJ0yG'

function call(
  method: string,
  target: string,
  reference: string,
  base = 'https://cards.example.com',
) {
  return { method, baseUrls: [base], target, reference, clientId } satisfies SignedCall
}

const v1 = call('GET', '/api/v1/cards', 'Kx7Qm2Rt9Lp4Zs8Wn3Vb')
const v3 = call('GET', '/api/v1/cards?limit=25&status=Active', 'pQ9sT8uV7wX6yZ5aB4cD')
const v5 = call('GET', '/api/v1/customers?name=Ad%C3%A9%20Ola', 'R5t6Y7u8I9o0P1a2S3d4')
const v8 = call('GET', "/api/v1/cards/a(b)!*'~", 'm')

const vectors: readonly (readonly [string, SignedCall, string])[] = [
  ['V1', v1, 'ZWVlN2Y3MmU4ZTI2MmQyMjk3YTQ3NTQ3NDViODU5NzFiNTM2ZGE4MQ=='],
  [
    'V2',
    call('POST', '/api/v1/cards/retail', 'a1B2c3D4e5F6g7H8i9J0'),
    'ZmQ1ZmQ0ZWViYzdkMGU1ZGFkZmJjZDlkMmNiMzBiMzAyMzhjNDg2OA==',
  ],
  ['V3', v3, 'Y2I3OGVlYmJmYWZhZDc3ZGE4ODQwZjA2OTY2Nzc3Yzk5YzU0ODU0Mg=='],
  ['V4, lower-case hex', v3, 'ODNlNzVlOTI5MzkwOTYwNGFiYTE1OTU3MzdhODViNjRjNDRlYjEyNg=='],
  ['V5, as sent', v5, 'ZTMzOWI4MTI4MWNjODFjZTQ3NDdiMjczMzM2NTdmOTA0MmMzOGJhMA=='],
  ['V6, before escaping', v5, 'MjhmNmFkMzQxN2NkN2U3ZjU2NWIwZWNmZjc1Y2IzMmQyZjBkZDk3NQ=='],
  [
    'V7, a form before escaping',
    call('GET', '/api/v1/customers?name=Ad%C3%A9+Ola', 'R5t6Y7u8I9o0P1a2S3d4'),
    'YTU5OWNlOTMzYzI3OWJkODI0NzcxMGY3MTA2OTBlY2M0OTM1Njk1NA==',
  ],
  ['V8', v8, 'YjlkODYxNzNiZjZjMmE4ZGNkZDNjNDgyMmRlM2M1YWRjYWM3MDIzOQ=='],
  ['V9, RFC 3986', v8, 'OGM2MTVlNTZiMzg4NDJmNjU3Njk1NWRmMTAyYjNjNDQ2ZTE1N2Y5Mg=='],
  [
    'V10, behind a prefix',
    call(
      'PATCH',
      '/api/v1/cards/card-1',
      'INV/2026-11/000123456789.30chr',
      'https://gw.example.com/arbiter',
    ),
    'NTAyNTYwYzIyY2RmODU3MDIyYzdlNWQ4NTQwMTRmMjMzN2EwMTU1Ng==',
  ],
  [
    'V11, on loopback',
    call('GET', '/api/v1/wallets', 'Zz0', 'http://127.0.0.1:8082'),
    'NmM2MjI4NjNlZjEzOGE0YWU0YjI3M2U2ZTUzNjAzZTMyZjFmOGMxMA==',
  ],
]

function sha1(text: string): Buffer {
  return createHash('sha1').update(text).digest()
}

/** As a client would sign it that escapes the URL in its own way. */
function signedAs({ method, reference }: SignedCall, encodedUrl: string): string {
  const text = `${method}&${encodedUrl}&${reference}&${clientId}&${secret}`
  return Buffer.from(sha1(text).toString('hex')).toString('base64')
}

describe('the Signature of a call', () => {
  it.each(vectors)('fits %s', (_name, signed, header) => {
    expect(isSigned(header, signed, [secret])).toBe(true)
  })

  it('is made by the canonical encoding', () => {
    expect(signCall(v1, secret)).toBe('ZWVlN2Y3MmU4ZTI2MmQyMjk3YTQ3NTQ3NDViODU5NzFiNTM2ZGE4MQ==')
    expect(signCall(v8, secret)).toBe('YjlkODYxNzNiZjZjMmE4ZGNkZDNjNDgyMmRlM2M1YWRjYWM3MDIzOQ==')
  })

  it.each([
    ['another method', { ...v1, method: 'POST' }],
    ['a query that was added', { ...v1, target: '/api/v1/cards?x=1' }],
    ['another Reference', { ...v1, reference: 'Kx7Qm2Rt9Lp4Zs8Wn3Vc' }],
    ['another client', { ...v1, clientId: 'cli_01JCQ7Z8M4T0V5XK3N9R2B6DYF' }],
    ['another address', { ...v1, baseUrls: ['https://cards.example.org'] }],
  ])('does not fit %s', (_name, other) => {
    expect(isSigned(vectors[0]![2], other, [secret])).toBe(false)
  })

  it('is the hex text in Base64, never the raw digest', () => {
    const raw = sha1(
      `GET&https%3A%2F%2Fcards.example.com%2Fapi%2Fv1%2Fcards&${v1.reference}&${clientId}&${secret}`,
    ).toString('base64')
    expect(isSigned(raw, v1, [secret])).toBe(false)
    expect(isRawDigest(raw)).toBe(true)
    expect(isRawDigest(vectors[0]![2])).toBe(false)
  })

  it('does not let an escaped separator pass for a separator', () => {
    const sent = call('GET', '/api/v1/cards?x=a%26y=b', 'r')
    const signed = signedAs(
      sent,
      encodeURIComponent('https://cards.example.com/api/v1/cards?x=a&y=b'),
    )
    expect(isSigned(signed, sent, [secret])).toBe(false)
    expect(isSigned(signCall(sent, secret), sent, [secret])).toBe(true)
  })

  it('never mixes upper-case and lower-case escapes', () => {
    const mixed = encodeURIComponent(`https://cards.example.com${v3.target}`).replace('%3A', '%3a')
    expect(isSigned(signedAs(v3, mixed), v3, [secret])).toBe(false)
  })

  it.each([
    ['PHP urlencode', 'a%28b%29%21%2A%27%7E+c'],
    ['Python quote_plus', 'a%28b%29%21%2A%27~+c'],
    ['.NET WebUtility.UrlEncode', 'a(b)!*%27%7E+c'],
    ['.NET HttpUtility.UrlEncode', 'a(b)!*%27%7e+c'],
  ])('fits %s of the URL before escaping', (_name, encoded) => {
    const sent = call('GET', "/api/v1/cards?name=a(b)!*'~%20c", 'r')
    const upper = 'https%3A%2F%2Fcards.example.com%2Fapi%2Fv1%2Fcards%3Fname%3D'
    const start = encoded.includes('%7e') ? upper.replace(/%../g, (e) => e.toLowerCase()) : upper
    expect(isSigned(signedAs(sent, `${start}${encoded}`), sent, [secret])).toBe(true)
  })

  it('fits either of two secrets and either of two addresses', () => {
    const moved = { ...v1, baseUrls: ['https://old.example.com', 'https://cards.example.com'] }
    expect(isSigned(vectors[0]![2], moved, ['another', secret])).toBe(true)
    expect(isSigned(vectors[0]![2], moved, ['another'])).toBe(false)
    expect(isSigned(vectors[0]![2], v1, [])).toBe(false)
  })

  it.each(['', '=', 'A'.repeat(56), `${vectors[0]![2]} `, 'Z'.repeat(1 << 20)])(
    'refuses a header that is none',
    (header) => {
      expect(isSigned(header, v1, [secret])).toBe(false)
    },
  )

  it('takes an escape that is not UTF-8 as it was sent', () => {
    const sent = call('GET', '/api/v1/customers?name=%E9', 'r')
    expect(isSigned(signCall(sent, secret), sent, [secret])).toBe(true)
  })
})
