import http from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { onTestFinished } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { createAddressPolicy } from '../../src/outgoing/address.ts'
import { createOutgoing, type OutgoingOptions } from '../../src/outgoing/call.ts'
import { createResolver } from '../../src/outgoing/name.ts'
import type { Certificate } from './certificate.ts'

type Answering = (request: http.IncomingMessage, response: http.ServerResponse) => void

async function listen(server: http.Server | https.Server): Promise<number> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** A server that others call. */
export async function serveCalls(
  answering: Answering,
): Promise<{ port: number; connections: () => number }> {
  let connections = 0
  const server = http.createServer(answering)
  server.on('connection', () => connections++)
  return { port: await listen(server), connections: () => connections }
}

/** Calls as they are made in a sandbox. */
export function openOutgoing(given: Partial<OutgoingOptions> = {}) {
  const outgoing = createOutgoing({
    clock: systemClock,
    allows: createAddressPolicy([], true),
    allowsPlain: true,
    resolve: createResolver(systemClock),
    maxCalls: 4,
    ...given,
  })
  onTestFinished(() => outgoing.close())
  const get = (url: string, timeoutMs = 5_000) =>
    outgoing.call({ method: 'GET', url, headers: {}, timeoutMs })
  const post = (url: string, body: string) =>
    outgoing.call({ method: 'POST', url, headers: { 'x-a': 'b' }, body, timeoutMs: 5_000 })
  return { outgoing, get, post }
}

/** Answers with the name that the client asked a certificate for, and the one it wrote. */
export async function serveTlsCalls({ certPem: cert, keyPem: key }: Certificate) {
  const server = https.createServer({ cert, key }, (request, response) => {
    const { servername } = request.socket as TLSSocket & { servername: unknown }
    response.end(`${servername} ${request.headers.host}`)
  })
  let handshakes = 0
  server.on('secureConnection', () => handshakes++)
  return { port: await listen(server), handshakes: () => handshakes }
}
