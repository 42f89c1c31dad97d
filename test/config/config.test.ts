import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { type ConfigProblem, isLoopback } from '../../src/config/check.ts'
import { type Config, isConfig, readConfig } from '../../src/config/config.ts'
import { configTable } from '../../src/config/schema.ts'
import { makeCertificate } from '../support/certificate.ts'

const folder = mkdtempSync(join(tmpdir(), 'arbiter-config-'))
afterAll(() => rmSync(folder, { recursive: true }))

const key = Buffer.alloc(32, 7).toString('base64')
const secret = 'sixteen-letters!'
const whsec = `whsec_${key}`
const server = makeCertificate('server')

describe('readConfig', () => {
  it('needs nothing: the defaults serve loopback with the embedded store', () => {
    expect(config({})).toEqual({
      host: '127.0.0.1',
      port: 8080,
      relayAuthentication: { mode: 'none' },
      relayProfile: 'default',
      tls: null,
      maxConnections: 4096,
      maxBodyBytes: 131_072,
      adminHost: '127.0.0.1',
      adminPort: 8081,
      adminToken: null,
      api: null,
      console: null,
      secretsKey: null,
      secretsKeyOld: null,
      sandbox: false,
      redis: null,
      dataDir: './data',
      rulesDir: './rules',
      rulesReload: 'auto',
      rulesKeys: [],
      rulesUrl: '',
      outgoingProxy: '',
      rulesPullMs: 30_000,
      defaultDecision: 'decline',
      budgetMs: 250,
      heartbeatMs: 5000,
      webhookRetentionDays: 30,
      eventRetentionDays: 45,
      logRetentionDays: 30,
      cacheCards: 200_000,
      engineHeapMb: 1024,
      logLevel: 'info',
      warnings: [],
    } satisfies Config)
  })

  it('takes card numbers from where it is told', () => {
    const numbers = (env: NodeJS.ProcessEnv) => config({ API_PORT: '0', ...env }).api?.cardNumbers
    expect(numbers({})).toEqual({ source: 'none' })
    expect(numbers({ SANDBOX: 'true' })).toEqual({ source: 'sandbox', bin: '999999' })
    expect(numbers({ SANDBOX: 'true', CARD_NUMBERS: 'none' })).toEqual({ source: 'none' })
    const http = { CARD_NUMBERS: 'http', CARD_NUMBERS_SECRET: whsec }
    for (const url of ['https://n.example.com/v1/', 'http://[::1]:9000/v1']) {
      expect(numbers({ ...http, CARD_NUMBERS_URL: url })).toEqual({
        source: 'http',
        url: url.replace(/\/$/, ''),
        secret: whsec,
      })
    }
  })

  it('takes an empty variable for one that is not set', () => {
    const empty = {
      PORT: '',
      RELAY_SECRET: '',
      REDIS_URL: '',
      RELAY_AUTH: '',
      ADMIN_TOKEN_FILE: '',
    }
    expect(config(empty)).toEqual(config({}))
  })

  it('reads everything that can be set', () => {
    const pem = file('a.pem', server.certPem + server.keyPem)
    expect(
      config({
        HOST: '0.0.0.0',
        PORT: '9000',
        MAX_CONNECTIONS: '500',
        MAX_BODY_BYTES: '16384',
        RELAY_AUTH: 'mtls',
        RELAY_PROFILE: 'stripe-issuing',
        TLS_CERT_FILE: pem,
        TLS_KEY_FILE: pem,
        TLS_CLIENT_CA_FILE: pem,
        ADMIN_HOST: '::',
        ADMIN_PORT: '9001',
        ADMIN_TOKEN: secret,
        API_HOST: '0.0.0.0',
        API_PORT: '9002',
        API_TLS_CERT_FILE: pem,
        API_TLS_KEY_FILE: pem,
        PUBLIC_URL: 'https://a.example.com/,https://b.example.com/arbiter',
        SECRETS_KEY: key,
        SECRETS_KEY_OLD: key,
        API_TOKEN_SECONDS: '60',
        API_RATE_PER_SECOND: '5',
        API_GET_REFERENCES: 'ignore',
        SANDBOX: 'true',
        SANDBOX_BIN: '912345',
        REDIS_URL: 'redis://a:1,rediss://u:p@b:2/0',
        REDIS_CLUSTER: 'true',
        DURABILITY: 'everysec',
        DURABILITY_STRICT: 'true',
        DATA_DIR: '/var/lib/arbiter',
        RULES_DIR: '/etc/arbiter',
        DEFAULT_DECISION: 'approve',
        DECISION_BUDGET_MS: '320',
        HEARTBEAT_MS: '2000',
        EVENT_RETENTION_DAYS: '400',
        LOG_RETENTION_DAYS: '7',
        CACHE_CARDS: '1000000',
        ENGINE_HEAP_MB: '4096',
        LOG_LEVEL: 'debug',
      }),
    ).toEqual({
      host: '0.0.0.0',
      port: 9000,
      relayAuthentication: { mode: 'mtls' },
      relayProfile: 'stripe-issuing',
      tls: { certFile: pem, keyFile: pem, clientCaFile: pem },
      maxConnections: 500,
      maxBodyBytes: 16_384,
      adminHost: '::',
      adminPort: 9001,
      adminToken: secret,
      api: {
        host: '0.0.0.0',
        port: 9002,
        tls: { certFile: pem, keyFile: pem },
        publicUrls: ['https://a.example.com', 'https://b.example.com/arbiter'],
        tokenSeconds: 60,
        ratePerSecond: 5,
        getReferences: 'ignore',
        transactionRetentionDays: 400,
        cardNumbers: { source: 'sandbox', bin: '912345' },
        kyc: { provider: 'sandbox', delayMs: 2_000 },
        webhookNetworks: [],
      },
      console: null,
      secretsKey: key,
      secretsKeyOld: key,
      sandbox: true,
      redis: {
        urls: ['redis://a:1', 'rediss://u:p@b:2/0'],
        cluster: true,
        durability: 'everysec',
        durabilityStrict: true,
      },
      dataDir: '/var/lib/arbiter',
      rulesDir: '/etc/arbiter',
      rulesReload: 'auto',
      rulesKeys: [],
      rulesUrl: '',
      outgoingProxy: '',
      rulesPullMs: 30_000,
      defaultDecision: 'approve',
      budgetMs: 320,
      heartbeatMs: 2000,
      webhookRetentionDays: 30,
      eventRetentionDays: 400,
      logRetentionDays: 7,
      cacheCards: 1_000_000,
      engineHeapMb: 4096,
      logLevel: 'debug',
      warnings: [],
    } satisfies Config)
  })

  it.each([
    [{ API_PORT: '8080' }, 'API_PORT'],
    [{ API_PORT: '8081' }, 'API_PORT'],
    [{ CONSOLE_PORT: '8080' }, 'CONSOLE_PORT'],
    [{ API_PORT: '1', API_HOST: '0.0.0.0' }, 'API_HOST'],
    [{ API_PORT: '1', API_HOST: '0.0.0.0', PUBLIC_URL: 'http://a.example.com' }, 'API_HOST'],
    [{ API_PORT: '1', REDIS_URL: 'redis://a:1' }, 'SECRETS_KEY'],
    [{ SECRETS_KEY_OLD: key }, 'SECRETS_KEY_OLD'],
    [{ CARD_NUMBERS: 'sandbox' }, 'CARD_NUMBERS'],
    [{ SANDBOX_BIN: '411111' }, 'SANDBOX_BIN'],
    [{ CARD_NUMBERS: 'http', CARD_NUMBERS_SECRET: whsec }, 'CARD_NUMBERS_URL'],
    [{ CARD_NUMBERS: 'http', CARD_NUMBERS_URL: 'https://n.example.com' }, 'CARD_NUMBERS_SECRET'],
    [{ CARD_NUMBERS_URL: 'http://n.example.com' }, 'CARD_NUMBERS_URL'],
    [{ CARD_NUMBERS_URL: 'https://' }, 'CARD_NUMBERS_URL'],
    [{ CARD_NUMBERS_SECRET: 'whsec_short' }, 'CARD_NUMBERS_SECRET'],
    [{ SECRETS_KEY: 'c2hvcnQ=' }, 'SECRETS_KEY'],
    [{ PUBLIC_URL: 'ftp://a.example.com' }, 'PUBLIC_URL'],
    [{ PUBLIC_URL: 'https://user:word@a.example.com' }, 'PUBLIC_URL'],
  ])('refuses %j for the management API', (env, variable) => {
    expect(problems(env).map((problem) => problem.variable)).toEqual([variable])
  })

  it('takes ten keys of bundles, and not eleven', () => {
    const keys = (count: number) =>
      Array(count)
        .fill(`ed25519:${'A'.repeat(43)}=`)
        .join()
    const refused = (count: number) => problems({ RULES_KEYS: keys(count) }).map((p) => p.variable)
    expect([refused(10), refused(11)]).toEqual([[], ['RULES_KEYS']])
  })

  it('reports every problem at once, those across variables too', () => {
    const found = problems({
      PORT: 'http',
      DECISION_BUDGET_MS: '321',
      EVENT_RETENTION_DAYS: '0',
      LOG_LEVEL: 'loud',
      DEFAULT_DECISION: 'maybe',
      HOST: '0.0.0.0',
      REDIS_CLUSTER: 'true',
      RELAY_SECRET_NEXT: secret,
      ADMIN_HOST: '0.0.0.0',
      TLS_KEY_FILE: file('key.pem', server.keyPem),
    })
    expect(found.map((problem) => problem.variable).sort()).toEqual([
      'ADMIN_TOKEN',
      'DECISION_BUDGET_MS',
      'DEFAULT_DECISION',
      'EVENT_RETENTION_DAYS',
      'LOG_LEVEL',
      'PORT',
      'REDIS_URL',
      'RELAY_AUTH',
      'RELAY_SECRET_NEXT',
      'TLS_CERT_FILE',
    ])
  })

  it.each([
    ['PORT', '65536', 'must be a whole number from 0 to 65535'],
    ['PORT', '80.5', 'must be a whole number from 0 to 65535'],
    ['PORT', '0x50', 'must be a whole number from 0 to 65535'],
    ['PORT', ' 80', 'must be a whole number from 0 to 65535'],
    ['DECISION_BUDGET_MS', '19', 'must be a whole number from 20 to 320'],
    ['DECISION_BUDGET_MS', '250ms', 'must be a whole number from 20 to 320'],
    ['EVENT_RETENTION_DAYS', '401', 'must be a whole number from 1 to 400'],
    ['REDIS_CLUSTER', 'yes', 'must be one of true, false'],
    ['HOST', 'http://x/', 'must be a host name or an IP address'],
    [
      'OUTGOING_PROXY',
      'proxy:3128',
      'must be http://HOST:PORT or https://HOST:PORT, with USER:PASSWORD@ before HOST if it asks for them',
    ],
    ['OUTGOING_PROXY', 'http://a:b:c', 'must be an address'],
    ['REDIS_URL', 'http://x', 'must be redis:// or rediss:// addresses, comma-separated'],
    ['REDIS_URL', 'redis://a:1,', 'must be redis:// or rediss:// addresses, comma-separated'],
    ...['redis://a/test', 'redis://a:1/1x', 'redis://a/1,redis://b/two'].map((url) => [
      'REDIS_URL',
      url,
      'must name a database by its number, as redis://HOST:PORT/1 does, or none',
    ]),
    ['ADMIN_TOKEN', 'short', 'must be at least 16 characters'],
    ['RELAY_SECRET', 'short', 'must be at least 16 characters'],
    ['RELAY_USER', 'a:b', 'must be 1 to 255 characters without a colon'],
  ])('refuses %s=%s', (variable, value, message) => {
    expect(problems({ [variable]: value })).toEqual([{ variable, message }])
  })

  it('refuses what a file with CRLF line ends makes of folders, secrets and numbers', () => {
    const env = { DATA_DIR: '/data\r', RELAY_SECRET: `${secret}\r`, PORT: '80\r' }
    const message =
      'has a character that is not seen, such as a line break at its end: make it without (echo -n, or a file with LF line ends)'
    expect(problems(env)).toEqual(
      ['PORT', 'RELAY_SECRET', 'DATA_DIR'].map((variable) => ({ variable, message })),
    )
    const variable = 'ADMIN_TOKEN_FILE'
    expect(problems({ [variable]: 'token\r' })).toEqual([{ variable, message }])
  })

  it('uses hmac when a secret is set, with the next one too', () => {
    const secrets = [secret, `${secret}2`]
    const env = { HOST: '0.0.0.0', RELAY_SECRET: secret, RELAY_SECRET_NEXT: `${secret}2` }
    expect(config(env).relayAuthentication).toEqual({ mode: 'hmac', secrets })
    expect(config({ RELAY_SECRET: secret }).relayAuthentication).toEqual({
      mode: 'hmac',
      secrets: [secret],
    })
  })

  it.each([
    ['no authentication beyond loopback', { HOST: '0.0.0.0' }, 'RELAY_AUTH'],
    ['the same when asked for', { HOST: '::', RELAY_AUTH: 'none' }, 'RELAY_AUTH'],
    ['hmac without a secret', { RELAY_AUTH: 'hmac' }, 'RELAY_SECRET'],
    ['basic without a user', { RELAY_AUTH: 'basic', RELAY_PASSWORD: secret }, 'RELAY_USER'],
    ['basic without a password', { RELAY_AUTH: 'basic', RELAY_USER: 'a' }, 'RELAY_PASSWORD'],
    ['mtls without an authority', { RELAY_AUTH: 'mtls' }, 'TLS_CLIENT_CA_FILE'],
    ['several nodes without a cluster', { REDIS_URL: 'redis://a,redis://b' }, 'REDIS_CLUSTER'],
    ['sentinels without a master', { REDIS_SENTINEL: 'redis://s:26379' }, 'REDIS_URL'],
    [
      'sentinels of a cluster',
      { REDIS_SENTINEL: 'redis://s', REDIS_URL: 'redis://a', REDIS_CLUSTER: 'true' },
      'REDIS_SENTINEL',
    ],
    ['one port for both', { PORT: '8081' }, 'ADMIN_PORT'],
    ['an open operations port', { ADMIN_HOST: '0.0.0.0' }, 'ADMIN_TOKEN'],
  ])('refuses %s and names what to set', (_name, env, variable) => {
    expect(problems(env).map((problem) => problem.variable)).toEqual([variable])
  })

  it('allows none on loopback, and any port twice when the system chooses it', () => {
    for (const HOST of ['localhost', '127.0.0.1', '::1']) expect(config({ HOST })).toBeDefined()
    expect(config({ PORT: '0', ADMIN_PORT: '0' })).toMatchObject({ port: 0, adminPort: 0 })
  })

  it('says of a server for strangers what keeps them out', () => {
    expect(problems({ HOST: '0.0.0.0' })).toMatchObject([
      { message: expect.stringMatching(/^is none, and HOST is not loopback: set RELAY_SECRET/) },
    ])
    expect(problems({ ADMIN_HOST: '::' })).toMatchObject([
      { message: expect.stringMatching(/^is required when ADMIN_HOST is not loopback/) },
    ])
  })

  it('asks only once for what was set wrongly', () => {
    const found = problems({ HOST: '0.0.0.0', RELAY_SECRET: 'short' })
    expect(found.map((problem) => problem.variable)).toEqual(['RELAY_SECRET'])
    const missing = problems({ HOST: '0.0.0.0', RELAY_SECRET_FILE: join(folder, 'none') })
    expect(missing).toEqual([
      { variable: 'RELAY_SECRET_FILE', message: 'names a file that cannot be read (ENOENT)' },
    ])
  })

  it('names a TLS file that cannot be read, or holds something else', () => {
    const found = problems({
      TLS_CERT_FILE: join(folder, 'none'),
      TLS_KEY_FILE: file('key.pem', 'x'),
      TLS_CLIENT_CA_FILE: file('ca.pem', server.keyPem),
    })
    expect(found).toEqual([
      { variable: 'TLS_CERT_FILE', message: 'names a file that cannot be read (ENOENT)' },
      {
        variable: 'TLS_KEY_FILE',
        message: 'names a file that holds no private key (PEM, without a passphrase)',
      },
      { variable: 'TLS_CLIENT_CA_FILE', message: 'names a file that holds no certificate (PEM)' },
    ])
    const text = file('text.pem', 'hello')
    expect(problems({ TLS_CERT_FILE: text, TLS_KEY_FILE: file('key.pem', server.keyPem) })).toEqual(
      [{ variable: 'TLS_CERT_FILE', message: 'names a file that holds no certificate (PEM)' }],
    )
    const message = 'names a file that cannot be read (EISDIR)'
    expect(problems({ TLS_CERT_FILE: folder, TLS_KEY_FILE: folder })).toEqual([
      { variable: 'TLS_CERT_FILE', message },
      { variable: 'TLS_KEY_FILE', message },
    ])
  })

  it('refuses a private key that belongs to another certificate', () => {
    const certFile = file('cert.pem', server.certPem)
    const keyFile = file('other.pem', makeCertificate('other').keyPem)
    expect(problems({ TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile })).toEqual([
      { variable: 'TLS_KEY_FILE', message: 'is not the key of TLS_CERT_FILE' },
    ])
  })

  it('reads secrets from files, trimmed', () => {
    const env = {
      RELAY_SECRET_FILE: file('secret', `${secret}\n`),
      ADMIN_TOKEN_FILE: file('token', `  ${secret}\r\n`),
      REDIS_URL_FILE: file('redis', 'redis://:pw@a:1\n'),
    }
    expect(config(env)).toMatchObject({
      relayAuthentication: { mode: 'hmac', secrets: [secret] },
      adminToken: secret,
      redis: {
        urls: ['redis://:pw@a:1'],
        cluster: false,
        durability: 'fsync',
        durabilityStrict: false,
      },
    })
  })

  it('refuses a secret given twice, an empty file and a short secret in a file', () => {
    const good = file('good', secret)
    expect(problems({ RELAY_SECRET: secret, RELAY_SECRET_FILE: good })).toEqual([
      {
        variable: 'RELAY_SECRET',
        message: 'is also given by RELAY_SECRET_FILE; set only one of them',
      },
    ])
    expect(problems({ ADMIN_TOKEN_FILE: file('empty', ' \n') })[0]?.message).toBe(
      'names an empty file',
    )
    expect(problems({ ADMIN_TOKEN_FILE: file('short', 'abc') })[0]?.message).toBe(
      'must be at least 16 characters',
    )
  })

  it('never shows a value', () => {
    const marker = 'zq7marker'
    const env = Object.fromEntries(variables().map((name) => [name, `${marker}:,\u0007`]))
    const found = problems(env)
    expect(found.length).toBeGreaterThan(10)
    expect(JSON.stringify(found)).not.toContain(marker)
  })

  it.each([
    ['RELAY_SECRETT', 'RELAY_SECRET'],
    ['RELAY_SERCET', 'RELAY_SECRET'],
    ['DECISION_BUDGET', 'DECISION_BUDGET_MS'],
    ['DECISION_BUDGET_M', 'DECISION_BUDGET_MS'],
    ['REDIS_URI', 'REDIS_URL'],
    ['redis_url', 'REDIS_URL'],
    ['RULE_DIR', 'RULES_DIR'],
    ['ADMIN_TOKEN_FIEL', 'ADMIN_TOKEN_FILE'],
  ])('asks whether %s was meant to be %s', (variable, meant) => {
    const message = `is not known: did you mean ${meant}? Else unset it`
    const expected = { variable, message }
    expect(problems({ [variable]: secret })).toEqual([expected])
  })

  it('does not take the variables of others for ours', () => {
    const env = {
      PATH: '/bin',
      HOME: '/root',
      HOSTNAME: 'x',
      NODE_ENV: 'production',
      XDG_DATA_DIRS: 'x',
      REDIS_PORT: 'tcp://10.0.0.1:6379',
      REDIS_SERVICE_HOST: '10.0.0.1',
      npm_config_loglevel: 'x',
      SSL_KEY_FILE: 'x',
      RELAY_PORT: 'tcp://10.0.0.1:80',
    }
    expect(config(env).warnings).toEqual([])
  })

  it('warns of a certificate that has ended', () => {
    const ended = makeCertificate('ended', undefined, Date.now() - 60_000)
    const [certFile, keyFile] = [join(folder, 'ended.crt'), join(folder, 'ended.key')]
    writeFileSync(certFile, ended.certPem)
    writeFileSync(keyFile, ended.keyPem)
    const { warnings } = config({ TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile })
    expect(warnings).toEqual([
      expect.stringMatching(
        /^TLS_CERT_FILE holds a certificate that ended \(.* GMT\): put another/,
      ),
    ])
  })

  it('warns of a password in clear and of a secret that is not used', () => {
    const env = { HOST: '0.0.0.0', RELAY_AUTH: 'basic', RELAY_USER: 'u', RELAY_PASSWORD: secret }
    expect(config(env).warnings).toHaveLength(1)
    expect(config({ RELAY_AUTH: 'none', RELAY_SECRET: secret }).warnings).toHaveLength(1)
  })

  it('never throws, and what it accepts keeps the rules', () => {
    const value = fc.oneof(
      fc.string(),
      fc.nat(70_000).map(String),
      fc.constantFrom('', 'true', 'none', 'hmac', 'basic', 'mtls', '0.0.0.0', '127.0.0.1', secret),
    )
    const env = fc.dictionary(fc.constantFrom(...variables(), 'RELAY_SECRET_FILE'), value, {
      maxKeys: 6,
    })
    fc.assert(
      fc.property(env, (given) => {
        const result = readConfig(given)
        if (!isConfig(result)) {
          expect(result.length).toBeGreaterThan(0)
          return
        }
        const open = result.relayAuthentication.mode === 'none' && !isLoopback(result.host)
        expect(open).toBe(false)
        expect(result.adminToken !== null || isLoopback(result.adminHost)).toBe(true)
        expect(result.budgetMs).toBeLessThanOrEqual(320)
      }),
      { numRuns: 1000 },
    )
  })
})

