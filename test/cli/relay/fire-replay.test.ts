import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { makeCertificate } from '../../support/certificate.ts'
import { type CliWorld, createCliWorld, rowOf } from '../../support/cli.ts'
import { type RunningServer, startServer, wireEvent } from '../../support/server.ts'

const secret = 'a secret of the relay'
const cards = 30

let world: CliWorld
let server: RunningServer

/** One server for all tests: each has cards of its own. */
beforeAll(async () => {
  world = await createCliWorld()
  await world.importRows(...Array.from({ length: cards }, (_, card) => rowOf(card)))
  server = await startServer({
    dataDir: String(world.env.DATA_DIR),
    env: { RELAY_SECRET: secret },
  })
})

afterAll(async () => {
  await server?.kill()
  await world?.dispose()
})

const signed = { env: { RELAY_SECRET: secret, DATA_DIR: '/nowhere' } }

function fire(...args: string[]) {
  return world.runWith(signed, 'relay', 'fire', '--url', server.url, ...args)
}

describe('traffic that the server does not decide on', () => {
  const report = () => join(world.folder, 'none.json')

  it('is stopped when it is not let in, and there is no report of it', async () => {
    const args = ['--url', server.url, '--seconds', '30', '--report', report()]
    for (const kind of ['run', 'disorder']) {
      const { code, out, err } = await world.run('relay', kind, ...args)
      expect({ code, out }).toEqual({ code: 2, out: '' })
      expect(err).toMatch(
        /^arbiter: http.* does not let this in \(HTTP 401\): set RELAY_SECRET.*\n$/,
      )
    }
    const input = JSON.stringify(wireEvent({ eventId: 'n1', cardId: 'card-1' }))
    const replayed = await world.runWith(
      { input },
      ...['relay', 'replay', '-', '--url', server.url, '--report', report()],
    )
    expect(replayed).toMatchObject({ code: 2, err: expect.stringContaining('HTTP 401') })
    const conformance = ['conformance', server.url, '--run-id', 'r1', '--only', 'refund']
    expect(await world.run(...conformance)).toMatchObject({
      code: 2,
      err: expect.stringContaining('HTTP 401'),
    })
    expect(existsSync(report())).toBe(false)
  }, 60_000)

  it('is stopped when something else answers there', async () => {
    const answers = { '/none': [404, ''], '/other': [200, '{"approved":true}'], '/to': [302, ''] }
    const stub = createServer((request, response) => {
      const [status, text] = answers[request.url as keyof typeof answers]
      response.writeHead(status as number).end(text)
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void stub.close())
    await once(stub, 'listening')
    const { port } = stub.address() as AddressInfo
    const words = { '/none': 'HTTP 404', '/other': 'RELAY_PROFILE=default', '/to': 'HTTP 302' }
    for (const [path, word] of Object.entries(words)) {
      const url = `http://127.0.0.1:${port}${path}`
      const { code, err } = await world.run('relay', 'run', '--url', url)
      expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(word) })
    }
  }, 60_000)
})

