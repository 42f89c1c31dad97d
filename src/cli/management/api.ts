import { randomBytes } from 'node:crypto'
import { Argument, type Command } from 'commander'
import { signCall } from '../../api/signature.ts'
import { reachableHost } from '../../config/check.ts'
import { readCallReference } from '../argument.ts'
import { complain, type ExitCode, print, sayRefused } from '../terminal.ts'
import { addApiServe } from './api-serve.ts'

const help = `
Credentials come from ARBITER_CLIENT_ID, ARBITER_CLIENT_SECRET and ARBITER_UNIQUE_KEY, the address from
ARBITER_API_URL; without it, it is that of the server of this environment, by its API_HOST and API_PORT. Each
call gets a Reference of its own unless one is given.

Examples:
  $ arbiter api GET /organization
  $ arbiter api POST /cards/card-1/topup '{"amount":25.50,"currency":"USD"}'
  $ arbiter api GET "/cards?status=Active&limit=10" --curl`

interface ApiOptions {
  readonly reference?: string
  readonly curl?: boolean
}

const methods = ['GET', 'POST', 'PATCH', 'DELETE']
const prefix = '/api/v1'

interface Credentials {
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
  readonly uniqueKey: string
}

export function addApi(program: Command): void {
  const api = program
    .command('api')
    .summary('sign and send one call to the management API')
    .description('Sign and send one call to the management API, and print the answer.')
    .addArgument(new Argument('<method>').choices(methods))
    .argument('<path>', 'below /api/v1, with its query')
    .argument('[body]', 'JSON')
    .option('--reference <text>', 'instead of a new one: to try a call again', readCallReference)
    .option('--curl', 'print the call as a curl command instead; it shows a token')
    .addHelpText('after', help)
    .action(async (method: string, path: string, body: string | undefined, options: ApiOptions) => {
      if (method === 'GET' && body !== undefined) api.error('a GET has no body')
      process.exitCode = await call(method, path, body, options)
    })
  addApiServe(api)
}

async function call(
  method: string,
  path: string,
  body: string | undefined,
  options: ApiOptions,
): Promise<ExitCode> {
  const credentials = readCredentials()
  if (typeof credentials === 'string') {
    complain(credentials)
    return 2
  }
  const { url, clientId, clientSecret } = credentials
  const target = targetOf(path)
  const reference = options.reference ?? randomBytes(15).toString('base64url')
  const signed = { method, baseUrls: [url], target, reference, clientId }
  try {
    const headers = {
      reference,
      serviceauthorization: `ServiceAuth ${Buffer.from(clientId).toString('base64')}`,
      authorization: `Bearer ${await askToken(credentials)}`,
      uniquekey: credentials.uniqueKey,
      signature: signCall(signed, clientSecret),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    }
    if (options.curl === true) {
      await print(curlOf(method, `${url}${target}`, headers, body))
      return 0
    }
    const sent = { method, headers, ...(body !== undefined && { body }) }
    const response = await fetch(`${url}${target}`, sent)
    await print(await response.text())
    return response.ok ? 0 : 1
  } catch (error) {
    if (error instanceof TokenRefused) return sayRefused(error.message)
    const { message, cause } = error as Error & { cause?: { code?: string; message?: string } }
    const why = cause?.code ?? cause?.message ?? message
    return sayRefused(`no answer of ${url} (${why}): is API_PORT set, and ARBITER_API_URL right?`)
  }
}

/** As it is sent, for that is what the Signature is of; nothing in it is a fragment, which would be left out. */
function targetOf(path: string): string {
  const below = path.startsWith('/') ? path : `/${path}`
  const whole = path.startsWith(prefix) ? path : `${prefix}${below}`
  const { pathname, search } = new URL(`http://host${whole.replaceAll('#', '%23')}`)
  return `${pathname}${search}`
}

function readCredentials(): Credentials | string {
  const { env } = process
  const url = (env.ARBITER_API_URL || ownUrl(env)).replace(/\/+$/, '')
  const clientId = env.ARBITER_CLIENT_ID ?? ''
  const clientSecret = env.ARBITER_CLIENT_SECRET ?? ''
  const uniqueKey = env.ARBITER_UNIQUE_KEY ?? ''
  if (clientId === '' || clientSecret === '' || uniqueKey === '') {
    return 'set ARBITER_CLIENT_ID, ARBITER_CLIENT_SECRET and ARBITER_UNIQUE_KEY: see arbiter api --help'
  }
  return { url, clientId, clientSecret, uniqueKey }
}

/** Where the server of this environment serves it. */
function ownUrl({ API_HOST = '', API_PORT, API_TLS_CERT_FILE }: NodeJS.ProcessEnv): string {
  const host = reachableHost(API_HOST)
  return `${API_TLS_CERT_FILE ? 'https' : 'http'}://${host}:${API_PORT || 8082}`
}

class TokenRefused extends Error {}

async function askToken({ url, clientId, clientSecret }: Credentials): Promise<string> {
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
  const response = await fetch(`${url}/connect/token`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${basic}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: 'grant_type=client_credentials',
  })
  const answer = (await response.json()) as { access_token?: string; error_description?: string }
  if (answer.access_token !== undefined) return answer.access_token
  throw new TokenRefused(`no token: ${answer.error_description ?? response.status}`)
}

function curlOf(
  method: string,
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string | undefined,
): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
  const lines = [
    `curl -gsX ${method} ${quoted(url)}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${quoted(body)}`]),
  ]
  return lines.join(' \\\n  ')
}