describe('isLoopback', () => {
  it('knows loopback from what only looks like it', () => {
    const loopback = ['127.0.0.1', '127.1.2.3', '::1', 'localhost', 'LOCALHOST', '::ffff:127.0.0.1']
    for (const host of loopback) expect(isLoopback(host), host).toBe(true)
    const open = ['0.0.0.0', '::', '127.0.0.1.evil.com', '127.evil.com', '10.0.0.1', '128.0.0.1']
    for (const host of open) expect(isLoopback(host), host).toBe(false)
  })
})

describe('configTable', () => {
  it('has a row with a meaning for every variable, and its default', () => {
    const table = configTable()
    expect(table).toContain('| `PORT` | `8080` | Port of `POST /authorize` |')
    expect(table).toContain('`RELAY_SECRET_FILE`')
    const rows = table.trim().split('\n').slice(2)
    expect(rows).toHaveLength(variables().length)
    for (const row of rows) expect(row).toMatch(/^\| `[A-Z_]+` \| (`[^`]+`)? ?\| [A-Z`].+ \|$/)
  })
})

function variables(): string[] {
  return Array.from(configTable().matchAll(/^\| `([A-Z_]+)`/gm), (match) => match[1] as string)
}

function config(env: NodeJS.ProcessEnv): Config {
  const result = readConfig(env)
  if (!isConfig(result)) throw new Error(JSON.stringify(result))
  return result
}

function problems(env: NodeJS.ProcessEnv): readonly ConfigProblem[] {
  const result = readConfig(env)
  return isConfig(result) ? [] : result
}

function file(name: string, content: string): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}
