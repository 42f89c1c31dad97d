import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { refuse } from '../../src/api/condition.ts'
import type { ApiContext } from '../../src/api/context.ts'
import { defineRoute } from '../../src/api/route.ts'
import { addClient, setClientEnabled } from '../../src/management/client.ts'
import { openApi } from '../support/api-world.ts'
import type { Fault } from '../support/memory-store.ts'

const target = '/api/v1/notes'

/** A route that changes something; `decide` gives null for a refusal. */
function notes(decide: (text: string) => string | null = (text) => text) {
  const kept: string[] = []
  const routes = ({ effects }: ApiContext) => [
    defineRoute({
      operation: 'notes.add',
      summary: 'Keep a note',
      method: 'POST',
      path: '/notes',
      scope: 'CardAPIs.Fund',
      params: z.object({}),
      query: z.object({}),
      body: z.object({ text: z.string().max(100), tags: z.array(z.string()).max(3).optional() }),
      data: z.object({ kept: z.string() }),
      reads: false,
      refusals: ['notPermitted'],
      handle: (call) =>
        effects.onAggregate(call, 'notes', () => {
          kept.push(call.body.text)
          const text = decide(call.body.text)
          if (text === null) return refuse('notPermitted', 'no such note')
          return { data: { kept: text }, write: { root: text } }
        }),
    }),
  ]
  return { kept, routes }
}

/** Sends bytes as they are, and resolves to what came back until the server or the time ended it. */
async function rawCall(url: string, head: string, ms = 1_000): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  let text = ''
  socket.setEncoding('latin1')
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(head)
  // A reset after the answer is a close like any other.
  await Promise.race([new Promise((resolve) => socket.once('close', resolve)), sleep(ms)])
  socket.destroy()
  return text
}

describe('a call that is meant to hurt', () => {
  it('gets nowhere with a header that stands twice', async () => {
    const { url, headersOf } = await openApi()
    const headers = await headersOf('GET', '/api/v1/organization')
    for (const name of Object.keys(headers)) {
      const lines = Object.entries(headers).map(([key, value]) => `${key}: ${value}`)
      const twice = [...lines, `${name.toUpperCase()}: ${headers[name]}`].join('\r\n')
      const { host } = new URL(url)
      const head = `GET /api/v1/organization HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n${twice}\r\n\r\n`
      const answer = await rawCall(url, head)
      expect(answer, name).toMatch(/^HTTP\/1\.1 40[01] /)
      expect(answer, name).not.toContain('"organizationId"')
    }
  })

  it('gets nowhere with a token of another client, or with an old one', async () => {
    const { aggregates, box, headersOf, call, time, credentials } = await openApi()
    const other = await addClient(
      aggregates,
      box,
      { organizationId: 'org-1', name: 'other', scopes: ['CardAPIs'] },
      time.ms,
    )
    const stolen = await headersOf('GET', '/api/v1/organization')
    const service = `ServiceAuth ${Buffer.from(other.clientId).toString('base64')}`
    const swapped = { ...stolen, serviceauthorization: service, uniquekey: other.uniqueKey }
    const { status, body } = await call('GET', '/api/v1/organization', swapped)
    expect([status, body.responseCode]).toEqual([401, '146'])
    time.ms += 931_000
    const late = await call('GET', '/api/v1/organization', stolen)
    expect(late.body.message).toContain('expired')
    expect(late.headers.get('www-authenticate')).toContain('invalid_token')
    expect(JSON.stringify(late.body)).not.toContain(credentials.uniqueKey)
  })

  it('loses its connection by more than sixteen requests at once', async () => {
    const { url } = await openApi()
    const one = `GET /openapi.json HTTP/1.1\r\nhost: ${new URL(url).host}\r\n\r\n`
    const answers = await rawCall(url, one.repeat(200))
    const count = answers.split('HTTP/1.1 ').length - 1
    expect(count).toBeLessThanOrEqual(16)
  })

  it('is not read further than its head when it is not let in', async () => {
    const { url, bugs } = await openApi()
    const { host } = new URL(url)
    const head = `POST ${target} HTTP/1.1\r\nhost: ${host}\r\nreference: r\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n{"text":`
    const answer = await rawCall(url, head)
    expect(answer).toMatch(/^HTTP\/1\.1 401 /)
    expect(bugs).toEqual([])
  })

  it.each([
    ['no JSON', '{"text":', '136'],
    ['a name twice', '{"text":"a","text":"b"}', '136'],
    ['a deep nest', `{"text":"a","x":${'['.repeat(5_000)}${']'.repeat(5_000)}}`, '136'],
    ['a large body', JSON.stringify({ text: 'a', x: 'x'.repeat(140_000) }), '136'],
    ['many names', `{"text":"a",${Array.from({ length: 500 }, (_, i) => `"n${i}":1`)}}`, '136'],
    ['no object', '[]', '136'],
    ['a missing field', '{}', '158'],
    ['a long text', JSON.stringify({ text: 'a'.repeat(101) }), '136'],
    ['a long list', JSON.stringify({ text: 'a', tags: ['1', '2', '3', '4'] }), '136'],
    ['a slip', JSON.stringify({ text: 'a', tag: [] }), '131'],
    ['a half of a surrogate', '{"text":"\\ud800"}', '136'],
  ])('with %s changes nothing', async (_name, body, code) => {
    const { kept, routes } = notes()
    const { headersOf, call, bugs } = await openApi({ routes })
    const headers = await headersOf('POST', target)
    const answer = await call('POST', target, headers, body)
    expect([answer.status, answer.body.responseCode]).toEqual([400, code])
    expect(kept).toEqual([])
    expect(bugs).toEqual([])
    // What was refused before it began may be sent again, mended.
    const again = await call('POST', target, headers, '{"text":"a"}')
    expect(again.status).toBe(200)
  })

  it('with another content type, a method or a scope that it does not have changes nothing', async () => {
    const { kept, routes } = notes()
    const { headersOf, call } = await openApi({ routes, scopes: ['CardAPIs.Read'] })
    const headers = await headersOf('POST', target)
    expect((await call('POST', target, headers, '{"text":"a"}')).body.responseCode).toBe('149')
    const patch = await headersOf('PATCH', target)
    expect((await call('PATCH', target, patch, '{"text":"a"}')).body.responseCode).toBe('131')
    expect(kept).toEqual([])
  })
})

