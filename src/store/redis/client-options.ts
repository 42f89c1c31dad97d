import type { ClusterOptions, RedisOptions } from 'ioredis'

export interface RedisPlace {
  readonly urls: readonly string[]
  readonly cluster: boolean
  /** When there are any, the host of the one url is the name of the master that they know. */
  readonly sentinels: readonly string[]
  /** A command that takes longer has an unknown outcome. */
  readonly commandTimeoutMs: number
}

/** A connection that is silent this much longer than a command may take is replaced. */
const silenceGraceMs = 500
const connectTimeoutMs = 2_000
export const maxReconnectDelayMs = 400
const defaultSentinelPort = 26_379

export const reconnectDelayMs = (attempt: number) => Math.min(20 * attempt, maxReconnectDelayMs)

/** With ioredis's own defaults a write runs twice after a lost reply. */
export function optionsFor({ commandTimeoutMs }: RedisPlace) {
  return {
    // Whoever waits must know in time; without it a command waits as long as the connection stands.
    commandTimeout: commandTimeoutMs,
    // A connection that hangs is not a slow one: the next commands get a new one.
    socketTimeout: commandTimeoutMs + silenceGraceMs,
    // What was in flight when the connection broke is reported at once, and never sent again: only who
    // decided it knows whether it may be repeated.
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // The default of 10 s would outlast most outages.
    connectTimeout: connectTimeoutMs,
    // While Redis loads its data it is asked again this often; the default waits up to 10 s.
    maxLoadingRetryTime: 200,
    // Two commands less before a new connection is ready.
    disableClientInfo: true,
  } satisfies RedisOptions
}

export function clusterOptionsFor(place: RedisPlace) {
  return {
    // Nodes other than those named are found by asking, and need the same credentials.
    redisOptions: { ...optionsFor(place), ...credentialsOf(place.urls[0] ?? '') },
    enableOfflineQueue: false,
    // Sending a command again after its connection broke might run it twice.
    retryDelayOnFailover: 0,
    // Not executed, and it takes longer than anyone waits: tell the caller.
    retryDelayOnClusterDown: 0,
    retryDelayOnTryAgain: 20,
    // MOVED, then ASK, and one to spare; the default of 16 would go on long after the timeout.
    maxRedirections: 4,
    clusterRetryStrategy: reconnectDelayMs,
    // By default a node that was lost stays away until somebody is redirected to it.
    clusterNodeRetryStrategy: reconnectDelayMs,
    // A failover is noticed also when nothing is sent.
    slotsRefreshInterval: 5_000,
    slotsRefreshTimeout: connectTimeoutMs,
    // Names stay names, because certificates are checked against them.
    dnsLookup: (address, callback) => callback(null, address),
  } satisfies ClusterOptions
}

export function sentinelOptionsFor({ urls, sentinels, commandTimeoutMs }: RedisPlace) {
  const master = new URL(urls[0] ?? '')
  const { username, password, tls } = credentialsOf(sentinels[0] ?? '')
  return {
    name: decodeURIComponent(master.hostname),
    db: Number(master.pathname.slice(1)),
    ...credentialsOf(urls[0] ?? ''),
    enableTLSForSentinelMode: master.protocol === 'rediss:',
    sentinels: sentinels.map((url) => {
      const { hostname, port } = new URL(url)
      return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || defaultSentinelPort) }
    }),
    ...(username !== undefined && { sentinelUsername: username }),
    ...(password !== undefined && { sentinelPassword: password }),
    ...(tls !== undefined && { sentinelTLS: tls }),
    // By default a sentinel that hangs is waited for without end.
    sentinelCommandTimeout: commandTimeoutMs,
    sentinelRetryStrategy: reconnectDelayMs,
    // Those that are named are asked; what they know of others may be addresses of another network.
    updateSentinels: false,
    // A master that hangs and was replaced is left as soon as a sentinel says so.
    failoverDetector: true,
  } satisfies RedisOptions
}

interface Credentials {
  readonly username?: string
  readonly password?: string
  readonly tls?: Record<string, never>
}

function credentialsOf(url: string): Credentials {
  const { protocol, username, password } = new URL(url)
  return {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
  }
}
