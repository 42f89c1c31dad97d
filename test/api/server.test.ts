import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { organizationRoutes } from '../../src/api/route/organization.ts'
import { clientAggregate } from '../../src/engine/format/layout.ts'
import { setClientEnabled } from '../../src/management/client.ts'
import { setOrganization } from '../../src/management/organization.ts'
import { openApi } from '../support/api-world.ts'

const target = '/api/v1/organization'

describe('a call with its five headers', () => {
  it('is answered in the envelope', async () => {
    const { headersOf, call, answered, bugs } = await openApi()
    const headers = await headersOf('GET', target)
    const { status, body, headers: got } = await call('GET', target, headers)
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        responseCode: '000',
        message: 'Success',
        finality: 'TerminalSuccess',
        reference: headers.reference,
        data: {
          organizationId: 'org-1',
          name: 'Acme',
          enabled: true,
          country: 'US',
          currencies: ['USD', 'NGN'],
          defaultDecision: 'decline',
          maxTopUp: { USD: 10000 },
          minimumBalance: { USD: 1 },
          cardValidityMonths: 36,
        },
      },
    })
    expect(got.get('cache-control')).toBe('no-store')
    expect(got.get('request-id')).toMatch(/^[0-9a-f-]{36}$/)
    expect(answered.at(-1)).toMatchObject({ operation: 'organization.show', code: '000' })
    expect(bugs).toEqual([])
  })

  it('is refused when its Reference was seen within a day', async () => {
    const { headersOf, call, time } = await openApi()
    const headers = await headersOf('GET', target, { reference: 'Same-1' })
    expect((await call('GET', target, headers)).status).toBe(200)
    const again = await call('GET', target, headers)
    expect(again.body).toMatchObject({
      responseCode: '139',
      message: 'Duplicate request: Reference Same-1 has already been seen in the last 24 hours',
    })
    expect(again.status).toBe(400)
    time.ms += 86_400_000
    const fresh = await headersOf('GET', target, { reference: 'Same-1' })
    expect((await call('GET', target, fresh)).status).toBe(200)
  })

  const wrong: readonly (readonly [string, Record<string, string | undefined>, number, string])[] =
    [
      ['no Reference', { reference: undefined }, 400, '158'],
      ['a Reference with &', { reference: 'a&b' }, 400, '136'],
      ['a long Reference', { reference: 'a'.repeat(31) }, 400, '136'],
      ['no ServiceAuthorization', { serviceauthorization: undefined }, 401, '146'],
      ['another scheme', { serviceauthorization: 'Basic YQ==' }, 401, '146'],
      ['an unknown client', { serviceauthorization: 'ServiceAuth bm9ib2R5' }, 401, '146'],
      ['no token', { authorization: undefined }, 401, '146'],
      ['a wrong token', { authorization: 'Bearer abc' }, 401, '146'],
      ['no UniqueKey', { uniquekey: undefined }, 401, '113'],
      ['a wrong UniqueKey', { uniquekey: '0'.repeat(32) }, 401, '113'],
      ['no Signature', { signature: undefined }, 401, '146'],
      ['a wrong Signature', { signature: `${'A'.repeat(54)}==` }, 401, '146'],
    ]

  it.each(wrong)('is refused with %s', async (_name, change, status, code) => {
    const { headersOf, call } = await openApi()
    const headers = { ...(await headersOf('GET', target)), ...change }
    const given = Object.entries(headers).filter(([, value]) => value !== undefined)
    const answer = await call('GET', target, Object.fromEntries(given) as never)
    const { status: got, body } = answer
    expect([got, body.responseCode, body.data]).toEqual([status, code, null])
    // Java's own client throws an answer away that is 401 without one.
    const challenge = answer.headers.get('www-authenticate') ?? 'none'
    expect(challenge).toMatch(status === 401 ? /^Bearer/ : /^none$/)
    expect(JSON.stringify(body)).not.toContain('A'.repeat(54))
  })

  it('says the first thing that is wrong', async () => {
    const { call } = await openApi()
    expect((await call('GET', '/api/v1/nowhere', {})).body.responseCode).toBe('158')
    expect((await call('GET', '/api/v1/nowhere', { reference: 'r' })).body.responseCode).toBe('146')
  })

  it('learns only when it is right that there is no such route', async () => {
    const { headersOf, call } = await openApi()
    const headers = await headersOf('GET', '/api/v1/nowhere')
    const { status, body } = await call('GET', '/api/v1/nowhere', headers)
    expect([status, body.responseCode]).toEqual([404, '131'])
    const post = await headersOf('POST', target)
    expect((await call('POST', target, post)).body.responseCode).toBe('131')
  })

  it.each([
    ['/api/v1/cards/%ff', 404, '131'],
    [`/api/v1/cards/${'x'.repeat(300)}`, 400, '112'],
  ])('with a path as %s is judged as any other', async (path, status, code) => {
    const { headersOf, call } = await openApi()
    expect((await call('GET', path, { reference: 'r' })).body.responseCode).toBe('146')
    const { body, headers, ...got } = await call('GET', path, await headersOf('GET', path))
    expect([got.status, body.responseCode]).toEqual([status, code])
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('request-id')).not.toBeNull()
  })

  it('is told where the operations are, and nothing of its own path', async () => {
    const { call } = await openApi()
    for (const path of ['/', '/secret-4111', '/api/v2/cards', '/%zz']) {
      const { status, body } = await call('GET', path, {})
      expect([status, body.responseCode, body.reference]).toEqual([404, '131', null])
      expect(body.message).toContain('/api/v1')
      expect(JSON.stringify(body)).not.toContain('secret')
    }
  })

  it('is answered also when it expects what nobody knows', async () => {
    const { url, headersOf } = await openApi()
    const headers = { ...(await headersOf('GET', target)), expect: 'the-best' }
    const sent = request(url + target, { headers }).end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    const envelope = JSON.parse(String(await response.toArray()))
    expect([response.statusCode, envelope.responseCode]).toEqual([200, '000'])
  })

  it('is answered also without a Host, which HTTP/1.1 asks for', async () => {
    const { url, headersOf } = await openApi()
    const ask = async (headers: Record<string, string>) => {
      const sent = request(url + target, { headers, setHost: false }).end()
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      return [response.statusCode, JSON.parse(String(await response.toArray())).responseCode]
    }
    expect(await ask({})).toEqual([400, '158'])
    // Without PUBLIC_URL either nobody knows which address was signed.
    expect(await ask(await headersOf('GET', target))).toEqual([401, '146'])
  })

  it('is told how large a body may be', async () => {
    const { headersOf, call } = await openApi({ scopes: ['CardAPIs'] })
    const path = '/api/v1/cards/retail'
    const body = JSON.stringify({ metadata: 'x'.repeat(131_072) })
    const { status, body: answer } = await call('POST', path, await headersOf('POST', path), body)
    expect(status).toBe(400)
    expect(answer.message).toBe('Format error: the body is larger than 128 KiB')
  })

  it('needs a query that the operation knows', async () => {
    const { headersOf, call } = await openApi()
    for (const query of ['?colour=red', '?a=1&a=2']) {
      const headers = await headersOf('GET', `${target}${query}`)
      const { status, body } = await call('GET', `${target}${query}`, headers)
      expect([status, body.responseCode]).toEqual([400, '131'])
    }
  })

  it('is refused while its client or its organization is disabled', async () => {
    const { headersOf, call, time, aggregates, credentials } = await openApi()
    await setOrganization(aggregates, 'org-1', { enabled: false })
    time.ms += 1_001
    let { status, body } = await call('GET', target, await headersOf('GET', target))
    expect([status, body.responseCode]).toEqual([403, '115'])
    await setOrganization(aggregates, 'org-1', { enabled: true })
    const headers = await headersOf('GET', target)
    await setClientEnabled(aggregates, credentials.clientId, false, time.ms)
    time.ms += 2_000
    // What a disabled client still has of tokens is over with it.
    ;({ status, body } = await call('GET', target, headers))
    expect([status, body.responseCode]).toEqual([401, '146'])
  })

  it('is let in with a token of the second in which its client was disabled and enabled again', async () => {
    const { headersOf, call, time, aggregates, credentials } = await openApi()
    const { clientId } = credentials
    // By a clock that is ahead of the server's.
    const changedMs = time.ms + 2_500
    await setClientEnabled(aggregates, clientId, false, changedMs)
    await setClientEnabled(aggregates, clientId, true, changedMs)
    const { status, body } = await call('GET', target, await headersOf('GET', target))
    expect([status, body.responseCode]).toEqual([200, '000'])
  })

  it('is refused above the rate of its client, and not above that of strangers', async () => {
    const { headersOf, call, time } = await openApi()
    for (let i = 0; i < 20; i++) await call('GET', target, { reference: 'r' })
    const strangers = await call('GET', target, { reference: 'r' })
    expect([strangers.status, strangers.body.responseCode]).toEqual([429, '170'])
    expect(strangers.headers.get('retry-after')).toBe('60')
    const headers = await headersOf('GET', target)
    const codes: string[] = []
    for (let i = 0; i < 101; i++)
      codes.push(String((await call('GET', target, headers)).body.responseCode))
    expect(codes[0]).toBe('000')
    expect(codes.slice(1, 100).every((code) => code === '139')).toBe(true)
    expect(codes[100]).toBe('170')
    time.ms += 1_000
    expect((await call('GET', target, headers)).body.responseCode).toBe('139')
  })

  it('explains a wrong Signature in a sandbox, without the secret', async () => {
    const { headersOf, call, credentials } = await openApi({ sandbox: true })
    const headers = await headersOf('GET', target)
    const raw = Buffer.from('01234567890123456789').toString('base64')
    const { body, headers: got } = await call('GET', target, { ...headers, signature: raw })
    expect(JSON.stringify(body.errors)).toContain('<secret>')
    expect(JSON.stringify(body.errors)).toContain('raw digest')
    expect(JSON.stringify(body)).not.toContain(credentials.clientSecret)
    expect(got.get('sandbox')).toBe('true')
  })
})