describe('arbiter relay fire', () => {
  it('tells approve, decline and not understood apart by its exit code, and needs no store', async () => {
    const approved = await fire('--card', 'card-1', '--amount', '12.50')
    expect(approved.out).toMatch(/^POST http.*\n\{"eventId":"evt-.*\n\nHTTP 200 after [\d.]+ ms\n/)
    expect(approved.out).toContain('"responseCode":"000"')
    expect(approved.code).toBe(0)

    const declined = await fire('--card', 'card-1', '--amount', '5000', '--json')
    const { answer, inTime } = JSON.parse(declined.out)
    expect({ code: declined.code, inTime }).toEqual({ code: 1, inTime: true })
    expect(answer.body).toMatchObject({ decision: 'decline', responseCode: '116' })

    const stranger = { env: { RELAY_SECRET: 'another secret of 16' } }
    const refused = await world.runWith(stranger, 'relay', 'fire', '--url', server.url)
    expect(refused.out).toContain('HTTP 401')
    expect(refused.err).toMatch(/does not let this in \(HTTP 401\): set RELAY_SECRET, or /)
    expect(refused.code).toBe(2)
  })

  it('does not take an answer in another shape for an approval', async () => {
    const stub = createServer((_, response) => response.end('{"approved":false}'))
    onTestFinished(() => void stub.close())
    await once(stub.listen(0, '127.0.0.1'), 'listening')
    const { port } = stub.address() as AddressInfo
    const fired = await fire('--url', `http://127.0.0.1:${port}/authorize`)
    expect(fired).toMatchObject({ code: 2, err: expect.stringContaining('in another shape') })
  })

  it('speaks to the server of its own environment', async () => {
    const { port } = new URL(server.url)
    const env = { ...signed.env, PORT: port }
    const fired = await world.runWith({ env }, 'relay', 'fire', '--card', 'card-1')
    expect(fired).toMatchObject({ code: 0, out: expect.stringContaining(`127.0.0.1:${port}/`) })
  })

  it('says what a certificate lacks, and takes those that it is given', async () => {
    const own = makeCertificate('localhost')
    const client = makeCertificate('relay', own)
    const seen: string[] = []
    const { key, cert } = { key: own.keyPem, cert: own.certPem }
    const tls = { key, cert, ca: cert, requestCert: true, rejectUnauthorized: false }
    const stub = createTlsServer(tls, (request, response) => {
      const { subject } = (request.socket as TLSSocket).getPeerCertificate()
      seen.push(`${subject?.CN} ${request.headers.authorization}`)
      response.end('{"decision":"approve","responseCode":"000"}')
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void stub.close())
    await once(stub, 'listening')
    const [ca, clientCert, clientKey] = await Promise.all([
      world.write('ca.pem', own.certPem),
      world.write('client.pem', client.certPem),
      world.write('client.key', client.keyPem),
    ])
    const { port } = stub.address() as AddressInfo
    const url = `https://localhost:${port}/authorize`
    const basic = { RELAY_AUTH: 'basic', RELAY_USER: 'u', RELAY_PASSWORD: 'p'.repeat(16) }
    const env = { ...world.env, ...basic }
    const fireAt = (...args: string[]) => world.runWith({ env }, 'relay', 'fire', ...args)
    const strange = await fireAt('--url', url)
    expect(strange.code).toBe(3)
    expect(strange.out).toContain('no answer (its certificate is self-signed: name that with --ca')
    const run = await world.runWith({ env }, 'relay', 'run', '--url', url)
    expect(run).toMatchObject({ code: 2, err: expect.stringContaining('is self-signed') })
    const known = await fireAt('--url', url, '--ca', ca, '--cert', clientCert, '--key', clientKey)
    expect(known.code, known.out).toBe(0)
    const own2 = { ...env, HOST: 'localhost', PORT: String(port), TLS_CERT_FILE: ca }
    const environs = await world.runWith({ env: own2 }, 'relay', 'fire')
    expect(environs.code, environs.out).toBe(0)
    const header = `Basic ${Buffer.from(`u:${'p'.repeat(16)}`).toString('base64')}`
    expect(seen).toEqual([`relay ${header}`, `undefined ${header}`])
    const none = await fireAt('--url', url, '--cert', 'nofile')
    expect(none.err).toContain('The file cannot be read (ENOENT)')
  })

  it('sends what the flags say', async () => {
    const ids = ['--card', 'card-2', '--transaction', 't1']
    expect((await fire(...ids, '--amount', '60', '--event', 'e1')).code).toBe(0)
    const settled = [...ids, '--type', 'Settlement', '--amount', '20', '--final', 'false']
    expect((await fire(...settled)).code).toBe(0)
    const { out } = await world.run('show', 'account', 'account-2')
    expect(JSON.parse(out)).toMatchObject({ postedMinor: 98_000, heldMinor: 4000 })
    const body = JSON.stringify(wireEvent({ eventId: 'e9', cardId: 'card-2', amount: '1.00' }))
    const args = ['relay', 'fire', '--url', server.url, '--file', '-']
    const filed = await world.runPiped({ ...signed, input: body }, ...args)
    expect(filed.out).toContain('"eventId":"e9"')
    expect(filed.code).toBe(0)
  })

  it('has an exit code of its own for no answer within 400 ms', async () => {
    const slow = createServer((_, response) => {
      setTimeout(() => response.end('{"decision":"approve","responseCode":"000"}'), 700)
    }).listen(0, '127.0.0.1')
    onTestFinished(() => {
      slow.closeAllConnections()
      slow.close()
    })
    await once(slow, 'listening')
    const { port } = slow.address() as AddressInfo
    const late = await world.run('relay', 'fire', '--url', `http://127.0.0.1:${port}/`)
    expect(late.out).toMatch(/after \d+\.\d ms: later than 400 ms, too late/)
    expect(late.code).toBe(3)
    slow.close()
    const gone = await world.run('relay', 'fire', '--url', `http://127.0.0.1:${port}/`)
    expect(gone.out).toContain('no answer (ECONNREFUSED): is the server running?')
    expect(gone.code).toBe(3)
  })
})

describe('arbiter relay replay', () => {
  const settled = {
    eventId: 'e2',
    transactionId: 't1',
    amount: '45.00',
    requestType: 'Settlement',
    final: false,
  }

  function linesOf(cardId: string): string[] {
    return [
      { eventId: 'e1', transactionId: 't1', amount: '60.00' },
      settled,
      settled,
      { eventId: 'e3', transactionId: 't3', amount: '5000.00' },
    ].map((given) => JSON.stringify(wireEvent({ cardId, ...given })))
  }

  async function replay(input: string, ...args: string[]) {
    const command = ['relay', 'replay', '-', '--url', server.url, ...args]
    return world.runWith({ env: { RELAY_SECRET: secret }, input }, ...command)
  }

  /** An answer that is late is this machine's business, and changes what is sent after it. */
  function isStalled(json: string): boolean {
    const { unanswered, byDefault } = JSON.parse(json)
    return unanswered + byDefault > 0
  }

  let nextCard = 10

  /** On another card when the machine stalled, which `compare` says by false; some try must be compared. */
  async function onSomeCard(compare: (card: number) => Promise<boolean>): Promise<void> {
    while (nextCard < cards) if (await compare(nextCard++)) return
    expect.fail('the machine stalled in every try: nothing was compared')
  }

  it(
    'sends a file in its order, and the audit agrees',
    () =>
      onSomeCard(async (card) => {
        const report = join(world.folder, 'report.json')
        const input = linesOf(`card-${card}`).join('\n')
        const sent = await replay(input, '--speed', 'max', '--json', '--report', report)
        const audited = await world.run('relay', 'audit', report)
        expect(audited.out).toContain(' 0 differences, ')
        if (isStalled(sent.out)) return false
        expect(JSON.parse(sent.out)).toMatchObject({ deliveries: 4, approved: 3, declined: 1 })
        expect(audited.out).toContain('2 transactions, 3 events: ')
        const { out } = await world.run('show', 'account', `account-${card}`)
        expect(JSON.parse(out)).toMatchObject({ postedMinor: 95_500, heldMinor: 1500 })
        return true
      }),
    90_000,
  )

  it(
    'sends what the log of decisions tells, once more and under new names',
    () =>
      onSomeCard(async (card) => {
        const sent = await replay(linesOf(`card-${card}`).join('\n'), '--speed', 'max', '--json')
        const log = await world.run('log', '--json', '--account', `account-${card}`)
        const again = await replay(log.out, '--speed', 'max', '--json')
        const renamed = await replay(log.out, '--speed', 'max', '--rename', 'again-', '--json')
        if ([sent, again, renamed].some(({ out }) => isStalled(out))) return false
        expect(JSON.parse(again.out)).toMatchObject({ deliveries: 3, approved: 2, declined: 1 })
        const twice = await world.run('show', 'account', `account-${card}`)
        expect(JSON.parse(twice.out)).toMatchObject({ postedMinor: 91_000, heldMinor: 3000 })
        return true
      }),
    90_000,
  )

  it(
    'knows a transaction by the name of its original too',
    () =>
      onSomeCard(async (card) => {
        const report = join(world.folder, 'report.json')
        const input = [
          {
            eventId: 'j1',
            transactionId: 'hotel',
            requestType: 'PreAuthorization',
            amount: '90.00',
          },
          { eventId: 'j2', transactionId: 'more', originalTransactionId: 'hotel', amount: '70.00' },
          {
            eventId: 'j3',
            transactionId: 'paid',
            originalTransactionId: 'hotel',
            requestType: 'Settlement',
            amount: '30.00',
            final: false,
          },
        ].map((given, i) =>
          JSON.stringify(
            wireEvent({
              cardId: `card-${card}`,
              occurredAt: new Date(Date.now() + 800 * i),
              ...given,
            }),
          ),
        )
        const sent = await replay(input.join('\n'), '--json', '--report', report)
        const audited = await world.run('relay', 'audit', report)
        expect(audited.out).toContain(' 0 differences, ')
        if (isStalled(sent.out)) return false
        expect(audited.out).toContain('1 transactions, 3 events: ')
        const { out } = await world.run('show', 'account', `account-${card}`)
        expect(JSON.parse(out)).toMatchObject({ postedMinor: 97_000, heldMinor: 6000 })
        return true
      }),
    90_000,
  )

  it('keeps the recorded pace, or a multiple of it', async () => {
    const at = (ms: number) => new Date(Date.now() + ms).toISOString()
    const paced = [0, 4000].map((ms, i) =>
      JSON.stringify(wireEvent({ eventId: `p${i}`, cardId: 'card-6', occurredAt: at(ms) })),
    )
    const { out } = await replay(paced.join('\n'), '--speed', '4x', '--json')
    expect(JSON.parse(out).seconds).toBeGreaterThan(0.99)
  })

  it('names the lines that it cannot read, and sends the others', async () => {
    const input = [linesOf('card-7')[0], 'nonsense', rowOf(8), '{"eventId":"e"}'].join('\n')
    const { code, out, err } = await replay(input)
    expect(out).toMatch(/^1 sent/)
    expect(err).toContain('line 2: the line is not JSON')
    expect(err).toContain('line 3: this is a card, not an event')
    expect(err).toContain('line 4: requestType is required')
    expect(code).toBe(2)
    expect(await world.run('relay', 'replay', 'nofile')).toMatchObject({
      code: 2,
      err: expect.stringContaining('nofile cannot be read (ENOENT)'),
    })
  })
})
