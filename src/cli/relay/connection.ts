import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { rootCertificates, connect as tlsConnect } from 'node:tls'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { systemClock } from '../../clock.ts'
import { reachableHost } from '../../config/check.ts'
import type { RelayAuthentication } from '../../config/config.ts'
import { createRelayClient, type RelayClient, type RelayClientOptions } from '../../relay/client.ts'
import { explainProblem, RelayRefused } from '../../relay/refusal.ts'
import { createSigning } from '../../wire/authentication.ts'
import { complain } from '../terminal.ts'

/** The options of a connection; secrets come from the server's own variables. */
export interface ConnectionOptions extends TlsFiles {
  readonly url: string
}

/** The contents of PEM files. */
export interface TlsFiles {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

/** More than are ever in use: waiting for a free connection would count as the server's time. */
const connections = 2048

export const connectionHelp = `
By default it speaks to the server of this environment, by its HOST, PORT and TLS_CERT_FILE, and is let in
by its RELAY_AUTH, RELAY_SECRET, RELAY_USER and RELAY_PASSWORD; for mtls give --cert and --key.`

/** Several addresses are taken in turn, as by a relay that knows several instances. */
export function readUrls(text: string): string {
  for (const url of text.split(',')) {
    const known = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
    if (!known)
      throw new InvalidArgumentError('It must be a URL such as http://host:8080/authorize.')
  }
  return text
}

/** Where the server of this environment listens. */
function ownUrl({ HOST = '', PORT, TLS_CERT_FILE }: NodeJS.ProcessEnv): string {
  const host = reachableHost(HOST)
  return `${TLS_CERT_FILE ? 'https' : 'http'}://${host}:${PORT || 8080}/authorize`
}

export function addConnectionOptions(command: Command): Command {
  const url = new Option('--url <url>', 'Authorization URL; several by comma')
  return addTlsOptions(command.addOption(url.argParser(readUrls).default(ownUrl(process.env))))
}

export function addTlsOptions(command: Command): Command {
  return command
    .option('--ca <file>', "whom to trust: the server's certificate or its authority", readPem)
    .option('--cert <file>', 'client certificate (PEM), for RELAY_AUTH=mtls', readPem)
    .option('--key <file>', 'its private key (PEM)', readPem)
}

function readPem(file: string): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new InvalidArgumentError(`The file cannot be read (${code}).`)
  }
  if (text.includes('-----BEGIN ')) return text
  throw new InvalidArgumentError('It must be a PEM file.')
}

/** Throws RelayRefused when a file that the environment names cannot be read. */
export function openClient(options: ConnectionOptions): RelayClient {
  return createRelayClient({
    urls: options.url.split(','),
    clock: systemClock,
    sign: createSigning(credentials(process.env)),
    tls: tlsOf(options),
    connections,
  })
}

/** As the server is set; without a secret nothing is signed. */
function credentials(env: NodeJS.ProcessEnv): RelayAuthentication {
  const mode = env.RELAY_AUTH || 'hmac'
  const secret = mode === 'hmac' ? settingOf('RELAY_SECRET', env) : ''
  if (secret !== '') return { mode: 'hmac', secrets: [secret] }
  if (mode !== 'basic') return { mode: 'none' }
  return { mode, user: env.RELAY_USER ?? '', password: settingOf('RELAY_PASSWORD', env) }
}

/** A setting as the server reads it: from its variable, or from the file that NAME_FILE names. */
function settingOf(name: string, env: NodeJS.ProcessEnv): string {
  return env[name] || readNamed(`${name}_FILE`, env)
}

function readNamed(variable: string, env: NodeJS.ProcessEnv): string {
  const file = env[variable] || ''
  if (file === '') return ''
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new RelayRefused(`${variable} names a file that cannot be read (${code})`)
  }
}

/** The certificate of this environment's server is trusted: who sets it could set anything. */
function tlsOf({ ca, cert, key }: TlsFiles): NonNullable<RelayClientOptions['tls']> {
  const trusted = ca ?? readNamed('TLS_CERT_FILE', process.env)
  return {
    ...(trusted === '' ? {} : { ca: [...rootCertificates, trusted] }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  }
}

const reachMs = 3000

/** Whether one of the servers takes connections. Traffic that nobody hears tells nothing of a server. */
export async function isReached(options: ConnectionOptions): Promise<boolean> {
  const problems: string[] = []
  for (const one of options.url.split(',')) {
    const problem = await findObstacle(new URL(one), options)
    if (problem === '') return true
    problems.push(`${one} (${problem})`)
  }
  complain(`nothing answers at ${problems.join(', ')}: start the server, or name another URL`)
  return false
}

function findObstacle(url: URL, files: TlsFiles): Promise<string> {
  return new Promise((resolve) => {
    const secure = url.protocol === 'https:'
    const socket = open(url, files)
    const end = (problem: string) => {
      socket.destroy()
      resolve(problem)
    }
    socket.on(secure ? 'secureConnect' : 'connect', () => end(''))
    socket.on('timeout', () => end(`silent for ${reachMs} ms`))
    socket.on('error', ({ code = 'failed' }: NodeJS.ErrnoException) =>
      end(explainProblem(code).text),
    )
  })
}

function open({ hostname, protocol, port }: URL, files: TlsFiles): Socket {
  const secure = protocol === 'https:'
  const host = hostname.replace(/^\[|\]$/g, '')
  const place = { host, port: Number(port || (secure ? 443 : 80)), timeout: reachMs }
  if (!secure) return connect(place)
  return tlsConnect({ ...place, ...tlsOf(files) })
}
