import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** What a receiver of webhooks, or a provider, was sent. */
export interface Received {
  readonly path: string
  readonly method: string
  readonly headers: Record<string, string>
  readonly body: string
}

type Answer = { readonly status: number; readonly body?: unknown } | number

/** A server on this machine that answers as the test says, and remembers. */
export async function startReceiver(answer: (received: Received) => Answer = () => 200) {
  const received: Received[] = []
  const server = http.createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    const headers = request.headers as Record<string, string>
    const one = { path: request.url ?? '', method: request.method ?? '', headers, body }
    received.push(one)
    const said = answer(one)
    const { status, body: answered } = typeof said === 'number' ? { status: said } : said
    response.writeHead(status).end(answered === undefined ? '' : JSON.stringify(answered))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, received }
}
