import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readPackTests } from '../../src/rules/testing/test-document.ts'
import { askConsole, type ConsoleWorld, startConsoleServer } from '../support/console-world.ts'
import { send, temporaryFolder } from '../support/server.ts'

const folder = temporaryFolder()
const files = {
  CONSOLE_VIEWERS_FILE: join(folder.path, 'viewers'),
  CONSOLE_OPERATORS_FILE: join(folder.path, 'operators'),
}
const root = join(import.meta.dirname, '..', '..')
let world: ConsoleWorld

function addUser(name: string, role: string, env: Record<string, string> = files): string {
  return execFileSync(
    process.execPath,
    [
      join(root, 'dist/cli/main.js'),
      'console',
      'user',
      'add',
      name,
      '--role',
      role,
      '--password-stdin',
    ],
    {
      env: { PATH: process.env.PATH ?? '', ...env },
      // The end of a line as Windows writes it is no part of a password.
      input: `${name} has a password\r\n`,
      encoding: 'utf8',
    },
  )
}

const json = { 'content-type': 'application/json' }

function own(): Record<string, string> {
  return { ...json, host: `localhost:${world.port}`, origin: world.url }
}

async function logIn(name: string, password = `${name} has a password`) {
  return askConsole(world.port, 'POST', '/login', own(), { name, password })
}

async function cookieOf(name: string): Promise<string> {
  const { headers } = await logIn(name)
  return String(headers['set-cookie']?.[0]).split(';')[0]!
}

/** A pack with a rule that looks at whose card it is. */
function writeRules(): string {
  const rulesDir = join(folder.path, 'rules')
  mkdirSync(rulesDir)
  writeFileSync(join(rulesDir, 'pack.yaml'), 'name: persons\n')
  const rule = { id: 'guests', on: ['Authorization'], when: 'card.customerId == "guest"' }
  const rules = [{ ...rule, decline: '127', why: 'Guests pay in cash' }]
  writeFileSync(join(rulesDir, 'person.rules.yaml'), JSON.stringify(rules))
  return rulesDir
}

beforeAll(async () => {
  addUser('alice', 'operator')
  addUser('victor', 'viewer')
  world = await startConsoleServer({
    dataDir: join(folder.path, 'data'),
    env: { ...files, CONSOLE_URL: 'https://console.example', RULES_DIR: writeRules() },
    args: ['--demo'],
  })
})

afterAll(async () => {
  await world.server.stop()
  folder.remove()
})

describe('users of the console', () => {
  it('are kept by a hash of their password, in a file of their own', () => {
    const text = readFileSync(files.CONSOLE_OPERATORS_FILE, 'utf8')
    expect(text).toMatch(/^alice:scrypt\$32768\$8\$1\$[\w-]+\$[\w-]+\n$/)
    expect(text).not.toContain('password')
    expect(statSync(files.CONSOLE_OPERATORS_FILE).mode & 0o077).toBe(0)
  })

  it('are not added twice, and not under a name that a line could not hold', () => {
    expect(() => addUser('alice', 'operator')).toThrow(/is in .* already/)
    expect(() => addUser('a:b', 'operator')).toThrow(/letters, digits/)
    expect(existsSync(join(folder.path, 'nobody'))).toBe(false)
  })
})

describe('the console with users', () => {
  it('tells nothing before somebody has logged in', async () => {
    for (const path of ['/data/who', '/data/now', '/data/decisions', '/live']) {
      const { status, body } = await askConsole(world.port, 'GET', path)
      expect([path, status, body]).toEqual([path, 401, '{"error":"log in first"}'])
    }
  })

  it('gives a cookie that scripts and other sites do not get, for twelve hours', async () => {
    const { status, headers } = await logIn('alice')
    expect(status).toBe(200)
    const [cookie] = headers['set-cookie'] as string[]
    expect(cookie).toMatch(
      /^arbiter_console=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200; Secure$/,
    )
    const sent = { cookie: cookie!.split(';')[0]! }
    const { body } = await askConsole(world.port, 'GET', '/data/who', sent)
    expect(JSON.parse(body)).toMatchObject({ name: 'alice', role: 'operator', loggedIn: true })
  })

  it('forgets who logs out', async () => {
    const cookie = await cookieOf('alice')
    await askConsole(world.port, 'POST', '/logout', { ...own(), cookie }, {})
    expect((await askConsole(world.port, 'GET', '/data/who', { cookie })).status).toBe(401)
  })

  it('forgets who was removed, or is another now', async () => {
    addUser('trent', 'operator')
    const cookie = await cookieOf('trent')
    const who = async () => (await askConsole(world.port, 'GET', '/data/who', { cookie })).status
    expect(await who()).toBe(200)
    const operators = readFileSync(files.CONSOLE_OPERATORS_FILE, 'utf8')
    writeFileSync(files.CONSOLE_OPERATORS_FILE, operators.replace(/^trent:.*\n/m, ''))
    expect(await who()).toBe(401)
  })

  it('refuses the sixth wrong try within a minute, right or wrong', async () => {
    addUser('mallory', 'viewer')
    for (let i = 0; i < 5; i++) expect((await logIn('mallory', 'guess')).status).toBe(401)
    expect((await logIn('mallory')).status).toBe(429)
    expect((await logIn('victor')).status).toBe(200)
  })
})

