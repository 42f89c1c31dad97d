import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRawClient, exchange, type RawAnswer, requestOf } from '../support/raw-http.ts'
import {
  fastFolder,
  type RunningServer,
  startServer,
  type TemporaryFolder,
  wireEvent,
} from '../support/server.ts'
import { loggedEvents } from '../support/store-log.ts'

const torture = process.env.TORTURE !== undefined
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000_000)
const runs = (few: number) => (torture ? few * 20 : few)
const timeout = torture ? 600_000 : 30_000

/** What the gate may say; anything from 500 on is not among it. */
const statuses = [200, 400, 401, 404, 408, 413, 415]

describe(`any bytes (SEED=${seed})`, () => {
  let folder: TemporaryFolder
  const approved = new Set<string>()
  let server: RunningServer
  let port = 0
  let counter = 0

  beforeAll(async () => {
    folder = fastFolder()
    console.info(`SEED=${seed}`)
    server = await startServer({ dataDir: folder.path, args: ['--demo'] })
    port = Number(new URL(server.url).port)
  })

  // What was refused is in no record, and the server that answered all of it is still the same.
  afterAll(async () => {
    try {
      await expectGood()
      expect(await server.stop()).toBe(0)
      expect(server.output()).not.toMatch(/"level":"(error|fatal)"/)
      expect(server.output()).not.toContain('Warning')
      const logged = await loggedEvents(folder.path)
      for (const { eventId } of logged) expect(approved).toContain(eventId)
    } finally {
      await server.kill()
      folder.remove()
    }
  }, 60_000)

  function goodBody(): string {
    const eventId = `fuzz-${counter++}`
    const merchant = { mid: 'MID1', mcc: '5411', name: 'Café 名', city: 'Lagos', country: 'NG' }
    return JSON.stringify({
      ...wireEvent({ eventId, merchant, amount: 0.01 }),
      final: false,
      merchantAmount: '12.30',
      merchantCurrency: 'EUR',
    })
  }

  function check(answer: RawAnswer | null): void {
    if (answer === null) return
    expect(statuses).toContain(answer.status)
    if (answer.body === '') return
    const body = JSON.parse(answer.body) as Record<string, string>
    const decisions = answer.status === 200 ? ['approve', 'decline'] : ['decline']
    expect(decisions).toContain(body.decision)
    expect(body.responseCode).toMatch(/^\d{3}$/)
    expect(body.decidedBy).toMatch(answer.status === 200 ? /^(engine|default)$/ : /^gate$/)
    if (answer.status === 200) approved.add(body.eventId ?? '')
  }

  async function expectGood(): Promise<void> {
    const { answers } = await exchange(port, requestOf(goodBody()))
    expect(answers[0]?.status).toBe(200)
    check(answers[0] ?? null)
  }

  type Mutation = (body: Buffer) => Buffer

  /** A part of the body, by fractions of its length. */
  const span = fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(40))
  const part = (body: Buffer, [at, length]: readonly [number, number]) => {
    const from = Math.floor(at * body.length)
    return { from, to: Math.min(body.length, from + length) }
  }
  const numbers = [
    '1e400',
    '-0',
    '0.1e1',
    '1E+2',
    '00',
    '.5',
    '5.',
    '-',
    '1e',
    '0x1',
    '9'.repeat(40),
  ]
  const words = ['null', 'true', '""', '[]', '{}', '"\\ud800"', '"\\u0000"', 'NaN', '{"a":{}}']
  const names = ['__proto__', 'constructor', 'eventId', '\\u0061mount', 'requestType', 'toJSON']

  const mutation: fc.Arbitrary<Mutation> = fc.oneof(
    fc
      .tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(7))
      .map(([at, bit]) => (body: Buffer) => {
        const flipped = Buffer.from(body)
        const place = Math.min(body.length - 1, Math.floor(at * body.length))
        if (place >= 0) flipped[place] = flipped[place]! ^ (1 << bit)
        return flipped
      }),
    span.map((where) => (body: Buffer) => body.subarray(0, part(body, where).from)),
    span.map((where) => (body: Buffer) => {
      const { from, to } = part(body, where)
      return Buffer.concat([body.subarray(0, to), body.subarray(from)])
    }),
    span.map((where) => (body: Buffer) => {
      const { from, to } = part(body, where)
      return Buffer.concat([body.subarray(0, from), body.subarray(to)])
    }),
    fc.tuple(span, fc.uint8Array({ maxLength: 8 })).map(([where, bytes]) => (body: Buffer) => {
      const { from } = part(body, where)
      return Buffer.concat([body.subarray(0, from), bytes, body.subarray(from)])
    }),
    fc
      .tuple(fc.nat(20), fc.constantFrom(...numbers, ...words))
      .map(([nth, value]) => (body: Buffer) => {
        let seen = 0
        const text = body
          .toString()
          .replace(/:("[^"]*"|[0-9.]+|true|false)/g, (whole) =>
            seen++ === nth ? `:${value}` : whole,
          )
        return Buffer.from(text)
      }),
    fc
      .constantFrom(...names)
      .map(
        (name) => (body: Buffer) => Buffer.from(body.toString().replace('{', `{"${name}":"x",`)),
      ),
    fc.nat(1_000).map((turn) => (body: Buffer) => {
      try {
        const entries = Object.entries(JSON.parse(body.toString()) as object)
        const at = turn % Math.max(1, entries.length)
        return Buffer.from(
          JSON.stringify(Object.fromEntries([...entries.slice(at), ...entries.slice(0, at)])),
        )
      } catch {
        return body
      }
    }),
  )

  const client = () => createRawClient(port)

  it('as a body are answered', { timeout }, async () => {
    const relay = client()
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.json().map((text) => Buffer.from(text)),
      fc.string({ unit: 'binary', maxLength: 200 }).map((text) => Buffer.from(text)),
    )
    await fc.assert(
      fc.asyncProperty(bytes, async (body) =>
        check(await relay.send(requestOf(Buffer.from(body)))),
      ),
      { seed, numRuns: runs(400) },
    )
    relay.close()
  })

  it('that were a good body are answered, and booked only when they are understood', {
    timeout,
  }, async () => {
    const relay = client()
    const mutations = fc.array(mutation, { minLength: 1, maxLength: 3 })
    await fc.assert(
      fc.asyncProperty(mutations, async (steps) => {
        let body = Buffer.from(goodBody())
        for (const mutate of steps) body = Buffer.from(mutate(body))
        check(await relay.send(requestOf(body)))
      }),
      { seed, numRuns: runs(1_000) },
    )
    relay.close()
    await expectGood()
  })

  it('as headers are answered', { timeout }, async () => {
    const relay = client()
    const name = fc.oneof(
      fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}$/),
      fc.constantFrom('content-type', 'expect', 'connection', 'upgrade', 'accept-version', 'te'),
      fc.constantFrom('relay-signature', 'authorization', 'trailer', 'keep-alive', 'cookie'),
    )
    const value = fc.oneof(
      fc.string({ unit: 'binary-ascii', maxLength: 40 }),
      fc.constantFrom('close', '100-continue', 'application/json', 'h2c', 'a'.repeat(5_000)),
    )
    const headers = fc.array(
      fc.tuple(name, value).map((pair) => pair.join(': ')),
      { minLength: 1, maxLength: 8 },
    )
    await fc.assert(
      fc.asyncProperty(headers, async (lines) => {
        // Line breaks are for the test of raw bytes: here the body keeps its length.
        const clean = lines
          .filter((line) => !/^(content-length|transfer-encoding|host) *:/i.test(line))
          .map((line) => line.replace(/[\r\n]/g, ''))
        check(await relay.send(requestOf(goodBody(), { headers: clean })))
      }),
      { seed, numRuns: runs(300) },
    )
    relay.close()
    await expectGood()
  })

  it('instead of HTTP get 400 in the shape of a decline or a closed connection', {
    timeout,
  }, async () => {
    const piece = fc.oneof(
      fc.constantFrom('\r\n', '\n', '\r\n\r\n', ' ', ':', '\0', 'HTTP/1.1', 'POST /authorize '),
      fc.constantFrom('GET / HTTP/1.1\r\n', 'host: a\r\n', 'transfer-encoding: chunked\r\n'),
      fc.constantFrom('content-length: 5\r\n', 'content-type: application/json\r\n', '0\r\n\r\n'),
      fc.string({ unit: 'binary-ascii', maxLength: 10 }),
    )
    // The end is what no parser can wait for more after, and longer than a body that was told of.
    const end = `\0\r\n${'\0'.repeat(9)}`
    const garbage = fc.array(piece, { minLength: 1, maxLength: 12 }).map((all) => all.join(''))
    await fc.assert(
      fc.asyncProperty(fc.array(garbage, { minLength: 8, maxLength: 8 }), async (texts) => {
        const exchanges = texts.map((text) => exchange(port, text + end, { answers: 9 }))
        for (const { answers } of await Promise.all(exchanges)) {
          for (const answer of answers) check(answer)
        }
        await expectGood()
      }),
      { seed, numRuns: runs(40) },
    )
  })
})