describe('a Reference', () => {
  it('lets a call be done once, whatever is sent under it later', async () => {
    const { kept, routes } = notes()
    const { headersOf, call } = await openApi({ routes })
    const headers = await headersOf('POST', target, { reference: 'Once' })
    expect((await call('POST', target, headers, '{"text":"a"}')).body.data).toEqual({ kept: 'a' })
    for (const body of ['{"text":"a"}', '{"text":"b"}', '{']) {
      const again = await call('POST', target, headers, body)
      expect([again.status, again.body.responseCode]).toEqual([400, '139'])
    }
    expect(kept).toEqual(['a'])
  })

  it('may be tried again after a refusal with the same payload, and not with another', async () => {
    const answers = [null, 'kept']
    const { kept, routes } = notes(() => answers.shift()!)
    const { headersOf, call } = await openApi({ routes })
    const headers = await headersOf('POST', target, { reference: 'Again' })
    expect((await call('POST', target, headers, '{"text":"a"}')).status).toBe(422)
    expect((await call('POST', target, headers, '{"text":"b"}')).body.responseCode).toBe('139')
    const done = await call('POST', target, headers, '{ "text": "a" }')
    expect(done.body.data).toEqual({ kept: 'kept' })
    expect(kept).toEqual(['a', 'a'])
  })

  it('stays free when the store refuses, and is unknown when its answer is lost', async () => {
    const faults: Fault[] = []
    const { routes } = notes()
    const world = await openApi({
      routes,
      faults: () => faults.shift() ?? { kind: 'none' },
    })
    const headers = await world.headersOf('POST', target, { reference: 'Store' })
    faults.push({ kind: 'replyLost' }, { kind: 'refused' })
    // Both are tried again until they are known.
    const { status } = await world.call('POST', target, headers, '{"text":"a"}')
    expect(status).toBe(200)
    expect((await world.call('POST', target, headers, '{"text":"a"}')).body.responseCode).toBe(
      '139',
    )
  })

  it('says 911 for a bug, without a word about it', async () => {
    const { routes } = notes(() => {
      throw new Error('a secret detail')
    })
    const { headersOf, call, bugs } = await openApi({ routes })
    const { status, body } = await call(
      'POST',
      target,
      await headersOf('POST', target),
      '{"text":"a"}',
    )
    expect([status, body.responseCode]).toEqual([500, '911'])
    expect(JSON.stringify(body)).not.toContain('secret')
    expect(bugs).toHaveLength(1)
  })
})

