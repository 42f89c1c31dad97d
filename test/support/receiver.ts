import http from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { expect, onTestFinished, type TestContext } from 'vitest'
import type { Certificate } from './certificate.ts'

/** What a receiver of webhooks, or a provider, was sent. */
export interface Received {
  readonly path: string
  readonly method: string
  readonly headers: Record<string, string>
  readonly body: string
}

type Answer = { readonly status: number; readonly body?: unknown } | number

/** A server on this machine that answers as the test says, and remembers. */
export async function startReceiver(
  answer: (received: Received) => Answer | Promise<Answer> = () => 200,
  /** Of the test, where several run at once. */
  test: Pick<TestContext, 'onTestFinished'> = { onTestFinished },
  /** It speaks TLS then. */
  certificate: Certificate | null = null,
) {
  const received: Received[] = []
  const forged: string[] = []
  let library: Webhook | null = null
  const listener: http.RequestListener = async (request, response) => {
    let body = ''
    try {
      for await (const part of request) body += part
    } catch {
      // Who called was ended in the middle, as tests do.
      return
    }
    const headers = request.headers as Record<string, string>
    const one = { path: request.url ?? '', method: request.method ?? '', headers, body }
    if (library !== null && !isSigned(library, one)) forged.push(body)
    received.push(one)
    const said = await answer(one)
    const { status, body: answered } = typeof said === 'number' ? { status: said } : said
    response.writeHead(status).end(answered === undefined ? '' : JSON.stringify(answered))
  }
  const server =
    certificate === null
      ? http.createServer(listener)
      : https.createServer({ cert: certificate.certPem, key: certificate.keyPem }, listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  test.onTestFinished(() => {
    server.closeAllConnections()
    server.close()
    expect(forged).toEqual([])
  })
  const { port } = server.address() as AddressInfo
  const url =
    certificate === null ? `http://127.0.0.1:${port}` : `https://${certificate.name}:${port}`
  /** From now on the library of Standard Webhooks must accept whatever comes. */
  const verifyWith = (secret: string) => {
    library = new Webhook(secret)
  }
  return { url, received, verifyWith }
}

/** Only the time is not looked at: the clock of a test may be another than that of the library. */
function isSigned(library: Webhook, { headers, body }: Received): boolean {
  const {
    'webhook-id': id = '',
    'webhook-timestamp': seconds,
    'webhook-signature': given,
  } = headers
  const at = new Date(1000 * Number(seconds))
  return given?.split(' ').includes(library.sign(id, at, body)) ?? false
}
