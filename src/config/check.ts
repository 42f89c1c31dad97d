import { createPrivateKey, X509Certificate } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { systemClock } from '../clock.ts'
import type { Name, Settings, Values } from './schema.ts'

export interface ConfigProblem {
  readonly variable: string
  /** What is wrong and what to set. The value itself is never in it: it may be a secret. */
  readonly message: string
}

type Demand = (holds: boolean, variable: Name, message: string) => void
type IsGiven = (name: Name) => boolean

/** What one variable demands of another. */
export function checkAcross(values: Values, given: IsGiven): ConfigProblem[] {
  const problems: ConfigProblem[] = []
  const demand: Demand = (holds, variable, message) => {
    if (!holds) problems.push({ variable, message })
  }
  checkRelay(values, given, demand)
  problems.push(...checkTlsFiles(values, 'TLS_CERT_FILE', 'TLS_KEY_FILE', 'TLS_CLIENT_CA_FILE'))
  checkApi(values, given, demand)
  checkConsole(values, given, demand)
  checkProviders(values, given, demand)
  problems.push(...checkTlsFiles(values, 'API_TLS_CERT_FILE', 'API_TLS_KEY_FILE', null))
  checkAdmin(values, given, demand)
  checkRedis(values, given, demand)
  demand(!given('RULES_URL') || given('RULES_KEYS'), 'RULES_KEYS', 'is required with RULES_URL')
  return problems
}

function checkRelay(values: Values, given: IsGiven, demand: Demand): void {
  const mode = values.RELAY_AUTH ?? (given('RELAY_SECRET') ? 'hmac' : 'none')

  if (!given('RELAY_AUTH') || values.RELAY_AUTH !== undefined) {
    demand(
      mode !== 'none' || values.HOST === undefined || isLoopback(values.HOST),
      'RELAY_AUTH',
      'is none, and HOST is not loopback: set RELAY_SECRET (or RELAY_AUTH=basic or mtls), or HOST=127.0.0.1',
    )
    demand(
      mode !== 'hmac' || given('RELAY_SECRET'),
      'RELAY_SECRET',
      'is required when RELAY_AUTH is hmac',
    )
  }
  demand(
    !given('RELAY_SECRET_NEXT') || given('RELAY_SECRET'),
    'RELAY_SECRET_NEXT',
    'is set without RELAY_SECRET; set that first',
  )
  for (const name of ['RELAY_USER', 'RELAY_PASSWORD'] as const) {
    demand(mode !== 'basic' || given(name), name, 'is required when RELAY_AUTH is basic')
  }
  demand(
    mode !== 'mtls' || given('TLS_CLIENT_CA_FILE'),
    'TLS_CLIENT_CA_FILE',
    'is required when RELAY_AUTH is mtls',
  )

  demand(
    !given('TLS_CERT_FILE') || given('TLS_KEY_FILE'),
    'TLS_KEY_FILE',
    'is required with TLS_CERT_FILE',
  )
  demand(
    given('TLS_CERT_FILE') || !(given('TLS_KEY_FILE') || given('TLS_CLIENT_CA_FILE')),
    'TLS_CERT_FILE',
    `is required with ${given('TLS_KEY_FILE') ? 'TLS_KEY_FILE' : 'TLS_CLIENT_CA_FILE'}`,
  )
}

function checkAdmin(values: Values, given: IsGiven, demand: Demand): void {
  demand(
    values.ADMIN_HOST === undefined || isLoopback(values.ADMIN_HOST) || given('ADMIN_TOKEN'),
    'ADMIN_TOKEN',
    'is required when ADMIN_HOST is not loopback',
  )
  demand(
    values.PORT === undefined || values.PORT === 0 || values.PORT !== values.ADMIN_PORT,
    'ADMIN_PORT',
    'must differ from PORT',
  )
}

