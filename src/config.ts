import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { slips } from './spelling.ts'

export type RelayAuthentication =
  | { readonly mode: 'hmac'; readonly secrets: readonly string[] }
  | { readonly mode: 'basic'; readonly user: string; readonly password: string }
  | { readonly mode: 'mtls' }
  | { readonly mode: 'none' }

export interface Config {
  readonly host: string
  readonly port: number
  readonly relayAuthentication: RelayAuthentication
  /** `default`, the name of a shipped profile, or a path. */
  readonly relayProfile: string
  /** Null: plain HTTP, for loopback or a proxy in front. */
  readonly tls: {
    readonly certFile: string
    readonly keyFile: string
    readonly clientCaFile: string | null
  } | null
  readonly adminHost: string
  readonly adminPort: number
  readonly adminToken: string | null
  /** Null: the embedded store in dataDir. */
  readonly redis: {
    readonly urls: readonly string[]
    readonly cluster: boolean
    /** What Redis must keep of what it has acknowledged. */
    readonly durability: 'fsync' | 'everysec'
    /** Serve only when it does. */
    readonly durabilityStrict: boolean
  } | null
  readonly dataDir: string
  readonly rulesDir: string
  readonly defaultDecision: 'approve' | 'decline'
  readonly budgetMs: number
  readonly heartbeatMs: number
  readonly eventRetentionDays: number
  readonly logRetentionDays: number
  readonly cacheCards: number
  readonly warmCards: number
  readonly engineHeapMb: number
  readonly logLevel: (typeof logLevels)[number]
  /** What looks like a mistake but does not stop us, for the log. */
  readonly warnings: readonly string[]
}

export interface ConfigProblem {
  readonly variable: string
  /** What is wrong and what to set. The value itself is never in it: it may be a secret. */
  readonly message: string
}

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
const minSecretChars = 16

function text(must: string, pattern: RegExp) {
  return z.string().regex(pattern, must)
}

function wholeNumber(min: number, max: number) {
  const must = `must be a whole number from ${min} to ${max}`
  return z
    .string()
    .regex(/^[0-9]{1,9}$/, must)
    .transform(Number)
    .refine((number) => number >= min && number <= max, must)
}

function oneOf<const T extends readonly string[]>(values: T) {
  return z.enum(values, `must be one of ${values.join(', ')}`)
}

const host = text('must be a host name or an IP address', /^[A-Za-z0-9.:_%-]{1,253}$/)
const path = text('must be a path', /^[^\0]{1,4096}$/)
const secret = z.string().min(minSecretChars, `must be at least ${minSecretChars} characters`)

/**
 * Everything that can be set, in the order of the README's table. The types before the cross-checks
 * below; a default is what the table shows.
 */
