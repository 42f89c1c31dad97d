import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ConfigProblem, checkAcross, findOddities, unreadable } from './check.ts'
import { findNearMisses } from './near-miss.ts'
import {
  fromFiles,
  type logLevels,
  type Name,
  type Settings,
  schema,
  type Values,
  variables,
} from './schema.ts'

export type RelayAuthentication =
  | { readonly mode: 'hmac'; readonly secrets: readonly string[] }
  | { readonly mode: 'basic'; readonly user: string; readonly password: string }
  | { readonly mode: 'mtls' }
  | { readonly mode: 'none' }

/** Who verifies customers. */
type KycConfig =
  | { readonly provider: 'none' }
  | { readonly provider: 'sandbox'; readonly delayMs: number }
  | { readonly provider: 'http'; readonly url: string; readonly secret: string }

type CardNumbers =
  | { readonly source: 'none' }
  | { readonly source: 'sandbox'; readonly bin: string }
  | { readonly source: 'http'; readonly url: string; readonly secret: string }

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
  readonly maxConnections: number
  readonly maxBodyBytes: number
  readonly adminHost: string
  readonly adminPort: number
  readonly adminToken: string | null
  /** Null: there is no management API. */
  readonly api: ApiConfig | null
  /** Null: there is no console. */
  readonly console: ConsoleConfig | null
  /** Null: the embedded store has a key of its own. */
  readonly secretsKey: string | null
  readonly secretsKeyOld: string | null
  readonly sandbox: boolean
  /** Null: the embedded store in dataDir. */
  readonly redis: {
    readonly urls: readonly string[]
    readonly cluster: boolean
    /** Sentinels that know the address of the master whose name the url has. */
    readonly sentinels?: readonly string[]
    /** How much of what Redis has acknowledged it must keep when it crashes. */
    readonly durability: 'fsync' | 'everysec'
    /** Whether a Redis that is not set so is refused. */
    readonly durabilityStrict: boolean
  } | null
  readonly dataDir: string
  /** With an address it is where the bundle is kept that came from there. */
  readonly rulesDir: string
  /** Public keys; empty takes packs without a signature. */
  readonly rulesKeys: readonly string[]
  /** '' for none. */
  readonly rulesUrl: string
  /** Through which others are called; '' when there is none. */
  readonly outgoingProxy: string
  readonly rulesPullMs: number
  readonly rulesReload: 'auto' | 'manual'
  readonly defaultDecision: 'approve' | 'decline'
  readonly budgetMs: number
  readonly heartbeatMs: number
  readonly eventRetentionDays: number
  readonly webhookRetentionDays: number
  readonly logRetentionDays: number
  readonly cacheCards: number
  readonly engineHeapMb: number
  readonly logLevel: (typeof logLevels)[number]
  /** Settings that look like a mistake, for the log. */
  readonly warnings: readonly string[]
}

interface ApiConfig {
  readonly host: string
  readonly port: number
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null
  /** The addresses that clients write, without a last slash. */
  readonly publicUrls: readonly string[]
  readonly tokenSeconds: number
  readonly ratePerSecond: number
  readonly getReferences: 'enforce' | 'ignore'
  readonly transactionRetentionDays: number
  readonly cardNumbers: CardNumbers
  readonly kyc: KycConfig
  readonly webhookNetworks: readonly string[]
}

interface ConsoleConfig {
  readonly host: string
  readonly port: number
  readonly publicUrl: string | null
  readonly viewersFile: string | null
  readonly operatorsFile: string | null
  readonly reportsDir: string | null
}

const maxSecretFileBytes = 65_536
/** Nobody sees that a folder or a secret ends in one, and another folder, or none of the relay's secrets, is used. */
const unseenCharacter = /\p{Cc}/u
const unseenProblem =
  'has a character that is not seen, such as a line break at its end: make it without (echo -n, or a file with LF line ends)'

/** The whole configuration, or everything that is wrong with it. An empty variable is not set. */
export function readConfig(env: NodeJS.ProcessEnv): Config | readonly ConfigProblem[] {
  const problems: ConfigProblem[] = []
  const values: Values = {}
  // Field by field, because the checks across fields must also run when a field has a problem.
  for (const name of variables) {
    const raw = readRaw(env, name, problems)
    if (raw === null) continue
    const result = schema.shape[name].safeParse(raw)
    if (result.success) Object.assign(values, { [name]: result.data })
    else problems.push({ variable: name, message: result.error.issues[0]?.message ?? 'is wrong' })
  }
  const refused = new Set(problems.map((problem) => problem.variable))
  // A variable that was set wrongly counts as set: nobody should be told to set it.
  const given = (name: Name): boolean =>
    values[name] !== undefined || refused.has(name) || refused.has(`${name}_FILE`)
  problems.push(...checkAcross(values, given), ...findNearMisses(env))
  return problems.length > 0 ? problems : configOf(values as Settings)
}

