import { z } from 'zod'
import { isCidr } from '../outgoing/address.ts'
import { settingKinds } from './kind.ts'

const { host, key, oneOf, path, redisUrls, secret, text, webhookSecret, wholeNumber } = settingKinds

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
/**
 * Everything that can be set, in the order of the table in docs/CONFIGURATION.md. What one variable demands of another
 * is checked elsewhere; a default is what the table shows.
 */
export const schema = z.object({
  HOST: host
    .default('127.0.0.1')
    .describe(
      'Address the relay port listens on. `RELAY_AUTH=none` is refused unless it is loopback',
    ),
  PORT: wholeNumber(0, 65_535).default(8080).describe('Port of `POST /authorize`'),
  RELAY_AUTH: oneOf(['hmac', 'basic', 'mtls', 'none'])
    .optional()
    .describe(
      'How the relay proves itself: `hmac`, `basic`, `mtls` or `none`. Without it: `hmac` when `RELAY_SECRET` is set, else `none`',
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
  MAX_CONNECTIONS: wholeNumber(16, 1_000_000)
    .default(4_096)
    .describe(
      'Connections of the relay port; those that never proved to be the relay are closed first. At most what the limit of open files leaves',
    ),
  MAX_BODY_BYTES: wholeNumber(16_384, 1_048_576)
    .default(131_072)
    .describe('Longest body of a call, in bytes'),
  ADMIN_HOST: host
    .default('127.0.0.1')
    .describe('Address of the operations port. Beyond loopback it needs `ADMIN_TOKEN`'),
  ADMIN_PORT: wholeNumber(0, 65_535).default(8081).describe('Port of health, metrics and reload'),
  ADMIN_TOKEN: secret
    .optional()
    .describe('Bearer token of the operations port, at least 16 characters'),
  API_PORT: wholeNumber(0, 65_535)
    .optional()
    .describe('Port of the management API; without it there is none, and 8082 with `npm start`'),
  API_HOST: host
    .default('127.0.0.1')
    .describe(
      'Address of the management API. Beyond loopback it needs `API_TLS_CERT_FILE`, or a `PUBLIC_URL` with `https://`',
    ),
  API_TLS_CERT_FILE: path.optional().describe('Certificate chain (PEM) of the management API'),
  API_TLS_KEY_FILE: path.optional().describe('Its private key (PEM)'),
  PUBLIC_URL: text(
    'must be up to 4 http:// or https:// addresses without credentials or a query, comma-separated',
    /^https?:\/\/[^\s,?#@]+(,https?:\/\/[^\s,?#@]+){0,3}$/,
  )
    .optional()
    .describe(
      'The address of the management API as clients write it, or up to four, comma-separated, with a path if a proxy strips one. Without it: that of the `Host` header',
    ),
  CONSOLE_PORT: wholeNumber(0, 65_535)
    .optional()
    .describe('Port of the console; without it there is none'),
  CONSOLE_HOST: host
    .default('127.0.0.1')
    .describe(
      'Address of the console. Beyond loopback it needs users and a `CONSOLE_URL` with `https://`',
    ),
  CONSOLE_URL: text(
    'must be an http:// or https:// address without a path',
    /^https?:\/\/[^\s,/?#]+$/,
  )
    .optional()
    .describe('The address by which people call the console, where a proxy is in front of it'),
  CONSOLE_VIEWERS_FILE: path
    .optional()
    .describe('Users of the console who may look, as `arbiter console user add` writes them'),
  CONSOLE_OPERATORS_FILE: path
    .optional()
    .describe(
      'Users who may also act. On loopback without either file everybody who can connect may',
    ),
  CONSOLE_REPORTS_DIR: path
    .optional()
    .describe('Folder of reports that `arbiter rules backtest --html` wrote, for the console'),
  SECRETS_KEY: key
    .optional()
    .describe(
      'Encrypts what must be read back, such as client secrets: 32 bytes in Base64. Required with `REDIS_URL`; else made once in `DATA_DIR`',
    ),
  SECRETS_KEY_OLD: key
    .optional()
    .describe('A key that still decrypts, until `arbiter secrets rewrap` was run'),
  API_TOKEN_SECONDS: wholeNumber(60, 3_600)
    .default(900)
    .describe('Lifetime of a token of the management API, in seconds'),
  API_RATE_PER_SECOND: wholeNumber(1, 100_000)
    .default(50)
    .describe('Calls of one client a second, on one server; a burst may have twice as many'),
  API_GET_REFERENCES: oneOf(['enforce', 'ignore'])
    .default('enforce')
    .describe('`ignore`: the References of GET calls are neither kept nor refused'),
  SANDBOX: oneOf(['true', 'false'])
    .default('false')
    .describe(
      '`true`: a store for tests, with made-up card numbers and explained refusals. A store is marked with it when it is made, and refused with another value',
    ),
  CARD_NUMBERS: oneOf(['none', 'sandbox', 'http'])
    .optional()
    .describe(
      'Where the numbers of issued cards come from. `sandbox` makes them up and needs `SANDBOX=true`; `http` asks `CARD_NUMBERS_URL`. Without it: `sandbox` in a sandbox, else `none`',
    ),
  SANDBOX_BIN: text('must be six digits, the first a 9', /^9[0-9]{5}$/)
    .default('999999')
    .describe('What made-up card numbers begin with; no bank gives out numbers with a 9 first'),
  CARD_NUMBERS_URL: text(
    'must be an http:// or https:// address without a query',
    /^https?:\/\/[^\s,?#]+$/,
  )
    .refine((url) => URL.canParse(url), 'must be an address')
    .optional()
    .describe('Address of the source of card numbers, for `CARD_NUMBERS=http`'),
  CARD_NUMBERS_SECRET: webhookSecret
    .optional()
    .describe('Signs the calls to it: `whsec_` and 16 to 64 bytes in Base64'),
  KYC_PROVIDER: oneOf(['none', 'sandbox', 'http'])
    .optional()
    .describe(
      'Who verifies customers. `sandbox` decides by the end of their number and needs `SANDBOX=true`; `http` asks `KYC_URL`. Without it: `sandbox` in a sandbox, else `none`',
    ),
  KYC_SANDBOX_DELAY_MS: wholeNumber(0, 600_000)
    .default(2_000)
    .describe(
      'Time until a verification of a document or a business ends in a sandbox, in milliseconds',
    ),
  KYC_URL: text('must be an http:// or https:// address without a query', /^https?:\/\/[^\s,?#]+$/)
    .refine((url) => URL.canParse(url), 'must be an address')
    .optional()
    .describe('Address of the KYC provider, for `KYC_PROVIDER=http`'),
  KYC_SECRET: webhookSecret
    .optional()
    .describe('Signs the calls to it, and its own to us: `whsec_` and 16 to 64 bytes in Base64'),
  WEBHOOK_NETWORKS: z
    .string()
    .refine(
      (text) => text.split(',').every(isCidr),
      'must be networks as 10.0.0.0/8, comma-separated',
    )
    .optional()
    .describe(
      'Private networks that webhooks may reach, comma-separated; public addresses always may',
    ),
  WEBHOOK_RETENTION_DAYS: wholeNumber(4, 400)
    .default(30)
    .describe('How long events of webhooks and their deliveries are kept, in days'),
  OUTGOING_PROXY: text(
    'must be http://HOST:PORT or https://HOST:PORT, with USER:PASSWORD@ before HOST if it asks for them',
    /^https?:\/\/[^\s/?#]+$/,
  )
    .refine((url) => URL.canParse(url), 'must be an address')
    .optional()
    .describe(
      'Proxy (CONNECT) for webhooks, `KYC_URL`, `CARD_NUMBERS_URL` and `RULES_URL`; what is found at a private address is called without it',
    ),
  REDIS_URL: redisUrls
    .optional()
    .describe(
      'State in Redis instead of the embedded store; several, comma-separated, for a cluster',
    ),
  REDIS_CLUSTER: oneOf(['true', 'false'])
    .default('false')
    .describe('`true` when `REDIS_URL` names nodes of a Redis Cluster'),
  REDIS_SENTINEL: redisUrls
    .optional()
    .describe(
      'Sentinels, comma-separated, that tell which server is the master; the host in `REDIS_URL` is then its name: `redis://USER:PASSWORD@mymaster`',
    ),
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
  RULES_RELOAD: oneOf(['auto', 'manual'])
    .default('auto')
    .describe(
      '`auto`: a change of `RULES_DIR` is loaded by itself; `manual`: at a start, by SIGHUP and by `POST /admin/rules/reload` only',
    ),
  RULES_KEYS: text(
    'must be public keys as arbiter rules keys prints them, ed25519:…, separated by commas',
    /^ed25519:[\w+/]{43}=(,ed25519:[\w+/]{43}=){0,9}$/,
  )
    .optional()
    .describe('Public keys, separated by commas: only bundles that one of them signed are taken'),
  RULES_URL: text(
    'must be the https address of a bundle, without user and password',
    /^https:\/\/[^\s@#]+$|^http:\/\/(localhost|127\.0\.0\.1)[:/][^\s@#]*$/,
  )
    .optional()
    .describe(
      'Address of a signed bundle, which is pulled instead of `RULES_DIR`; the last good one is kept in `DATA_DIR/rules`',
    ),
  RULES_PULL_SECONDS: wholeNumber(1, 86_400)
    .default(30)
    .describe('How often `RULES_URL` is asked for another bundle, in seconds'),
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
    .describe('How long a repeated event is recognised, in days; fixed when the store is made'),
  TRANSACTION_RETENTION_DAYS: wholeNumber(1, 4_000)
    .default(400)
    .describe('How long rows of the transactions list and entries of wallets are kept, in days'),
  LOG_RETENTION_DAYS: wholeNumber(1, 4_000)
    .default(30)
    .describe('How long the log of decisions is kept, in days'),
  CACHE_CARDS: wholeNumber(1_000, 20_000_000)
    .default(200_000)
    .describe('Cards kept in memory, within half of `ENGINE_HEAP_MB`; others are read on demand'),
  ENGINE_HEAP_MB: wholeNumber(128, 65_536)
    .default(1_024)
    .describe("Limit of the engine's heap, in megabytes"),
  LOG_LEVEL: oneOf(logLevels)
    .default('info')
    .describe('Least that is logged: `trace`, `debug`, `info`, `warn`, `error`, `fatal`, `silent`'),
})

export type Name = keyof typeof schema.shape
/** Settings while they are read: any may still be missing. */
export type Values = { -readonly [N in Name]?: z.output<(typeof schema.shape)[N]> }

/** All settings, when nothing is wrong. */
export type Settings = z.output<typeof schema>

/** Settings that a file may hold, which the variable with _FILE added names. */
export const fromFiles: readonly Name[] = [
  'RELAY_SECRET',
  'RELAY_SECRET_NEXT',
  'RELAY_PASSWORD',
  'ADMIN_TOKEN',
  'SECRETS_KEY',
  'SECRETS_KEY_OLD',
  'CARD_NUMBERS_SECRET',
  'KYC_SECRET',
  'OUTGOING_PROXY',
  'REDIS_URL',
  'REDIS_SENTINEL',
]

export const variables = Object.keys(schema.shape) as Name[]
export const fileVariables = fromFiles.map((name) => `${name}_FILE`)

/** The table of docs/CONFIGURATION.md. */
export function configTable(): string {
  const rows = variables.map((name) => {
    const field = schema.shape[name]
    const fallback = field.safeParse(undefined)
    const shown = fallback.success && fallback.data !== undefined ? `\`${fallback.data}\`` : ''
    const file = fromFiles.includes(name) ? `. Or \`${name}_FILE\`, a file that holds it` : ''
    return `| \`${name}\` | ${shown} | ${field.description ?? ''}${file} |`
  })
  return ['| Variable | Default | Meaning |', '|---|---|---|', ...rows, ''].join('\n')
}
