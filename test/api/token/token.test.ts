import { randomBytes } from 'node:crypto'
import { SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { createTokens } from '../../../src/api/token/token.ts'

const nowMs = Date.UTC(2026, 10, 15, 10)
const key = randomBytes(32)
const tokens = createTokens([key], 900)

describe('a token', () => {
  it('says whose it is and what it allows', async () => {
    const token = await tokens.issue('cli_1', ['CardAPIs', 'CardAPIs.Fund'], nowMs)
    expect(await tokens.read(token, nowMs)).toEqual({
      clientId: 'cli_1',
      scopes: new Set(['CardAPIs', 'CardAPIs.Fund']),
      issuedAtMs: nowMs,
      expiresAtMs: nowMs + 930_000,
    })
  })

  it('is good for its time and half a minute, and says when that is over', async () => {
    const token = await tokens.issue('cli_1', ['CardAPIs'], nowMs)
    expect(await tokens.read(token, nowMs + 929_000)).toMatchObject({ clientId: 'cli_1' })
    expect(await tokens.read(token, nowMs + 930_000)).toBe('expired')
    expect(await tokens.read(token, nowMs + 931_000)).toBe('expired')
  })

  it('is not good for longer when the clock that made it is set back', async () => {
    const token = await tokens.issue('cli_1', ['CardAPIs'], nowMs)
    expect(await tokens.read(token, nowMs - 60_000)).toMatchObject({ clientId: 'cli_1' })
    expect(await tokens.read(token, nowMs - 61_000)).toBe('expired')
    expect(await tokens.read(token, nowMs)).toMatchObject({ clientId: 'cli_1' })
  })

  it('is read once while it is good, of a thousand the newest', async () => {
    const token = await tokens.issue('cli_1', ['CardAPIs'], nowMs)
    const claims = await tokens.read(token, nowMs)
    expect(await tokens.read(token, nowMs + 1)).toBe(claims)
    for (let i = 0; i < 1_000; i++) {
      await tokens.read(await tokens.issue(`cli_${i}`, [], nowMs), nowMs)
    }
    expect(await tokens.read(token, nowMs)).not.toBe(claims)
    expect(await tokens.read(token, nowMs)).toEqual(claims)
  })

  it('is read by an instance whose key was changed, as long as it knows the old one', async () => {
    const next = randomBytes(32)
    const token = await tokens.issue('cli_1', ['CardAPIs'], nowMs)
    expect(await createTokens([next, key], 900).read(token, nowMs)).toMatchObject({
      clientId: 'cli_1',
    })
    expect(await createTokens([next], 900).read(token, nowMs)).toBe('invalid')
  })

  it('is refused when it was changed, is none, or is endless', async () => {
    const token = await tokens.issue('cli_1', ['CardAPIs'], nowMs)
    const [head, body, mac] = token.split('.')
    const other = Buffer.from(JSON.stringify({ sub: 'cli_2', exp: 9e9 })).toString('base64url')
    expect(await tokens.read(`${head}.${other}.${mac}`, nowMs)).toBe('invalid')
    expect(await tokens.read(`${head}.${body}.`, nowMs)).toBe('invalid')
    expect(await tokens.read('', nowMs)).toBe('invalid')
    expect(await tokens.read('a'.repeat(1 << 20), nowMs)).toBe('invalid')
  })

  it('is refused without a signature, or of another type, issuer or audience', async () => {
    const none = [
      { alg: 'none', typ: 'at+jwt' },
      { sub: 'cli_1', exp: 9e9 },
    ]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    expect(await tokens.read(`${none}.`, nowMs)).toBe('invalid')
    const good = { iss: 'arbiter', aud: 'arbiter-management', sub: 'c', jti: '1', scope: '' }
    const claims = { ...good, iat: nowMs / 1000, exp: nowMs / 1000 + 60 }
    const { hkdfSync } = await import('node:crypto')
    const signing = new Uint8Array(hkdfSync('sha256', key, Buffer.alloc(0), 'arbiter/token/v1', 32))
    const sign = (typ: string, given: object) =>
      new SignJWT({ ...claims, ...given }).setProtectedHeader({ alg: 'HS256', typ }).sign(signing)
    expect(await tokens.read(await sign('at+jwt', {}), nowMs)).toMatchObject({ clientId: 'c' })
    expect(await tokens.read(await sign('JWT', {}), nowMs)).toBe('invalid')
    expect(await tokens.read(await sign('at+jwt', { iss: 'x' }), nowMs)).toBe('invalid')
    expect(await tokens.read(await sign('at+jwt', { aud: 'x' }), nowMs)).toBe('invalid')
    expect(await tokens.read(await sign('at+jwt', { jti: undefined }), nowMs)).toBe('invalid')
  })
})
