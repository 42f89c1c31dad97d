import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { signCall } from '../../src/api/signature.ts'
import type { Credentials } from '../../src/management/client.ts'
import { type RunningServer, until } from './server.ts'

export interface ApiAnswer {
  /** Status and code, such as '200 000'. */
  readonly said: string
  readonly status: number
  readonly responseCode: string
  // biome-ignore lint/suspicious/noExplicitAny: each test knows what it asked for
  readonly data: any
}

export async function apiUrlOf(server: Pick<RunningServer, 'output'>): Promise<string> {
  const port = () => /"apiPort":(\d+)/.exec(server.output())?.[1]
  await until(async () => port() !== undefined)
  return `http://127.0.0.1:${port()}`
}

/** A back office that knows nothing but the address and its credentials. */
export function createApiClient(url: string, credentials: Credentials) {
  const { clientId, clientSecret, uniqueKey } = credentials
  const name = randomUUID().slice(0, 8)
  let token: Promise<string> | '' = ''
  let references = 0

  async function takeToken(tries = 10): Promise<string> {
    const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
    const response = await fetch(`${url}/connect/token`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${basic}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: 'grant_type=client_credentials',
    })
    const { access_token: taken } = (await response.json()) as { access_token?: string }
    if (response.status === 503 && tries > 0) {
      await sleep(300)
      return takeToken(tries - 1)
    }
    // A store that was away a moment ago gives none: the next call asks again.
    if (taken === undefined) token = ''
    return taken ?? ''
  }

  return async (
    method: string,
    path: string,
    body?: unknown,
    reference = `${name}-${references++}`,
  ): Promise<ApiAnswer> => {
    token ||= takeToken()
    const target = `/api/v1${path}`
    const call = { method, baseUrls: [url], target, reference, clientId }
    const response = await fetch(`${url}${target}`, {
      method,
      headers: {
        reference,
        serviceauthorization: `ServiceAuth ${Buffer.from(clientId).toString('base64')}`,
        authorization: `Bearer ${await token}`,
        uniquekey: uniqueKey,
        signature: signCall(call, clientSecret),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const { responseCode, data } = (await response.json()) as {
      responseCode: string
      data: unknown
    }
    const { status } = response
    return { said: `${status} ${responseCode}`, status, responseCode, data }
  }
}