function checkRedis(values: Values, given: IsGiven, demand: Demand): void {
  const cluster = values.REDIS_CLUSTER === 'true'
  demand(!cluster || given('REDIS_URL'), 'REDIS_URL', 'is required when REDIS_CLUSTER is true')
  demand(
    !given('REDIS_SENTINEL') || given('REDIS_URL'),
    'REDIS_URL',
    'is required with REDIS_SENTINEL: redis://USER:PASSWORD@NAME, with the name of the master',
  )
  demand(
    !cluster || !given('REDIS_SENTINEL'),
    'REDIS_SENTINEL',
    'is not for a cluster, which finds its masters by itself: unset it, or REDIS_CLUSTER',
  )
  demand(
    values.REDIS_CLUSTER !== 'false' || !values.REDIS_URL?.includes(','),
    'REDIS_CLUSTER',
    'must be true when REDIS_URL names several nodes',
  )
}

/** Checked apart from the rest, because most commands need no pack. */
export function checkRulesDir(folder: string): ConfigProblem[] {
  const variable = 'RULES_DIR'
  const advice = 'name the folder of a rule pack'
  try {
    const names = readdirSync(folder)
    if (names.includes('pack.yaml') || names.includes('pack.bundle')) return []
    return [{ variable, message: `names ${folder}, which has no pack.yaml: ${advice}` }]
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    return [{ variable, message: `names ${folder}, which cannot be read (${code}): ${advice}` }]
  }
}

function checkConsole(values: Values, given: IsGiven, demand: Demand): void {
  const others = [values.PORT, values.ADMIN_PORT, values.API_PORT]
  demand(
    values.CONSOLE_PORT === undefined ||
      values.CONSOLE_PORT === 0 ||
      !others.includes(values.CONSOLE_PORT),
    'CONSOLE_PORT',
    'must differ from PORT, ADMIN_PORT and API_PORT',
  )
  for (const name of ['CONSOLE_VIEWERS_FILE', 'CONSOLE_OPERATORS_FILE'] as const) {
    demand(!given(name) || given('CONSOLE_PORT'), 'CONSOLE_PORT', `is required with ${name}`)
    const missing = 'names a file that is not there: arbiter console user add makes it'
    demand(values[name] === undefined || existsSync(values[name]), name, missing)
  }
  if (values.CONSOLE_HOST === undefined || isLoopback(values.CONSOLE_HOST)) return
  demand(
    given('CONSOLE_VIEWERS_FILE') || given('CONSOLE_OPERATORS_FILE'),
    'CONSOLE_OPERATORS_FILE',
    'is required when CONSOLE_HOST is not loopback (or CONSOLE_VIEWERS_FILE)',
  )
  demand(
    values.CONSOLE_URL?.startsWith('https:') ?? false,
    'CONSOLE_URL',
    'must be the https:// address of the proxy in front when CONSOLE_HOST is not loopback',
  )
}

function checkApi(values: Values, given: IsGiven, demand: Demand): void {
  demand(
    given('API_TLS_CERT_FILE') === given('API_TLS_KEY_FILE'),
    given('API_TLS_CERT_FILE') ? 'API_TLS_KEY_FILE' : 'API_TLS_CERT_FILE',
    'is required with the other of API_TLS_CERT_FILE and API_TLS_KEY_FILE',
  )
  const ports = [values.PORT, values.ADMIN_PORT]
  demand(
    values.API_PORT === undefined || values.API_PORT === 0 || !ports.includes(values.API_PORT),
    'API_PORT',
    'must differ from PORT and ADMIN_PORT',
  )
  const secured = given('API_TLS_CERT_FILE') || values.PUBLIC_URL?.startsWith('https://') === true
  demand(
    values.API_HOST === undefined || isLoopback(values.API_HOST) || secured,
    'API_HOST',
    'is not loopback: set API_TLS_CERT_FILE, or PUBLIC_URL with https:// when a proxy ends TLS',
  )
  demand(
    values.API_PORT === undefined || !given('REDIS_URL') || given('SECRETS_KEY'),
    'SECRETS_KEY',
    'is required for the management API with REDIS_URL: openssl rand -base64 32 makes one',
  )
  demand(
    !given('SECRETS_KEY_OLD') || given('SECRETS_KEY'),
    'SECRETS_KEY_OLD',
    'is set without SECRETS_KEY; set that first',
  )
}

/** Others that are asked for something: what is made up needs a sandbox, what is asked must be safe. */
const providers = [
  { name: 'CARD_NUMBERS', url: 'CARD_NUMBERS_URL', secret: 'CARD_NUMBERS_SECRET' },
  { name: 'KYC_PROVIDER', url: 'KYC_URL', secret: 'KYC_SECRET' },
] as const