const schema = z.object({
  HOST: host
    .default('127.0.0.1')
    .describe(
      'Address the relay port listens on. `RELAY_AUTH=none` is refused unless it is loopback',
    ),
  PORT: wholeNumber(0, 65_535).default(8080).describe('Port of `POST /authorize`'),
  RELAY_AUTH: oneOf(['hmac', 'basic', 'mtls', 'none'])
    .optional()
    .describe(
      'How the relay proves itself. Without it: `hmac` when `RELAY_SECRET` is set, else `none`',
    ),
  RELAY_SECRET: secret
    .optional()
    .describe('Secret of the `Relay-Signature` header, at least 16 characters'),
  RELAY_SECRET_NEXT: secret
    .optional()
    .describe('A second secret that is valid too, while the relay changes from one to the other'),
  RELAY_USER: text('must be 1 to 255 characters without a colon', /^[^:]{1,255}$/)
    .optional()
    .describe('User name for `RELAY_AUTH=basic`'),
  RELAY_PASSWORD: secret
    .optional()
    .describe('Password for `RELAY_AUTH=basic`, at least 16 characters'),
  RELAY_PROFILE: path
    .default('default')
    .describe(
      'Shape of the calls and answers: `default`, `stripe-issuing`, `lithic-asa`, `marqeta-jit`, `adyen-relayed`, or a YAML file',
    ),
  TLS_CERT_FILE: path.optional().describe('Certificate chain (PEM) of the relay port'),
  TLS_KEY_FILE: path.optional().describe('Its private key (PEM)'),
  TLS_CLIENT_CA_FILE: path
    .optional()
    .describe('Authority (PEM) of client certificates, for `RELAY_AUTH=mtls`'),
  ADMIN_HOST: host
    .default('127.0.0.1')
    .describe('Address of the operations port. Beyond loopback it needs `ADMIN_TOKEN`'),
  ADMIN_PORT: wholeNumber(0, 65_535).default(8081).describe('Port of health, metrics and reload'),
  ADMIN_TOKEN: secret
    .optional()
    .describe('Bearer token of the operations port, at least 16 characters'),
  REDIS_URL: text(
    'must be redis:// or rediss:// addresses, comma-separated',
    /^rediss?:\/\/[^\s,]+(,rediss?:\/\/[^\s,]+)*$/,
  )
    .optional()
    .describe(
      'State in Redis instead of the embedded store; several, comma-separated, for a cluster',
    ),
  REDIS_CLUSTER: oneOf(['true', 'false'])
    .default('false')
    .describe('`true` when `REDIS_URL` names nodes of a Redis Cluster'),
  DURABILITY: oneOf(['fsync', 'everysec'])
    .default('fsync')
    .describe(
      'What Redis must keep, checked at the start: `fsync`, every decision that was answered; `everysec`, all but about the last second when the machine is lost',
    ),
  DURABILITY_STRICT: oneOf(['true', 'false'])
    .default('false')
    .describe('`true`: a Redis that is not set for `DURABILITY` is refused, not only warned of'),
  DATA_DIR: path
    .default('./data')
    .describe('Folder of the embedded store and of the journal. One process, one folder'),
  RULES_DIR: path.default('./rules').describe('Folder of the rule pack'),
  DEFAULT_DECISION: oneOf(['decline', 'approve'])
    .default('decline')
    .describe('Said when no decision was made in time. Must equal the one set at the service'),
  DECISION_BUDGET_MS: wholeNumber(20, 320)
    .default(250)
    .describe('Time from arrival until the default decision is said, in milliseconds'),
  HEARTBEAT_MS: wholeNumber(1_000, 60_000)
    .default(5_000)
    .describe('Silence after which the engine is restarted, in milliseconds'),
  EVENT_RETENTION_DAYS: wholeNumber(1, 400)
    .default(45)
    .describe('How long a repeated event is recognised, in days'),
  LOG_RETENTION_DAYS: wholeNumber(1, 4_000)
    .default(30)
    .describe('How long the log of decisions is kept, in days'),
  CACHE_CARDS: wholeNumber(1_000, 20_000_000)
    .default(200_000)
    .describe('Cards kept in memory; others are read on demand'),
  WARM_CARDS: wholeNumber(0, 10_000_000)
    .default(50_000)
    .describe(
      'Cards that are read in advance after a start, those last active first, up to half of `CACHE_CARDS`; 0: none',
    ),
  ENGINE_HEAP_MB: wholeNumber(128, 65_536)
    .default(1_024)
    .describe("Limit of the engine's heap, in megabytes"),
  LOG_LEVEL: oneOf(logLevels).default('info').describe('Least level that is logged'),
})

type Name = keyof typeof schema.shape
type Values = { -readonly [N in Name]?: z.output<(typeof schema.shape)[N]> }

/** Each may come from a file instead, named by the same variable with _FILE added. */
const fromFiles: readonly Name[] = [
  'RELAY_SECRET',
  'RELAY_SECRET_NEXT',
  'RELAY_PASSWORD',
  'ADMIN_TOKEN',
  'REDIS_URL',
]

const maxSecretFileBytes = 65_536

const names = Object.keys(schema.shape) as Name[]
const fileNames = fromFiles.map((name) => `${name}_FILE`)