function configOf(v: Settings): Config {
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
    maxConnections: v.MAX_CONNECTIONS,
    maxBodyBytes: v.MAX_BODY_BYTES,
    adminHost: v.ADMIN_HOST,
    adminPort: v.ADMIN_PORT,
    adminToken: v.ADMIN_TOKEN ?? null,
    api: apiConfig(v),
    console: consoleConfig(v),
    secretsKey: v.SECRETS_KEY ?? null,
    secretsKeyOld: v.SECRETS_KEY_OLD ?? null,
    sandbox: v.SANDBOX === 'true',
    redis:
      v.REDIS_URL === undefined
        ? null
        : {
            urls: v.REDIS_URL.split(','),
            cluster: v.REDIS_CLUSTER === 'true',
            ...(v.REDIS_SENTINEL !== undefined && { sentinels: v.REDIS_SENTINEL.split(',') }),
            durability: v.DURABILITY,
            durabilityStrict: v.DURABILITY_STRICT === 'true',
          },
    dataDir: v.DATA_DIR,
    rulesDir: v.RULES_URL === undefined ? v.RULES_DIR : join(v.DATA_DIR, 'rules'),
    rulesKeys: v.RULES_KEYS?.split(',') ?? [],
    rulesUrl: v.RULES_URL ?? '',
    outgoingProxy: v.OUTGOING_PROXY ?? '',
    rulesPullMs: v.RULES_PULL_SECONDS * 1000,
    rulesReload: v.RULES_RELOAD,
    defaultDecision: v.DEFAULT_DECISION,
    budgetMs: v.DECISION_BUDGET_MS,
    heartbeatMs: v.HEARTBEAT_MS,
    eventRetentionDays: v.EVENT_RETENTION_DAYS,
    webhookRetentionDays: v.WEBHOOK_RETENTION_DAYS,
    logRetentionDays: v.LOG_RETENTION_DAYS,
    cacheCards: v.CACHE_CARDS,
    engineHeapMb: v.ENGINE_HEAP_MB,
    logLevel: v.LOG_LEVEL,
    warnings: findOddities(v),
  }
}

export function isConfig(result: Config | readonly ConfigProblem[]): result is Config {
  return !Array.isArray(result)
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
  const seen = file === undefined ? name : fileName
  if (unseenCharacter.test(env[seen] ?? '')) {
    problems.push({ variable: seen, message: unseenProblem })
    return null
  }
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
    return { secret: '', problem: unreadable(error) }
  }
  if (content.length > maxSecretFileBytes) {
    return { secret: '', problem: `names a file of more than ${maxSecretFileBytes} bytes` }
  }
  const secretText = content.toString('utf8').trim()
  return { secret: secretText, problem: secretText === '' ? 'names an empty file' : '' }
}

function apiConfig(v: Settings): ApiConfig | null {
  if (v.API_PORT === undefined) return null
  const [certFile, keyFile] = [v.API_TLS_CERT_FILE, v.API_TLS_KEY_FILE]
  return {
    host: v.API_HOST,
    port: v.API_PORT,
    tls: certFile !== undefined && keyFile !== undefined ? { certFile, keyFile } : null,
    publicUrls: (v.PUBLIC_URL?.split(',') ?? []).map((url) => url.replace(/\/+$/, '')),
    tokenSeconds: v.API_TOKEN_SECONDS,
    ratePerSecond: v.API_RATE_PER_SECOND,
    getReferences: v.API_GET_REFERENCES,
    transactionRetentionDays: v.TRANSACTION_RETENTION_DAYS,
    cardNumbers: cardNumbers(v),
    kyc: kycSettings(v),
    webhookNetworks: v.WEBHOOK_NETWORKS?.split(',') ?? [],
  }
}

function kycSettings(v: Settings): KycConfig {
  const provider = v.KYC_PROVIDER ?? (v.SANDBOX === 'true' ? 'sandbox' : 'none')
  if (provider === 'none') return { provider }
  if (provider === 'sandbox') return { provider, delayMs: v.KYC_SANDBOX_DELAY_MS }
  const url = (v.KYC_URL as string).replace(/\/+$/, '')
  return { provider, url, secret: v.KYC_SECRET as string }
}

function cardNumbers(v: Settings): CardNumbers {
  const source = v.CARD_NUMBERS ?? (v.SANDBOX === 'true' ? 'sandbox' : 'none')
  if (source === 'none') return { source }
  if (source === 'sandbox') return { source, bin: v.SANDBOX_BIN }
  const url = (v.CARD_NUMBERS_URL as string).replace(/\/+$/, '')
  return { source, url, secret: v.CARD_NUMBERS_SECRET as string }
}

function consoleConfig(v: Settings): ConsoleConfig | null {
  if (v.CONSOLE_PORT === undefined) return null
  return {
    host: v.CONSOLE_HOST,
    port: v.CONSOLE_PORT,
    publicUrl: v.CONSOLE_URL ?? null,
    viewersFile: v.CONSOLE_VIEWERS_FILE ?? null,
    operatorsFile: v.CONSOLE_OPERATORS_FILE ?? null,
    reportsDir: v.CONSOLE_REPORTS_DIR ?? null,
  }
}

function relayAuthentication(v: Settings): RelayAuthentication {
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
