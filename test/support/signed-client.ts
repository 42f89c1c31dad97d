import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { signCall } from '../../src/api/signature.ts'
import type { Credentials } from '../../src/management/client.ts'

const cli = join(import.meta.dirname, '..', '..', 'dist', 'cli', 'main.js')

const run = promisify(execFile)

/** Runs the command line beside a server, with its environment; what it prints, read where it is JSON. */
export async function runCli(
  env: Record<string, string>,
  ...args: readonly string[]
): Promise<unknown> {
  const { stdout } = await run('node', [cli, ...args], {
    env: { PATH: process.env.PATH ?? '', ...env },
  })
  return stdout.startsWith('{') ? JSON.parse(stdout) : stdout
}

/** Calls the management API of a running server as a back office does. */
export function createSignedClient(url: string, credentials: Credentials) {
  const { clientId, clientSecret, uniqueKey } = credentials
  let token: Promise<string> | null = null
  let count = 0

  async function askToken(): Promise<string> {
    const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
    const response = await fetch(`${url}/connect/token`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${basic}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: 'grant_type=client_credentials',
    })
    return ((await response.json()) as { access_token: string }).access_token
  }

  return async (method: string, path: string, body?: unknown) => {
    token ??= askToken()
    const target = `/api/v1${path}`
    const reference = `s-${Date.now()}-${count++}`
    const signed = { method, baseUrls: [url], target, reference, clientId }
    const response = await fetch(`${url}${target}`, {
      method,
      headers: {
        reference,
        serviceauthorization: `ServiceAuth ${Buffer.from(clientId).toString('base64')}`,
        authorization: `Bearer ${await token}`,
        uniquekey: uniqueKey,
        signature: signCall(signed, clientSecret),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const answer = (await response.json()) as {
      responseCode: string
      message: string
      // biome-ignore lint/suspicious/noExplicitAny: each test knows what it asked for
      data: any
    }
    return { status: response.status, ...answer }
  }
}