describe('a viewer', () => {
  it('sees what there is but full ids of persons, and may change nothing', async () => {
    const cookie = await cookieOf('victor')
    const card = await askConsole(world.port, 'GET', '/data/card?id=card-1', { cookie })
    expect([card.status, JSON.parse(card.body).card.customerId]).toEqual([200, 'cu…-1'])
    const found = await askConsole(world.port, 'GET', '/data/find?q=customer-1', { cookie })
    expect(found.body).toContain('cu…-1')
    expect(found.body).not.toContain('customer-1')
    const freeze = { act: 'freeze', cardId: 'card-1', reason: 'test' }
    const headers = { ...own(), cookie }
    for (const path of ['/act/card', '/act/transaction', '/act/adjust', '/act/block', '/act/arm']) {
      const { status, body } = await askConsole(world.port, 'POST', path, headers, freeze)
      expect([path, status, body]).toEqual([
        path,
        403,
        expect.stringContaining('a viewer may look'),
      ])
    }
    const operator = { ...own(), cookie: await cookieOf('alice') }
    expect((await askConsole(world.port, 'POST', '/act/card', operator, freeze)).status).toBe(200)
    const shown = await askConsole(world.port, 'GET', '/data/changes', { cookie })
    expect(JSON.parse(shown.body).rows[0]).toMatchObject({
      who: 'console alice',
      what: 'status Frozen',
      why: 'test',
    })
  })
})

describe('whose a card is', () => {
  async function toldOf(name: string): Promise<string[]> {
    const cookie = await cookieOf(name)
    const ask = (path: string) => askConsole(world.port, 'GET', path, { cookie })
    const changes = JSON.parse((await ask('/data/changes?opened=1&card=card-4')).body).rows
    const [{ cursor }] = JSON.parse((await ask('/data/decisions?card=card-4')).body).rows
    const paths = [
      `/data/change?cursor=${changes.at(-1).cursor}`,
      `/data/decision?cursor=${cursor}`,
      `/data/test-case?cursor=${cursor}`,
    ]
    return Promise.all(paths.map(async (path) => (await ask(path)).body))
  }

  it('is told in a change, a rule and a test case, and a viewer gets no full id', async () => {
    // It looks like a card number: a test case must not have it, and still be one.
    const transactionId = '5555555555554444'
    const ask = { eventId: 'evt-whose', cardId: 'card-4', transactionId }
    const { status } = await send(world.server.url, ask)
    expect(status).toBe(200)
    const told = await toldOf('alice')
    for (const text of told) expect(text).toContain('customer-3')
    const [change, decision, testCase] = await toldOf('victor')
    for (const text of [change, decision, testCase]) expect(text).not.toContain('customer-3')
    expect(change).toContain('"after":"cu…-3"')
    expect(decision).toContain('"name":"card.customerId","value":"')
    expect(testCase).toContain('customerId: masked-')
    for (const body of [told[2]!, testCase!]) {
      const { text } = JSON.parse(body)
      expect(text).not.toContain(transactionId)
      expect(readPackTests(new Map([['told.test.yaml', text]])).faults).toEqual([])
    }
  })
})

describe('a transaction', () => {
  it('has the events of its own card, also where another of the account uses the same id', async () => {
    const cookie = await cookieOf('alice')
    for (const cardId of ['card-2', 'card-3']) {
      await send(world.server.url, { eventId: `evt-${cardId}`, cardId, transactionId: 'txn-same' })
    }
    const { body } = await askConsole(
      world.port,
      'GET',
      '/data/transaction?card=card-2&id=txn-same',
      { cookie },
    )
    const { cardId, steps } = JSON.parse(body)
    expect([cardId, steps.length]).toEqual(['card-2', 1])
  })
})