function checkProviders(values: Values, given: IsGiven, demand: Demand): void {
  const isSandbox = values.SANDBOX === 'true'
  for (const { name, url, secret } of providers) {
    const provider = values[name]
    demand(provider !== 'sandbox' || isSandbox, name, 'must not be sandbox without SANDBOX=true')
    for (const needed of [url, secret]) {
      demand(provider !== 'http' || given(needed), needed, `is required with ${name}=http`)
    }
    const address = values[url]
    demand(
      address === undefined || isSafeUrl(address) || isSandbox,
      url,
      'must begin with https://, or be loopback: what passes there is secret',
    )
  }
}

/** Nobody on the way can read it. */
function isSafeUrl(text: string): boolean {
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || isLoopback(hostname.replace(/^\[|\]$/g, ''))
}

/** Reads the files as the server will, which could report a wrong one only by a stack trace. */
function checkTlsFiles(
  values: Values,
  certFile: Name,
  keyFile: Name,
  clientCaFile: Name | null,
): ConfigProblem[] {
  const problems: ConfigProblem[] = []
  function parse<T>(variable: Name, what: string, parsePem: (pem: Buffer) => T): T | null {
    const file = values[variable] as string | undefined
    if (file === undefined) return null
    let pem: Buffer
    try {
      pem = readFileSync(file)
    } catch (error) {
      problems.push({ variable, message: unreadable(error) })
      return null
    }
    try {
      return parsePem(pem)
    } catch {
      problems.push({ variable, message: `names a file that holds no ${what}` })
      return null
    }
  }
  const certificate = parse(certFile, 'certificate (PEM)', readCertificate)
  const key = parse(keyFile, 'private key (PEM, without a passphrase)', createPrivateKey)
  if (clientCaFile !== null) parse(clientCaFile, 'certificate (PEM)', readCertificate)
  if (certificate !== null && key !== null && !certificate.checkPrivateKey(key)) {
    problems.push({ variable: keyFile, message: `is not the key of ${certFile}` })
  }
  return problems
}

function readCertificate(pem: Buffer): X509Certificate {
  return new X509Certificate(pem)
}

const certificateFiles = ['TLS_CERT_FILE', 'API_TLS_CERT_FILE'] as const

/** Settings that look like a mistake and are allowed. */
export function findOddities(v: Settings): string[] {
  const warnings: string[] = []
  if (v.RELAY_AUTH === 'basic' && v.TLS_CERT_FILE === undefined && !isLoopback(v.HOST)) {
    warnings.push(
      'RELAY_AUTH is basic without TLS: the password is sent in clear unless a proxy ends TLS',
    )
  }
  if (v.RELAY_SECRET !== undefined && v.RELAY_AUTH !== undefined && v.RELAY_AUTH !== 'hmac') {
    warnings.push(`RELAY_SECRET is set but not used: RELAY_AUTH is ${v.RELAY_AUTH}`)
  }
  return [...warnings, ...findEnded(v)]
}

/** Certificates that every client refuses; the server would say nothing of it, and hear nothing. */
function findEnded(values: Settings): string[] {
  return certificateFiles.flatMap((name) => {
    const file = values[name]
    if (file === undefined) return []
    const { validTo } = readCertificate(readFileSync(file))
    if (Date.parse(validTo) > systemClock.nowMs()) return []
    return [
      `${name} holds a certificate that ended (${validTo}): put another there, it is taken within seconds`,
    ]
  })
}

export function isLoopback(address: string): boolean {
  const plain = address.toLowerCase().replace(/^::ffff:/, '')
  return plain === 'localhost' || plain === '::1' || /^127(\.[0-9]{1,3}){3}$/.test(plain)
}

/** As a URL names it, how a server that listens there is reached from its own machine. */
export function reachableHost(host: string): string {
  if (['', '0.0.0.0', '::'].includes(host)) return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}

export function unreadable(error: unknown): string {
  const { code = 'unknown error' } = error as NodeJS.ErrnoException
  return `names a file that cannot be read (${code})`
}