/** The whole configuration, or everything that is wrong with it. An empty variable is not set. */
export function readConfig(env: NodeJS.ProcessEnv): Config | readonly ConfigProblem[] {
  const problems: ConfigProblem[] = []
  const values: Values = {}
  // Field by field, because the checks across fields must also run when a field has a problem.
  for (const name of names) {
    const raw = readRaw(env, name, problems)
    if (raw === null) continue
    const result = schema.shape[name].safeParse(raw)
    if (result.success) Object.assign(values, { [name]: result.data })
    else problems.push({ variable: name, message: result.error.issues[0]?.message ?? 'is wrong' })
  }
  const refused = new Set(problems.map((problem) => problem.variable))
  // What was set wrongly was set: nobody should be told to set it.
  const given = (name: Name): boolean =>
    values[name] !== undefined || refused.has(name) || refused.has(`${name}_FILE`)
  problems.push(...checkAcross(values, given))
  if (problems.length > 0) return problems

  // Nothing below may refuse.
  const v = values as z.output<typeof schema>
  return {
    host: v.HOST,
    port: v.PORT,
    relayAuthentication: relayAuthentication(v),
    relayProfile: v.RELAY_PROFILE,
    tls:
      v.TLS_CERT_FILE !== undefined && v.TLS_KEY_FILE !== undefined
        ? {
            certFile: v.TLS_CERT_FILE,
            keyFile: v.TLS_KEY_FILE,
            clientCaFile: v.TLS_CLIENT_CA_FILE ?? null,
          }
        : null,
    adminHost: v.ADMIN_HOST,
    adminPort: v.ADMIN_PORT,
    adminToken: v.ADMIN_TOKEN ?? null,
    redis:
      v.REDIS_URL === undefined
        ? null
        : {
            urls: v.REDIS_URL.split(','),
            cluster: v.REDIS_CLUSTER === 'true',
            durability: v.DURABILITY,
            durabilityStrict: v.DURABILITY_STRICT === 'true',
          },
    dataDir: v.DATA_DIR,
    rulesDir: v.RULES_DIR,
    defaultDecision: v.DEFAULT_DECISION,
    budgetMs: v.DECISION_BUDGET_MS,
    heartbeatMs: v.HEARTBEAT_MS,
    eventRetentionDays: v.EVENT_RETENTION_DAYS,
    logRetentionDays: v.LOG_RETENTION_DAYS,
    cacheCards: v.CACHE_CARDS,
    warmCards: v.WARM_CARDS,
    engineHeapMb: v.ENGINE_HEAP_MB,
    logLevel: v.LOG_LEVEL,
    warnings: [...findNearMisses(env), ...findOddities(v)],
  }
}

export function isConfig(result: Config | readonly ConfigProblem[]): result is Config {
  return !Array.isArray(result)
}

/** The README's table of variables. */
export function configTable(): string {
  const rows = names.map((name) => {
    const field = schema.shape[name]
    const fallback = field.safeParse(undefined)
    const shown = fallback.success && fallback.data !== undefined ? `\`${fallback.data}\`` : ''
    const file = fromFiles.includes(name) ? `. Or \`${name}_FILE\`, a file that holds it` : ''
    return `| \`${name}\` | ${shown} | ${field.description ?? ''}${file} |`
  })
  return ['| Variable | Default | Meaning |', '|---|---|---|', ...rows, ''].join('\n')
}

/** Undefined when it is not set, null when it is known to be wrong. */
function readRaw(
  env: NodeJS.ProcessEnv,
  name: Name,
  problems: ConfigProblem[],
): string | undefined | null {
  const direct = env[name] || undefined
  const fileName = `${name}_FILE`
  const file = fromFiles.includes(name) ? env[fileName] || undefined : undefined
  if (file === undefined) return direct
  if (direct !== undefined) {
    problems.push({ variable: name, message: `is also given by ${fileName}; set only one of them` })
    return null
  }
  const content = readSecretFile(file)
  if (content.problem === '') return content.secret
  problems.push({ variable: fileName, message: content.problem })
  return null
}

function readSecretFile(file: string): { readonly secret: string; readonly problem: string } {
  let content: Buffer
  try {
    content = readFileSync(file)
  } catch (error) {
    return { secret: '', problem: `names a file that cannot be read (${codeOf(error)})` }
  }
  if (content.length > maxSecretFileBytes) {
    return { secret: '', problem: `names a file of more than ${maxSecretFileBytes} bytes` }
  }
  const secretText = content.toString('utf8').trim()
  return { secret: secretText, problem: secretText === '' ? 'names an empty file' : '' }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown error'
}

