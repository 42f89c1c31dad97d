import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createCliWorld, rowOf } from '../../support/cli.ts'
import { startRedis } from '../../support/redis-server.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const newOrganization = ['organization', 'add', 'org-1', '--name', 'Acme', '--country', 'US']
const newClient = ['client', 'add', '--organization', 'org-1', '--name', 'back office']

/** Resolves to the port of the management API, or another, when a process says that it serves it. */
async function apiPortOf(child: ChildProcess, name = 'apiPort'): Promise<number> {
  let text = ''
  for await (const chunk of child.stdout!) {
    text += chunk
    const [, port] = new RegExp(`"${name}":([0-9]+)`).exec(text) ?? []
    if (port !== undefined) return Number(port)
  }
  throw new Error(`it ended: ${text}`)
}

async function openWorld() {
  const world = await createCliWorld()
  onTestFinished(() => world.dispose())
  return world
}

describe('organizations and clients', () => {
  it('adopt an account once, however many cards it has, and write nothing of what others have', async () => {
    const world = await openWorld()
    await world.run(...newOrganization, '--currency', 'USD')
    const shared = { accountId: 'shared', balance: undefined }
    const fleet = Array.from({ length: 600 }, (_, i) => rowOf(i, shared))
    await world.importRows(...fleet, rowOf(600, { organizationId: 'org-2' }))
    const { store } = await world.serve()
    const key = { aggregate: 'a:account-600', group: '', id: '' }
    const before = await store.load([key])
    const left = '1 of other organizations, 0 in currencies that it does not have\n'
    const { out } = await world.run('organization', 'adopt', 'org-1')
    expect(out).toBe(`adopted 1 accounts; left 0 that it had, ${left}`)
    expect((await world.run('organization', 'adopt', 'org-1')).out).toBe(
      `adopted 0 accounts; left 1 that it had, ${left}`,
    )
    expect(await store.load([key])).toEqual(before)
  })

  it('have a name that people can read', async () => {
    const world = await openWorld()
    const must = 'It must have 1 to 100 characters, and no control characters'
    for (const name of [' ', 'two\nlines', 'x'.repeat(101)]) {
      for (const command of [newOrganization, newClient, ['organization', 'set', 'org-1']]) {
        const words = [...command.filter((word) => word !== '--name'), '--name', name]
        expect(await world.run(...words)).toMatchObject({
          code: 2,
          err: expect.stringContaining(must),
        })
      }
    }
    const { out } = await world.run(...newOrganization, '--currency', 'USD', '--name', ' Acme Ltd ')
    expect(JSON.parse(out).name).toBe('Acme Ltd')
  })

  it('are made, changed and shown, and a secret is shown once', async () => {
    const world = await openWorld()
    const made = await world.run(...newOrganization, '--currency', 'USD', '--currency', 'NGN')
    expect(made.code).toBe(0)
    expect(JSON.parse(made.out)).toMatchObject({
      organizationId: 'org-1',
      currencies: ['USD', 'NGN'],
      minimumBalance: { USD: '1.00', NGN: '1.00' },
      defaultDecision: 'decline',
    })
    const again = await world.run(...newOrganization, '--currency', 'USD')
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('already')])
    const set = await world.run('organization', 'set', 'org-1', '--max-top-up', 'USD=500.00')
    expect(JSON.parse(set.out)).toMatchObject({ maxTopUp: { USD: '500.00' } })
    const changes = ['NGN=900.00', 'USD=400.00', 'NGN=none'].map((one) => ['--max-top-up', one])
    const limits = []
    for (const change of [...changes, ['--minimum-balance', 'USD=2.00']]) {
      const { out: shown } = await world.run('organization', 'set', 'org-1', ...change)
      const { maxTopUp, minimumBalance } = JSON.parse(shown)
      limits.push([maxTopUp, minimumBalance])
    }
    expect(limits).toEqual([
      [
        { USD: '500.00', NGN: '900.00' },
        { USD: '1.00', NGN: '1.00' },
      ],
      [
        { USD: '400.00', NGN: '900.00' },
        { USD: '1.00', NGN: '1.00' },
      ],
      [{ USD: '400.00' }, { USD: '1.00', NGN: '1.00' }],
      [{ USD: '400.00' }, { USD: '2.00', NGN: '1.00' }],
    ])
    const lost = await world.run('organization', 'set', 'org-1', '--currency', 'USD')
    expect(lost.err).toContain('NGN cannot be taken away')
    for (const [option, wrong, code] of [
      ['--currency', 'ABC', 2],
      ['--country', 'ZZ', 2],
      ['--card-validity-months', '0', 2],
      ['--card-validity-months', '1000', 2],
      ['--max-top-up', 'ABC=5', 1],
    ] as const) {
      const refused = await world.run('organization', 'set', 'org-1', option, wrong)
      expect([refused.code, refused.err]).toEqual([code, expect.stringContaining(wrong)])
      expect(refused.err).not.toContain('bug')
    }

    const { out } = await world.run(...newClient, '--scope', 'CardAPIs')
    const { clientId, clientSecret, uniqueKey } = JSON.parse(out)
    expect(clientSecret).toMatch(/^[A-Za-z0-9]{32}$/)
    expect(uniqueKey).toMatch(/^[0-9a-f]{32}$/)
    for (const line of [
      ['list'],
      ['show', clientId],
      ['disable', clientId],
      ['enable', clientId],
    ]) {
      const shown = await world.run('client', ...line)
      expect(shown.code).toBe(0)
      expect(shown.out).not.toContain(clientSecret)
      expect(shown.out).not.toContain(uniqueKey)
    }
    const rotated = await world.run('client', 'rotate', clientId, '--keep-old', '24h')
    expect(JSON.parse(rotated.out).clientSecret).not.toBe(clientSecret)
    expect((await world.run('client', 'show', clientId)).out).toContain('valid until')
    expect((await world.run('client', 'remove', clientId)).code).toBe(0)
    expect((await world.run('client', 'show', clientId)).err).toContain('there is no client')
    expect((await world.run('client', 'disable', 'cli_none')).code).toBe(1)
    expect((await world.run(...newClient, '--scope', 'Everything')).err).toContain('no scope')
  })

  it('have customers, which are imported, shown, suspended and restored', async () => {
    const world = await openWorld()
    await world.run(...newOrganization, '--currency', 'USD')
    const row = { customerId: 'customer-1', organizationId: 'org-1', type: 'individual' }
    const file = join(world.folder, 'customers.ndjson')
    const lines = (...rows: object[]) =>
      writeFileSync(file, rows.map((one) => JSON.stringify(one)).join('\n'))
    lines({ ...row, name: 'Ada Obi' }, { ...row, organizationId: 'org-2', name: 'x' }, row)
    const refused = await world.run('customers', 'import', file)
    expect(refused.code).toBe(1)
    expect(refused.err).toContain('line 2: there is no organization org-2')
    expect(refused.err).toContain('line 3: name:')
    expect((await world.run('customers', 'show', 'customer-1')).code).toBe(1)
    const address = { line1: '1 Marina', city: 'Lagos', state: 'Lagos', country: 'Nigeria' }
    lines({ ...row, name: 'Ada Obi', address })
    expect((await world.run('customers', 'import', file)).out).toContain('imported 1')
    expect((await world.run('customers', 'import', file)).out).toContain('already there 1')
    const exported = await world.run('customers', 'export')
    expect(JSON.parse(exported.out)).toEqual({
      ...row,
      name: 'Ada Obi',
      address: { ...address, country: 'NG' },
    })
    expect((await world.run('customers', 'suspend', 'customer-1')).code).toBe(0)
    const shown = await world.run('customers', 'show', 'customer-1')
    expect(JSON.parse(shown.out)).toMatchObject({
      customerId: 'customer-1',
      address: { country: 'NG' },
      kycStatus: 'Suspended',
      cards: 0,
      negative: false,
    })
    expect((await world.run('customers', 'restore', 'customer-1')).code).toBe(0)
    expect((await world.run('customers', 'suspend', 'nobody')).code).toBe(1)
    expect((await world.run('damaged')).code).toBe(0)
    expect((await world.run('verify')).code).toBe(0)
  })

  it('have customers whose rows are exported as they are, also what looks like a card number', async () => {
    const world = await openWorld()
    await world.run(...newOrganization, '--currency', 'USD')
    const row = { customerId: 'customer-1', organizationId: 'org-1', type: 'individual' }
    // Thirteen digits that pass the check of a card number, as one of ten telephone numbers does.
    const phoneNumber = '+2348000000001'
    const told = { name: 'Ada Obi', phoneNumber }
    const input = JSON.stringify({ ...row, ...told })
    expect((await world.runWith({ input }, 'customers', 'import', '-')).code).toBe(0)
    const exported = await world.run('customers', 'export')
    expect(JSON.parse(exported.out)).toEqual({ ...row, ...told })
    const listed = await world.run('customers', 'list', '--organization', 'org-1')
    expect(listed.out).not.toContain(phoneNumber)
  })

  it('are in a backup, and no damage', async () => {
    const world = await openWorld()
    await world.run(...newOrganization, '--currency', 'USD')
    await world.run(...newClient, '--scope', 'CardAPIs')
    expect((await world.run('damaged')).code).toBe(0)
    expect((await world.run('verify')).code).toBe(0)
    const file = join(world.folder, 'backup.gz')
    expect((await world.run('backup', file)).code).toBe(0)
    const env = { DATA_DIR: join(world.folder, 'restored') }
    expect((await world.runWith({ env }, 'restore', file)).code).toBe(0)
    expect((await world.runWith({ env }, 'organization', 'list')).out).toContain('"org-1"')
    expect((await world.runWith({ env }, 'client', 'list')).out).toContain('"back office"')
  })

  it('have a wallet that is funded for what the statement can show', async () => {
    const world = await openWorld()
    await world.run(...newOrganization, '--currency', 'USD')
    const fund = ['wallet', 'fund', 'org-1', 'USD', '1.00', '--reference', 'wire-1', '--narration']
    const err = expect.stringContaining('It must have at most 200 characters')
    for (const narration of ['x'.repeat(201), 'two\nlines']) {
      expect(await world.run(...fund, narration)).toMatchObject({ code: 2, err })
    }
    expect((await world.run(...fund, 'x'.repeat(200))).code).toBe(0)
    expect((await world.run('show', 'wallet', 'org-1', 'USD')).out).toContain('x'.repeat(200))
  })

  it('keep their secrets when the key is changed', async () => {
    const world = await openWorld()
    const [old, next] = [0, 1].map(() => randomBytes(32).toString('base64')) as [string, string]
    const env = { SECRETS_KEY: old }
    await world.runWith({ env }, ...newOrganization, '--currency', 'USD')
    await world.runWith({ env }, ...newClient, '--scope', 'CardAPIs')
    const changed = { SECRETS_KEY: next, SECRETS_KEY_OLD: old }
    const rewrapped = await world.runWith({ env: changed }, 'secrets', 'rewrap')
    expect(rewrapped.out).toContain('1 of 1 clients')
    const without = await world.runWith({ env: { SECRETS_KEY: next } }, 'secrets', 'rewrap')
    expect(without.code).toBe(0)
    const lost = await world.runWith({ env: { SECRETS_KEY: old } }, 'secrets', 'rewrap')
    expect([lost.code, lost.err]).toEqual([1, expect.stringContaining('SECRETS_KEY_OLD')])
  })

  it('that cannot be read are named, and the others are listed and rewrapped', async () => {
    const world = await openWorld()
    await world.run(...newOrganization, '--currency', 'USD')
    const add = async () => JSON.parse((await world.run(...newClient, '--scope', 'CardAPIs')).out)
    const [broken, whole] = [await add(), await add()]
    const { store } = await world.serve()
    const damaged = { kind: 'root', version: 'x', value: '{"format":1,"secrets":' } as const
    await store.fill([
      { ...damaged, aggregate: `k:${broken.clientId}` },
      { ...damaged, aggregate: 'wh:org-1' },
    ])
    const listed = await world.run('client', 'list')
    expect(listed.code).toBe(1)
    expect(listed.out).toContain(whole.clientId)
    expect(listed.err).toBe(
      `arbiter: client ${broken.clientId} cannot be read: see arbiter damaged\n`,
    )
    const rewrapped = await world.run('secrets', 'rewrap')
    expect([rewrapped.code, rewrapped.out]).toEqual([1, '1 of 2 clients are rewrapped\n'])
    expect(rewrapped.err).toContain(broken.clientId)
    expect(rewrapped.err).toContain('the webhooks of organization org-1 cannot be read')
    expect((await world.run('damaged')).out).toContain(broken.clientId)
    const shown = await world.run('client', 'show', broken.clientId)
    expect(shown.err).toBe('arbiter: a record cannot be read, it is no JSON: see arbiter damaged\n')
    expect((await world.run('client', 'remove', broken.clientId)).code).toBe(0)
    expect((await world.run('client', 'remove', broken.clientId)).code).toBe(1)
    expect((await world.run('client', 'list')).code).toBe(0)
  })

  it('are listed, exported and put into lists also while one or its webhooks cannot be read', async () => {
    const world = await openWorld()
    const [, , , ...settings] = newOrganization
    for (const id of ['org-1', 'org-2']) {
      await world.run('organization', 'add', id, ...settings, '--currency', 'USD')
    }
    const { store } = await world.serve()
    const broken = { version: 'x', value: '{"format":1,' }
    await store.fill([
      { kind: 'child', aggregate: 'organizations', group: 'o', id: 'org-1', ...broken },
      { kind: 'root', aggregate: 'wh:org-1', ...broken },
    ])
    const listed = await world.run('organization', 'list')
    expect([listed.code, JSON.parse(listed.out).organizationId]).toEqual([1, 'org-2'])
    expect(listed.err).toBe('arbiter: organization org-1 cannot be read: see arbiter damaged\n')
    const webhooks = await world.run('webhooks', 'list')
    expect([webhooks.code, webhooks.err]).toEqual([
      1,
      'arbiter: the record of the webhooks of organization org-1 cannot be read: see arbiter damaged\n',
    ])
    expect((await world.run('customers', 'export')).code).toBe(0)
    expect((await world.run('reindex')).code).toBe(0)
  })

  it('have customers that are listed, exported and put into lists also while one cannot be read', async () => {
    const world = await openWorld()
    await world.run(...newOrganization, '--currency', 'USD')
    const row = { organizationId: 'org-1', type: 'individual', name: 'Ada Obi' }
    const rows = ['customer-1', 'customer-2'].map((customerId) => ({ customerId, ...row }))
    const file = join(world.folder, 'customers.ndjson')
    writeFileSync(file, rows.map((one) => JSON.stringify(one)).join('\n'))
    await world.run('customers', 'import', file)
    const { store } = await world.serve()
    await store.fill([{ kind: 'root', aggregate: 'cu:customer-1', version: 'x', value: '{' }])
    for (const command of ['customers export', 'customers list --organization org-1', 'reindex']) {
      const { code, out, err } = await world.run(...command.split(' '))
      expect([command, code, err]).toEqual([
        command,
        1,
        'arbiter: customer customer-1 cannot be read: see arbiter damaged\n',
      ])
      expect(out).toMatch(/"customer-2"|1 customers/)
    }
  })
})