describe('a request that is hardly one', () => {
  const organization = '/api/v1/organization'
  const headOf = (method: string, path: string, url: string, headers: Record<string, string>) => {
    const given = { host: new URL(url).host, ...headers }
    const lines = Object.entries(given).map(([name, value]) => `${name}: ${value}`)
    return `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n`
  }

  it('may write the names of its headers as it likes', async () => {
    const { url, headersOf } = await openApi()
    for (const write of [
      (name: string) => name.toUpperCase(),
      (name: string) => name.replace(/./g, (c, i) => (i % 2 === 0 ? c.toUpperCase() : c)),
    ]) {
      const headers = Object.entries(await headersOf('GET', organization))
      const written = Object.fromEntries(headers.map(([name, value]) => [write(name), value]))
      const head = headOf('GET', organization, url, { ...written, Connection: 'close' })
      expect(await rawCall(url, `${head}\r\n`)).toMatch(/^HTTP\/1\.1 200 /)
    }
  })

  it.each([
    ['headers of a mebibyte', (head: string) => `${head}x: ${'x'.repeat(1 << 20)}\r\n\r\n`],
    ['no HTTP', () => 'nonsense\r\n\r\n'],
    ['two lengths', (head: string) => `${head}content-length: 1\r\ncontent-length: 2\r\n\r\n{}`],
  ])('with %s is told so in the envelope, and loses its connection', async (_name, bytesOf) => {
    const { url, headersOf, bugs } = await openApi()
    const head = headOf('GET', organization, url, await headersOf('GET', organization))
    const answer = await rawCall(url, bytesOf(head))
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toContain('"responseCode":"136"')
    expect(answer).toContain('"finality":"TerminalFailure"')
    expect(bugs).toEqual([])
  })

  it('with a body that does not end is refused at the most that is read', async () => {
    const { kept, routes } = notes()
    const { url, headersOf, bugs } = await openApi({ routes })
    const headers = { ...(await headersOf('POST', target)), 'transfer-encoding': 'chunked' }
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`
    const head = headOf('POST', target, url, { ...headers, 'content-type': 'application/json' })
    const answer = await rawCall(url, `${head}\r\n${chunk.repeat(4)}`)
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toContain('"responseCode":"136"')
    expect([kept, bugs]).toEqual([[], []])
  })
})

describe('a clock that jumps', () => {
  it('ends tokens early when it goes ahead, and lets no disabled client in when it goes back', async () => {
    const target = '/api/v1/organization'
    const { aggregates, credentials, headersOf, call, time } = await openApi()
    const headers = await headersOf('GET', target)
    time.jumpMs = 3_600_000
    const ahead = await call('GET', target, headers)
    expect([ahead.status, ahead.body.responseCode]).toEqual([401, '146'])
    expect((await call('GET', target, await headersOf('GET', target))).status).toBe(200)
    const ofAhead = await headersOf('GET', target)
    await setClientEnabled(aggregates, credentials.clientId, false, 0)
    time.jumpMs = 0
    const back = await call('GET', target, headers)
    expect([back.status, back.body.responseCode]).toEqual([403, '149'])
    const early = await call('GET', target, ofAhead)
    expect([early.status, early.body.responseCode]).toEqual([401, '146'])
  })
})

describe('a store that is away', () => {
  it('is said with 503 and when to come again, and nothing was done', async () => {
    const { kept, routes } = notes()
    const { store, headersOf, call, bugs } = await openApi({ routes })
    const headers = await headersOf('POST', target)
    await store.close()
    const { status, body, headers: got } = await call('POST', target, headers, '{"text":"a"}')
    expect([status, body.responseCode, body.finality]).toEqual([503, '150', 'Indeterminate'])
    expect(got.get('retry-after')).toBe('1')
    expect([kept, bugs]).toEqual([[], []])
  })
})

describe('ten thousand wrong signatures', () => {
  it('leave right calls through', async () => {
    const { headersOf, call, time } = await openApi()
    const good = await headersOf('GET', '/api/v1/organization')
    const wrong = { ...good, signature: `${'A'.repeat(54)}==` }
    const codes = new Map<unknown, number>()
    const count = process.env.TORTURE ? 10_000 : 300
    for (let i = 0; i < count; i += 50) {
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => call('GET', '/api/v1/organization', wrong)),
      )
      for (const { body } of answers) {
        codes.set(body.responseCode, (codes.get(body.responseCode) ?? 0) + 1)
      }
      time.ms += 1_000
      const right = await headersOf('GET', '/api/v1/organization')
      expect((await call('GET', '/api/v1/organization', right)).status).toBe(200)
    }
    // Twenty are explained, then a few more as time passes.
    expect(codes.get('146')).toBeLessThan(20 + count / 50 + 1)
    expect(codes.get('170')).toBeGreaterThan(count / 2)
  })
})