/** What one variable demands of another. */
function checkAcross(values: Values, given: (name: Name) => boolean): ConfigProblem[] {
  const problems: ConfigProblem[] = []
  const demand = (holds: boolean, variable: Name, message: string): void => {
    if (!holds) problems.push({ variable, message })
  }
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
  problems.push(...checkTlsFiles(values))

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

  const cluster = values.REDIS_CLUSTER === 'true'
  demand(!cluster || given('REDIS_URL'), 'REDIS_URL', 'is required when REDIS_CLUSTER is true')
  demand(
    values.REDIS_CLUSTER !== 'false' || !values.REDIS_URL?.includes(','),
    'REDIS_CLUSTER',
    'must be true when REDIS_URL names several nodes',
  )
  return problems
}

function relayAuthentication(v: z.output<typeof schema>): RelayAuthentication {
  const mode = v.RELAY_AUTH ?? (v.RELAY_SECRET === undefined ? 'none' : 'hmac')
  switch (mode) {
    case 'hmac':
      return {
        mode,
        secrets: [v.RELAY_SECRET, v.RELAY_SECRET_NEXT].filter((each) => each !== undefined),
      }
    case 'basic':
      return { mode, user: v.RELAY_USER as string, password: v.RELAY_PASSWORD as string }
    case 'mtls':
    case 'none':
      return { mode }
  }
}

export function isLoopback(address: string): boolean {
  const plain = address.toLowerCase().replace(/^::ffff:/, '')
  return plain === 'localhost' || plain === '::1' || /^127(\.[0-9]{1,3}){3}$/.test(plain)
}

/** Read as the server will read them: it could only say so by a stack trace. */
function checkTlsFiles(values: Values): ConfigProblem[] {
  const problems: ConfigProblem[] = []
  function parse<T>(variable: Name, what: string, parsePem: (pem: Buffer) => T): T | null {
    const file = values[variable] as string | undefined
    if (file === undefined) return null
    let pem: Buffer
    try {
      pem = readFileSync(file)
    } catch (error) {
      const message = `names a file that cannot be read (${codeOf(error)})`
      problems.push({ variable, message })
      return null
    }
    try {
      return parsePem(pem)
    } catch {
      problems.push({ variable, message: `names a file that holds no ${what}` })
      return null
    }
  }
  const certificate = parse('TLS_CERT_FILE', 'certificate (PEM)', readCertificate)
  const key = parse('TLS_KEY_FILE', 'private key (PEM, without a passphrase)', createPrivateKey)
  parse('TLS_CLIENT_CA_FILE', 'certificate (PEM)', readCertificate)
  if (certificate !== null && key !== null && !certificate.checkPrivateKey(key)) {
    problems.push({ variable: 'TLS_KEY_FILE', message: 'is not the key of TLS_CERT_FILE' })
  }
  return problems
}

function readCertificate(pem: Buffer): X509Certificate {
  return new X509Certificate(pem)
}

function findOddities(v: z.output<typeof schema>): string[] {
  const warnings: string[] = []
  if (v.RELAY_AUTH === 'basic' && v.TLS_CERT_FILE === undefined && !isLoopback(v.HOST)) {
    warnings.push(
      'RELAY_AUTH is basic without TLS: the password is sent in clear unless a proxy ends TLS',
    )
  }
  if (v.RELAY_SECRET !== undefined && v.RELAY_AUTH !== undefined && v.RELAY_AUTH !== 'hmac') {
    warnings.push(`RELAY_SECRET is set but not used: RELAY_AUTH is ${v.RELAY_AUTH}`)
  }
  return warnings
}

/** A misspelt variable is otherwise silent: its default is used, and nobody is told. */
function findNearMisses(env: NodeJS.ProcessEnv): string[] {
  const known = [...names, ...fileNames]
  const warnings: string[] = []
  for (const variable of Object.keys(env)) {
    // HOST and PORT are too short to tell a slip from another word.
    if (!variable.includes('_') || known.includes(variable) || others.includes(variable)) continue
    const meant = known.find((name) => name.includes('_') && isNear(variable.toUpperCase(), name))
    if (meant !== undefined) warnings.push(`${variable} is not known: did you mean ${meant}?`)
  }
  return warnings
}

/** Near our names, and meant for others. */
const others: readonly string[] = ['SSL_CERT_FILE']

const maxSlips = 2

/** A few slips of the pen, or the unit at the end left out. */
function isNear(variable: string, name: string): boolean {
  if (name.startsWith(`${variable}_`)) return true
  return Math.abs(variable.length - name.length) <= maxSlips && slips(variable, name) <= maxSlips
}