describe('requests from elsewhere', () => {
  it('are refused under a name that is not the console’s', async () => {
    const { status, body } = await askConsole(world.port, 'GET', '/', { host: 'evil.example' })
    expect([status, body]).toEqual([403, expect.stringContaining('CONSOLE_URL')])
  })

  it('are refused when they would change something and come from another origin, or from none', async () => {
    const host = `localhost:${world.port}`
    const login = { name: 'alice', password: 'x' }
    for (const headers of [
      { ...json, host, origin: 'https://evil.example' },
      { ...json, host, origin: 'null' },
      { ...json, host },
      { ...json, host, origin: world.url, 'sec-fetch-site': 'cross-site' },
    ]) {
      expect((await askConsole(world.port, 'POST', '/login', headers, login)).status).toBe(403)
    }
  })

  it('are no others when a proxy, whose address is CONSOLE_URL, calls the console by its own', async () => {
    const login = { name: 'alice', password: 'alice has a password' }
    const { port } = world
    for (const host of [`127.0.0.1:${port}`, 'console.example']) {
      const headers = { ...json, host, origin: 'https://console.example' }
      expect((await askConsole(port, 'POST', '/login', headers, login)).status).toBe(200)
    }
  })

  it('get no data for another site’s page', async () => {
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }
    expect((await askConsole(world.port, 'GET', '/data/who', headers)).status).toBe(403)
  })
})

describe('what is served', () => {
  it('is all from here, under a strict policy', async () => {
    const { headers, body } = await askConsole(world.port, 'GET', '/')
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe')
    expect(headers['x-content-type-options']).toBe('nosniff')
    expect(body.match(/(?:src|href)="(?!\/)/g)).toBeNull()
    expect(body.match(/https?:\/\//g)).toBeNull()
  })

  it('is at most 150 KB of script for a page', async () => {
    const { body } = await askConsole(world.port, 'GET', '/')
    const map = JSON.parse(/<script type="importmap">(.*?)<\/script>/.exec(body)![1]!).imports
    /** What a script brings with it, itself included, in bytes by path. */
    async function weigh(path: string, seen: Map<string, number>): Promise<string> {
      if (seen.has(path)) return ''
      const { status, body: text } = await askConsole(world.port, 'GET', path)
      expect([path, status]).toEqual([path, 200])
      seen.set(path, Buffer.byteLength(text))
      for (const [, from] of text.matchAll(/\b(?:from|import)\s*["']([\w@./-]+)["']/g)) {
        await weigh(map[from!] ?? new URL(from!, `http://x${path}`).pathname, seen)
      }
      return text
    }
    const main = await weigh('/page/main.js', new Map())
    const views = [...main.matchAll(/\bimport\(["']([\w./-]+)["']\)/g)].map(([, view]) => view!)
    expect(views.length).toBe(10)
    for (const view of views) {
      const seen = new Map<string, number>()
      await weigh('/page/main.js', seen)
      await weigh(new URL(view, 'http://x/page/').pathname, seen)
      const bytes = [...seen.values()].reduce((sum, one) => sum + one, 0)
      expect([view, bytes < 150 * 1024]).toEqual([view, true])
    }
  })

  it('is nothing beside the files that pages load', async () => {
    for (const path of ['/page/../worker.js', '/page/%2e%2e/worker.js', '/lib/../package.json']) {
      const { body, headers } = await askConsole(world.port, 'GET', path)
      expect(`${headers['content-type']} ${body}`).not.toMatch(/workerData|"dependencies"/)
    }
  })

  it('is the page also for a path that cannot be decoded, under the same policy', async () => {
    const right = await askConsole(world.port, 'GET', '/')
    const { status, headers, body } = await askConsole(world.port, 'GET', '/card/%zz')
    expect([status, body]).toEqual([200, right.body])
    expect(headers['content-security-policy']).toBe(right.headers['content-security-policy'])
    const evil = await askConsole(world.port, 'GET', '/card/%zz', { host: 'evil.example' })
    expect(evil.status).toBe(403)
  })

  it('shows a number that looks like that of a card masked', async () => {
    const cardId = '4111111111111111'
    await send(world.server.url, { eventId: 'evt-pan', cardId })
    const cookie = await cookieOf('alice')
    const { body } = await askConsole(world.port, 'GET', '/data/decisions', { cookie })
    expect(body).toContain('evt-pan')
    expect(body).not.toContain(cardId)
  })
})
