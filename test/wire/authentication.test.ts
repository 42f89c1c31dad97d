import type { IncomingHttpHeaders } from 'node:http'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createAuthentication, signatureWindowMs, signBody } from '../../src/wire/authentication.ts'

const nowMs = 1_794_650_400_000
const body = Buffer.from('{"eventId":"evt-1"}')
const secret = 'correct horse battery'
const nextSecret = 'staple for tomorrow'

describe('hmac', () => {
  const authenticate = createAuthentication({ mode: 'hmac', secrets: [secret, nextSecret] })
  const message = (headers: IncomingHttpHeaders, raw = body, atMs = nowMs): string | null =>
    authenticate(headers, raw, atMs, {})?.message ?? null
  const signed = (value: string): IncomingHttpHeaders => ({ 'relay-signature': value })

  it('lets a signed body pass, with either secret', () => {
    expect(message(signed(signBody(secret, body, nowMs)))).toBeNull()
    expect(message(signed(signBody(nextSecret, body, nowMs)))).toBeNull()
    expect(
      message(
        signed(signBody(secret, body, nowMs).toUpperCase().replace('T=', 't=').replace('V1', 'v1')),
      ),
    ).toBeNull()
  })

  it('signs as documented: SHA-256 over the time, a dot and the body', () => {
    expect(signBody('0123456789abcdef', 'hello', 1)).toBe(
      't=1,v1=ac0a89f1c8319690b26a29eb1b52cfbb963e6330d908fddc0f145e96e6ab3633',
    )
  })

  it('refuses with 401', () => {
    expect(authenticate({}, body, nowMs, {})).toEqual({
      status: 401,
      message: 'signature missing',
      challenge: '',
    })
    expect(message(signed(''))).toBe('signature missing')
  })

  it('refuses another secret, another body and another time', () => {
    expect(message(signed(signBody('another secret here', body, nowMs)))).toBe('signature wrong')
    const good = signed(signBody(secret, body, nowMs))
    expect(message(good, Buffer.from('{"eventId":"evt-2"}'))).toBe('signature wrong')
    expect(message(good, Buffer.alloc(0))).toBe('signature wrong')
    const moved = signBody(secret, body, nowMs).replace(`t=${nowMs}`, `t=${nowMs + 1}`)
    expect(message(signed(moved))).toBe('signature wrong')
  })

  it('allows a clock to be off by the window in both directions and no more', () => {
    const good = signed(signBody(secret, body, nowMs))
    expect(message(good, body, nowMs + signatureWindowMs)).toBeNull()
    expect(message(good, body, nowMs - signatureWindowMs)).toBeNull()
    expect(message(good, body, nowMs + signatureWindowMs + 1)).toBe('signature too old')
    expect(message(good, body, nowMs - signatureWindowMs - 1)).toBe('signature too new')
  })

  it('says the same of an old signature whether it was true or not', () => {
    const trueOne = signBody(secret, body, 1_000)
    const falseOne = signBody('another secret here', body, 1_000)
    expect(message(signed(trueOne))).toBe(message(signed(falseOne)))
  })

  const mac = signBody(secret, body, nowMs).split('v1=')[1]
  it.each([
    ['no t', `v1=${mac}`],
    ['no v1', `t=${nowMs}`],
    ['t twice', `t=${nowMs},t=${nowMs},v1=${mac}`],
    ['v1 twice', `t=${nowMs},v1=${mac},v1=${mac}`],
    ['the header twice', `t=${nowMs},v1=${mac}, t=${nowMs},v1=${mac}`],
    ['a short v1', `t=${nowMs},v1=${mac?.slice(2)}`],
    ['a long v1', `t=${nowMs},v1=${mac}00`],
    ['a v1 that is not hexadecimal', `t=${nowMs},v1=${'z'.repeat(64)}`],
    ['a t with a sign', `t=+${nowMs},v1=${mac}`],
    ['a t with a fraction', `t=${nowMs}.0,v1=${mac}`],
    ['a t beyond numbers', `t=${'9'.repeat(400)},v1=${mac}`],
    ['white space', `t=${nowMs}, v1=${mac}`],
    ['a newline at the end', `t=${nowMs},v1=${mac}\n`],
  ])('refuses a header with %s', (_name, value) => {
    expect(message(signed(value))).toBe('signature is not t=<unix ms>,v1=<64 hex digits>')
  })

  it('refuses a long malformed header at no cost', () => {
    const cpu = process.cpuUsage()
    for (let i = 0; i < 1000; i++) message(signed(`t=${'1'.repeat(16_000)}`))
    expect(process.cpuUsage(cpu).user).toBeLessThan(100_000)
  })

  it('never throws and never passes, whatever the header', () => {
    const part = fc.constantFrom('t=', 'v1=', ',', `${nowMs}`, mac ?? '', '0', 'ff', ' ')
    const value = fc.oneof(
      fc.string(),
      fc.array(part).map((parts) => parts.join('')),
    )
    const anything = value.filter((each) => each !== `t=${nowMs},v1=${mac}`)
    fc.assert(
      fc.property(anything, (each) => {
        expect(message(signed(each))).not.toBeNull()
      }),
    )
  })
})

describe('basic', () => {
  const password = 'päss:word-of-length'
  const authenticate = createAuthentication({ mode: 'basic', user: 'relay', password })
  const message = (authorization?: string): string | null =>
    authenticate(authorization === undefined ? {} : { authorization }, body, nowMs, {})?.message ??
    null
  const encode = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`

  it('lets the right user pass', () => {
    expect(message(encode(`relay:${password}`))).toBeNull()
    expect(message(encode(`relay:${password}`).replace('Basic', 'basic'))).toBeNull()
  })

  it('refuses everything else without saying which part was wrong', () => {
    expect(message()).toBe('credentials missing')
    const wrong = ['relay:', `other:${password}`, `relay:${password} `, `relay${password}`, ':', '']
    for (const text of wrong) expect(message(encode(text))).toBe('credentials wrong')
    for (const header of ['Bearer x', 'Basic', 'Basic ', 'Basic %%%', 'x']) {
      expect(message(header)).toBe('credentials wrong')
    }
  })
})

describe('mtls', () => {
  const authenticate = createAuthentication({ mode: 'mtls' })
  const certificate = (found: object | undefined) => ({ getPeerX509Certificate: () => found })

  it('asks the TLS layer', () => {
    const known = { authorized: true, ...certificate({}) }
    expect(authenticate({}, body, nowMs, known)).toBeNull()
    expect(authenticate({}, body, nowMs, known)).toBeNull()
    for (const peer of [{ authorized: false, ...certificate({}) }, {}]) {
      expect(authenticate({}, body, nowMs, peer)).toMatchObject({ status: 401 })
    }
  })

  it('does not trust authorized alone: a resumed session has it without any certificate', () => {
    for (const peer of [{ authorized: true }, { authorized: true, ...certificate(undefined) }]) {
      expect(authenticate({}, body, nowMs, peer)).toMatchObject({ status: 401 })
    }
  })
})

describe('none', () => {
  it('lets everything pass', () => {
    expect(createAuthentication({ mode: 'none' })({}, body, nowMs, {})).toBeNull()
  })
})