describe('the management API', () => {
  it('answers the command line beside the server that decides, and is restarted with its store', async () => {
    const world = await openWorld()
    const env = { ...world.env, HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0', API_PORT: '0' }
    const server = spawn(process.execPath, [join(root, 'dist/main.js')], { env })
    onTestFinished(() => void server.kill('SIGKILL'))
    const port = await apiPortOf(server)
    await world.run(...newOrganization, '--currency', 'USD')
    const { out } = await world.run(...newClient, '--scope', 'CardAPIs.Read')
    const { clientId, clientSecret, uniqueKey } = JSON.parse(out)
    const caller = {
      ARBITER_API_URL: `http://127.0.0.1:${port}`,
      ARBITER_CLIENT_ID: clientId,
      ARBITER_CLIENT_SECRET: clientSecret,
      ARBITER_UNIQUE_KEY: uniqueKey,
    }
    const shown = await world.runWith({ env: caller }, 'api', 'GET', '/organization')
    expect(JSON.parse(shown.out)).toMatchObject({ responseCode: '000', data: { name: 'Acme' } })
    const wrong = { ...caller, ARBITER_CLIENT_SECRET: 'x'.repeat(32) }
    const refused = await world.runWith({ env: wrong }, 'api', 'GET', '/organization')
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('no token')])
    const curl = await world.runWith({ env: caller }, 'api', 'GET', '/organization', '--curl')
    expect(curl.out).toMatch(/^curl -gsX GET/)
    server.kill('SIGTERM')
    expect(await once(server, 'exit')).toEqual([0, null])
    const gone = await world.runWith({ env: caller }, 'api', 'GET', '/organization')
    expect(gone.err).toContain('ECONNREFUSED')
  })

  it('ends by SIGTERM also while it is served alone and still waits for its rules, and blames no store', async () => {
    const world = await openWorld()
    const redis = await startRedis()
    onTestFinished(() => redis.dispose())
    const silent = createServer()
    const asked = once(silent.listen(0, '127.0.0.1'), 'connection')
    onTestFinished(() => void silent.close())
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const env = { REDIS_URL: redis.url, SECRETS_KEY: randomBytes(32).toString('base64') }
    await world.runWith({ env }, ...newOrganization, '--currency', 'USD')
    const { out } = await world.run('rules', 'keys', join(world.folder, 'pack.key'))
    const rules = {
      RULES_URL: `http://127.0.0.1:${port}/pack`,
      RULES_KEYS: out.trim().replace('RULES_KEYS=', ''),
    }
    const server = spawn(process.execPath, [join(root, 'dist/cli/main.js'), 'api', 'serve'], {
      env: { ...world.env, ...env, ...rules, API_PORT: '0', ADMIN_PORT: '0' },
    })
    const adminPort = apiPortOf(server, 'adminPort')
    onTestFinished(() => void server.kill('SIGKILL'))
    const [socket] = await asked
    onTestFinished(() => socket.destroy())
    // So long a store that serves says nothing of transfers before it counts as away.
    await new Promise((resolve) => setTimeout(resolve, 5_500))
    const readiness = await fetch(`http://127.0.0.1:${await adminPort}/readyz`)
    expect(await readiness.json()).toMatchObject({ status: 'starting', store: 'available' })
    server.kill('SIGTERM')
    expect(await once(server, 'exit')).toEqual([0, null])
  })

  it('is served alone on Redis', async () => {
    const world = await openWorld()
    const redis = await startRedis()
    onTestFinished(() => redis.dispose())
    const key = randomBytes(32).toString('base64')
    const env = { REDIS_URL: redis.url, SECRETS_KEY: key }
    await world.runWith({ env }, ...newOrganization, '--currency', 'USD')
    const { out } = await world.runWith({ env }, ...newClient, '--scope', 'CardAPIs')
    const { clientId, clientSecret, uniqueKey } = JSON.parse(out)
    const server = spawn(process.execPath, [join(root, 'dist/cli/main.js'), 'api', 'serve'], {
      env: { ...world.env, ...env, API_PORT: '0' },
    })
    onTestFinished(() => void server.kill('SIGKILL'))
    const caller = {
      ARBITER_API_URL: `http://127.0.0.1:${await apiPortOf(server)}`,
      ARBITER_CLIENT_ID: clientId,
      ARBITER_CLIENT_SECRET: clientSecret,
      ARBITER_UNIQUE_KEY: uniqueKey,
    }
    const call = ['api', 'GET', '/organization', '--reference', 'Once'] as const
    expect((await world.runWith({ env: caller }, ...call)).code).toBe(0)
    const again = await world.runWith({ env: caller }, ...call)
    expect(JSON.parse(again.out)).toMatchObject({ responseCode: '139' })
    server.kill('SIGTERM')
    expect(await once(server, 'exit')).toEqual([0, null])
    await world.run(...newOrganization, '--currency', 'USD')
    const embedded = await world.runWith({ env: { API_PORT: '0' } }, 'api', 'serve')
    expect([embedded.code, embedded.err]).toEqual([2, expect.stringContaining('REDIS_URL')])
  })
})