describe('a request that was lost sight of', () => {
  it('is found by its Reference, by its own client', async () => {
    const { headersOf, call } = await openApi()
    await call('GET', target, await headersOf('GET', target, { reference: 'Lost/1' }))
    const asked = '/api/v1/requests/Lost%2F1'
    const { status, body } = await call('GET', asked, await headersOf('GET', asked))
    expect(status).toBe(200)
    expect(body.data).toEqual({
      reference: 'Lost/1',
      state: 'Succeeded',
      method: 'GET',
      path: target,
      startedAt: '2026-11-15T10:00:00.000Z',
      endedAt: '2026-11-15T10:00:00.000Z',
      httpStatus: 200,
      responseCode: '000',
      message: 'Success',
      finality: 'TerminalSuccess',
      data: null,
    })
    const unknown = '/api/v1/requests/Other'
    const none = await call('GET', unknown, await headersOf('GET', unknown))
    expect([none.status, none.body.responseCode]).toEqual([404, '157'])
  })

  it.each([
    ['POST', '/cards/nobodys/topup', { amount: 1 }, 404, '148'],
    ['POST', '/cards/nobodys/withdrawal', { amount: 1 }, 404, '148'],
    ['POST', '/cards/nobodys/regularize', {}, 404, '148'],
    ['POST', '/cards/nobodys/charges/reprocess', {}, 404, '148'],
    ['POST', '/cards/nobodys/freeze', {}, 404, '148'],
    ['POST', '/cards/retail', { customerId: 'nobody' }, 404, '157'],
    ['POST', '/wallets/CHF/fund', { amount: 1 }, 422, '121'],
    ['PATCH', '/webhooks/nobodys', { url: 'ftp://example.com/' }, 422, '119'],
  ])('is found also when it was refused: %s %s %j', async (method, path, given, status, code) => {
    const { headersOf, call } = await openApi({ scopes: ['CardAPIs', 'CardAPIs.Fund'] })
    const reference = 'Refused/1'
    const send = async (at: string, body: object) => {
      const target = `/api/v1${at}`
      const headers = await headersOf(method, target, { reference })
      return call(method, target, headers, JSON.stringify(body))
    }
    const refused = { status, body: { responseCode: code } }
    expect(await send(path, given)).toMatchObject(refused)
    const asked = '/api/v1/requests/Refused%2F1'
    const { body } = await call('GET', asked, await headersOf('GET', asked))
    expect(body.data).toMatchObject({ state: 'Failed', httpStatus: status, responseCode: code })
    const other = await send(path, { ...given, more: true })
    expect(other).toMatchObject({ status: 400, body: { responseCode: '139' } })
    expect(await send(path, given)).toMatchObject(refused)
  })
})

