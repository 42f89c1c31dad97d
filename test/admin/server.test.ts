import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { createAdminServer } from '../../src/admin/server.ts'
import { type Config, readConfig } from '../../src/config/config.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { exchange } from '../support/raw-http.ts'
import {
  fastFolder,
  plainPack,
  type RunningServer,
  send,
  startServer,
  type TemporaryFolder,
} from '../support/server.ts'

const root = join(import.meta.dirname, '..', '..')
const token = 'a-token-of-operators'

interface Told {
  readonly status: number
  readonly text: string
  readonly body: Record<string, unknown>
}

async function ask(server: RunningServer, path: string, options?: RequestInit): Promise<Told> {
  const response = await fetch(`${server.adminUrl}${path}`, options)
  const text = await response.text()
  const body = path === '/metrics' && response.ok ? {} : JSON.parse(text)
  return { status: response.status, text, body }
}

const reload = (server: RunningServer) => ask(server, '/admin/rules/reload', { method: 'POST' })

describe('the operations port', () => {
  let folder: TemporaryFolder
  let server: RunningServer
  let packFile = ''
  let goodPack = ''

  beforeAll(async () => {
    folder = fastFolder()
    const rulesDir = join(folder.path, 'rules')
    cpSync(plainPack, rulesDir, { recursive: true })
    packFile = join(rulesDir, 'pack.yaml')
    goodPack = readFileSync(packFile, 'utf8')
    const env = { RULES_DIR: rulesDir }
    server = await startServer({ dataDir: join(folder.path, 'data'), args: ['--demo'], env })
  })
  afterAll(async () => {
    await server.kill()
    folder.remove()
  })
  afterEach(() => writeFileSync(packFile, goodPack))

  it('says that it lives and that it is ready', async () => {
    expect(await ask(server, '/healthz')).toMatchObject({ status: 200, body: { status: 'alive' } })
    expect(await ask(server, '/readyz')).toMatchObject({
      status: 200,
      body: { status: 'ready', engine: 'running', store: 'available', unbooked: 0 },
    })
  })

  it('says what there is for any other path, without saying the path back', async () => {
    for (const path of [
      '/',
      '/metrics/',
      '/admin',
      '/admin/rules/reload',
      '/<script>',
      '/healthz/',
    ]) {
      const { status, body } = await ask(server, path)
      expect(status).toBe(404)
      expect(body.error).toMatch(/^there is GET \/healthz, /)
    }
    const undecodable = await ask(server, '/%zz-secret')
    expect(undecodable).toMatchObject({
      status: 400,
      body: { error: 'the path is not understood' },
    })
  })

  it('loads a changed pack and decides by it', async () => {
    const before = (await ask(server, '/readyz')).body.rulesVersion
    writeFileSync(packFile, `${goodPack}\n# changed\n`)
    const { status, body } = await reload(server)
    expect({ status, told: body.status }).toEqual({ status: 200, told: 'loaded' })
    expect(body.version).not.toBe(before)
    const reply = await send(server.url, { eventId: 'after-reload' })
    expect(reply.body).toMatchObject({ decision: 'approve', rulesVersion: body.version })
    expect(await ask(server, '/metrics')).toMatchObject({
      text: expect.stringContaining(`arbiter_rules_loaded{version="${body.version}"} 1`),
    })
  })

  const brokenPacks: readonly (readonly [string, (good: string) => string, RegExp])[] = [
    ['what is no YAML', () => 'name: [', /pack\.yaml:1:\d+ /],
    [
      'an unknown field',
      (good) => `${good}\nmistyped: 1\n`,
      /pack\.yaml:\d+:1 mistyped is not known/,
    ],
    ['no such zone', (good) => good.replace('UTC', 'Mars/Olympus'), /pack\.yaml:\d+:\d+ zone Mars/],
    ['nothing in it', () => '', /pack\.yaml:1:1 is empty/],
  ]
  it.each(brokenPacks)(
    'refuses a pack with %s, says so, and goes on',
    async (name, spoil, report) => {
      await reload(server)
      const before = (await ask(server, '/readyz')).body.rulesVersion
      writeFileSync(packFile, spoil(goodPack))
      expect(await reload(server)).toMatchObject({
        status: 422,
        body: { status: 'refused', version: before, problem: expect.stringMatching(report) },
      })
      expect(await ask(server, '/readyz')).toMatchObject({
        status: 200,
        body: {
          status: 'degraded',
          rulesVersion: before,
          rulesProblem: expect.stringMatching(report),
        },
      })
      expect((await ask(server, '/metrics')).text).toContain(
        `arbiter_rules_loaded{version="${before}"} 0`,
      )
      const reply = await send(server.url, { eventId: name })
      expect(reply.body).toMatchObject({ decision: 'approve', rulesVersion: before })

      writeFileSync(packFile, goodPack)
      expect((await reload(server)).status).toBe(200)
      expect((await ask(server, '/readyz')).body.status).toBe('ready')
    },
  )

  it('does not grow its metrics with what strangers send', async () => {
    const url = new URL(server.url)
    const strangers: ((name: string) => Promise<Response>)[] = [
      (name) => fetch(new URL(`/${name}?${name}`, url), { headers: { [name]: name } }),
      (name) => fetch(`${server.adminUrl}/${name}`),
      (name) => fetch(url, { method: 'POST', body: '{', headers: { 'content-type': `a/${name}` } }),
      (name) => fetch(url, { method: 'POST', body: '{', headers: { authorization: name } }),
    ]
    async function strange(i: number): Promise<void> {
      const name = `strange-${i}`
      await send(server.url, { eventId: name, cardId: name, transactionId: name, channel: name })
      await send(server.url, { eventId: name, requestType: name })
      const response = await strangers[i % strangers.length]!(name)
      await response.arrayBuffer()
    }
    const series = async () =>
      (await ask(server, '/metrics')).text
        .split('\n')
        .map((line) => line.split(' ')[0] ?? '')
        // Node's own say which kinds of handles there are just now.
        .filter((name) => name.startsWith('arbiter_'))
        .sort()
    for (let i = 0; i < strangers.length; i++) await strange(i)
    const before = await series()
    // More than are remembered of anything.
    for (let batch = 0; batch < (process.env.TORTURE ? 20 : 4); batch++) {
      await Promise.all(Array.from({ length: 25 }, (_, i) => strange(4 + batch * 25 + i)))
    }
    const after = await series()
    // A busy machine may have the watchdog answer some of them, by causes that are few.
    const byEngine = (name: string) => !/decided_by="default"|default_decisions_total/.test(name)
    expect(after.filter(byEngine)).toEqual(before.filter(byEngine))
    expect((await ask(server, '/metrics')).text).not.toContain('strange')
  })

  it('has a metric for everything that an operator should watch', async () => {
    const { text } = await ask(server, '/metrics')
    const names = [...text.matchAll(/^# HELP (\S+) \S+/gm)].map(([, name]) => name)
    for (const name of [
      'arbiter_decisions_total',
      'arbiter_default_decisions_total',
      'arbiter_decision_seconds',
      'arbiter_refusals_total',
      'arbiter_unknown_kinds_total',
      'arbiter_rules_loaded',
      'arbiter_slots_open',
      'arbiter_unbooked',
      'arbiter_journal_bytes',
      'arbiter_journal_failures',
      'arbiter_engine_running',
      'arbiter_engine_restarts',
      'arbiter_store_available',
    ]) {
      expect(names).toContain(name)
    }
  })

  it('says stopping with 503 while answers are still pending', async () => {
    // A request that never ends holds the stop for as long as a peer is waited for.
    const half = connect(Number(new URL(server.url).port), '127.0.0.1')
    half.on('error', () => {})
    await new Promise<void>((resolve) =>
      half.write('POST /authorize HTTP/1.1\r\n', () => resolve()),
    )
    await send(server.url, { eventId: 'before-the-stop' })
    const stopped = server.stop()
    const seen: unknown[] = []
    for (;;) {
      const told = await ask(server, '/readyz').catch(() => null)
      if (told === null) break
      if (told.body.status === 'stopping') seen.push(told.status)
    }
    half.destroy()
    expect(await stopped).toBe(0)
    expect(seen.length).toBeGreaterThan(0)
    expect(new Set(seen)).toEqual(new Set([503]))
  })
})

describe('the token of the operations port', () => {
  it('is needed for everything but whether it lives and is ready', async () => {
    const folder = fastFolder()
    const env = { ADMIN_TOKEN: token }
    const server = await startServer({ dataDir: folder.path, args: ['--demo'], env })
    try {
      expect((await ask(server, '/healthz')).status).toBe(200)
      const bare = await ask(server, '/readyz')
      expect(bare).toMatchObject({ status: 200, body: { status: 'ready' } })
      expect(Object.keys(bare.body)).toEqual(['status'])
      const headers = { authorization: `Bearer ${token}` }
      expect((await ask(server, '/readyz', { headers })).body).toMatchObject({ engine: 'running' })
      const wrong = [
        '',
        token,
        `Bearer ${token} x`,
        `Bearer ${token.slice(0, -1)}`,
        `Basic ${token}`,
      ]
      const calls: [string, string][] = [
        ['GET', '/metrics'],
        ['GET', '/readyz?detail'],
        ['POST', '/admin/rules/reload'],
        ['GET', '/unknown'],
        ['GET', '/healthz/../metrics'],
        ['HEAD', '/metrics'],
      ]
      for (const [method, path] of calls) {
        for (const authorization of wrong) {
          const headers = { authorization }
          const response = await fetch(`${server.adminUrl}${path}`, { method, headers })
          expect(response.status, `${method} ${path} ${authorization}`).toBe(401)
          expect(await response.text()).not.toContain(token)
        }
        const headers = { authorization: `Bearer ${token}` }
        const response = await fetch(`${server.adminUrl}${path}`, { method, headers })
        expect(response.status).toBe(path === '/unknown' ? 404 : 200)
        await response.arrayBuffer()
      }
    } finally {
      await server.kill()
      folder.remove()
    }
  })

  it('is compared in constant time', () => {
    const source = readFileSync(join(root, 'src', 'admin', 'server.ts'), 'utf8')
    expect(source).toContain('timingSafeEqual(digest(')
    expect(source).not.toMatch(/authorization\s*[!=]==/)
  })
})

function createLocal(env: NodeJS.ProcessEnv = {}) {
  const reloads: string[] = []
  const server = createAdminServer({
    config: readConfig(env) as Config,
    metrics: createMetrics(() => {
      throw new Error('nobody asks')
    }),
    readiness: () => ({ status: 'ready', detail: { engine: 'running' } }),
    async reloadRules() {
      reloads.push('reload')
      return { version: 'v', problem: '' }
    },
    acceptClock: () => true,
  })
  return { server, reloads }
}

describe('the operations port without a token', () => {
  const post = { method: 'POST', url: '/admin/rules/reload' } as const

  it.each(['localhost', 'LOCALHOST:8081', '127.0.0.1:9', '[::1]:8081', '127.8.8.8'])(
    'is called %s',
    async (host) => {
      const { server, reloads } = createLocal()
      const { statusCode } = await server.inject({ ...post, headers: { host } })
      expect({ statusCode, reloads }).toEqual({ statusCode: 200, reloads: ['reload'] })
    },
  )

  it.each([
    'evil.example',
    'evil.example:8081',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
  ])('does not answer to the name %s, which a page may have made to point here', async (host) => {
    const { server, reloads } = createLocal()
    for (const url of ['/healthz', '/readyz', '/metrics']) {
      expect((await server.inject({ url, headers: { host } })).statusCode).toBe(403)
    }
    expect((await server.inject({ ...post, headers: { host } })).statusCode).toBe(403)
    expect(reloads).toEqual([])
  })

  const fromPages: readonly (readonly [name: string, headers: Record<string, string>])[] = [
    ['another site', { origin: 'https://evil.example' }],
    ['another port of this host', { origin: 'http://localhost:3000' }],
    ['a sandboxed frame', { origin: 'null' }],
    ['another site, without an origin', { 'sec-fetch-site': 'cross-site' }],
    ['another site by a form', { origin: 'https://evil.example', 'content-type': 'text/plain' }],
  ]
  it.each(fromPages)('changes nothing for a page of %s', async (_name, headers) => {
    for (const env of [{}, { ADMIN_TOKEN: token }]) {
      const { server, reloads } = createLocal(env)
      const { statusCode } = await server.inject({
        ...post,
        headers: { host: 'localhost:8081', authorization: `Bearer ${token}`, ...headers },
      })
      expect({ statusCode, reloads }).toEqual({ statusCode: 403, reloads: [] })
    }
  })

  it('is open to its own pages', async () => {
    const { server } = createLocal()
    const headers = {
      host: 'localhost:8081',
      origin: 'http://localhost:8081',
      'sec-fetch-site': 'same-origin',
    }
    expect((await server.inject({ ...post, headers })).statusCode).toBe(200)
  })

  it('keeps 32 connections, the newest', async () => {
    const { server } = createLocal()
    await server.listen({ host: '127.0.0.1', port: 0 })
    const { port } = server.server.address() as AddressInfo
    const sockets = Array.from({ length: 40 }, () => connect(port, '127.0.0.1'))
    await vi.waitFor(() => expect(sockets.filter(({ closed }) => closed)).toHaveLength(8))
    const response = await fetch(`http://127.0.0.1:${port}/healthz`)
    expect(response.status).toBe(200)
    await response.arrayBuffer()
    for (const socket of sockets) socket.destroy()
    await server.close()
  })

  it('closes a connection that has more than 16 requests without an answer', async () => {
    const { server } = createLocal()
    await server.listen({ host: '127.0.0.1', port: 0 })
    const { port } = server.server.address() as AddressInfo
    const one = 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n'
    expect(await exchange(port, one.repeat(16), { answers: 16 })).toMatchObject({ closed: false })
    expect(await exchange(port, one.repeat(17), { answers: 17 })).toMatchObject({ closed: true })
    await server.close()
  })
})

describe('a reload that nobody answers', () => {
  afterEach(() => vi.useRealTimers())

  it('is told so after a while', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const server = createAdminServer({
      config: readConfig({}) as Config,
      metrics: createMetrics(() => {
        throw new Error('nobody asks')
      }),
      readiness: () => ({ status: 'degraded', detail: {} }),
      reloadRules: () => new Promise(() => {}),
      acceptClock: () => true,
    })
    const calling = server.inject({ method: 'POST', url: '/admin/rules/reload' })
    await new Promise((resolve) => setImmediate(resolve))
    await vi.advanceTimersByTimeAsync(30_000)
    const { statusCode, body } = await calling
    expect(statusCode).toBe(503)
    expect(body).toContain('the pack is neither loaded nor refused after 30 s')
    await server.close()
  })
})

it('metrics are made once for all who ask at once, and anew for who asks later', async () => {
  let made = 0
  const server = createAdminServer({
    config: readConfig({}) as Config,
    metrics: { ...createMetrics(() => ({}) as never), text: async () => String(++made) },
    readiness: () => ({ status: 'ready', detail: {} }),
    reloadRules: () => new Promise(() => {}),
    acceptClock: () => true,
  })
  const ask = async () => Number((await server.inject('/metrics')).body)
  await Promise.all(Array.from({ length: 100 }, ask))
  expect(made).toBeLessThan(10)
  const before = made
  expect(await ask()).toBeGreaterThan(before)
  await server.close()
})