describe('the reference page', () => {
  it('names every operation, and lets nothing from elsewhere in', async () => {
    const { url } = await openApi()
    const response = await fetch(`${url}/docs`)
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
    const html = await response.text()
    for (const { operation } of organizationRoutes) expect(html).toContain(`id="${operation}"`)
    expect(html).not.toMatch(/<script|https?:\/\//)
  })
})

describe('the token endpoint', () => {
  it('gives a token with all scopes, or with those that were asked for', async () => {
    const { askToken } = await openApi()
    const all = await askToken()
    expect(all.status).toBe(200)
    expect(all.headers.get('cache-control')).toBe('no-store')
    expect(await all.json()).toEqual({
      access_token: expect.stringMatching(/^ey/),
      token_type: 'Bearer',
      expires_in: 900,
      scope: 'CardAPIs.Read CardAPIs.Fund',
    })
    const one = await askToken('grant_type=client_credentials&scope=CardAPIs.Read')
    expect(await one.json()).toMatchObject({ scope: 'CardAPIs.Read' })
  })

  it.each([
    ['grant_type=password', {}, 400, 'unsupported_grant_type'],
    ['scope=CardAPIs', {}, 400, 'invalid_request'],
    ['grant_type=client_credentials&grant_type=x', {}, 400, 'invalid_request'],
    ['grant_type=client_credentials&scope=a&scope=b', {}, 400, 'invalid_request'],
    ['grant_type=client_credentials&scope=Everything', {}, 400, 'invalid_scope'],
    ['grant_type=client_credentials&scope=CardAPIs.Pan', {}, 403, 'unauthorized_client'],
    [
      'grant_type=client_credentials',
      { 'content-type': 'application/json' },
      400,
      'invalid_request',
    ],
    ['grant_type=client_credentials', { authorization: 'Basic YTpi' }, 401, 'invalid_client'],
    ['grant_type=client_credentials', { authorization: 'Bearer x' }, 401, 'invalid_client'],
    [`grant_type=client_credentials&x=${'x'.repeat(5000)}`, {}, 400, 'invalid_request'],
  ])('answers %s', async (form, headers, status, error) => {
    const { askToken } = await openApi()
    const response = await askToken(form, headers)
    expect([response.status, ((await response.json()) as { error: string }).error]).toEqual([
      status,
      error,
    ])
    if (status === 401) expect(response.headers.get('www-authenticate')).toContain('Basic')
  })

  it('tells of a fault of the server in the same shape', async () => {
    const { askToken, aggregates, credentials, bugs } = await openApi()
    await aggregates.change({
      aggregate: clientAggregate(credentials.clientId),
      decide: () => ({ result: null, write: { root: 'no record' } }),
    })
    const response = await askToken()
    expect([response.status, await response.json()]).toMatchObject([500, { error: 'server_error' }])
    expect(bugs).toHaveLength(1)
  })

  it('leaves no secret in the log that was sent where the id should be', async () => {
    const { askToken, credentials, answered } = await openApi()
    const { clientId, clientSecret } = credentials
    const sent = (id: string, secret: string) => {
      const authorization = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
      return askToken('grant_type=client_credentials', { authorization })
    }
    const refused = { operation: 'token', status: 401 }
    await sent(clientSecret, clientId)
    expect(answered.at(-1)).toMatchObject({ ...refused, clientId: '' })
    expect(JSON.stringify(answered)).not.toContain(clientSecret)
    await sent(`cli_${clientSecret}`, clientId)
    expect(answered.at(-1)).toMatchObject({ ...refused, clientId: '' })
    // Whose secret is wrong is told.
    await sent(clientId, 'wrong')
    expect(answered.at(-1)).toMatchObject({ ...refused, clientId })
  })

  it('takes no other method, no body above 4 KiB, and not more than five calls a second', async () => {
    const { url, askToken } = await openApi()
    const got = await fetch(`${url}/connect/token`)
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST'])
    const form = 'grant_type=client_credentials'
    expect((await askToken(form.padEnd(4_097, '&'))).status).toBe(400)
    const statuses: number[] = []
    for (let i = 0; i < 6; i++) statuses.push((await askToken()).status)
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429])
  })
})
