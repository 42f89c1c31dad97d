import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Config } from '../config/config.ts'
import { openTls } from '../http/certificate.ts'

/** A request that takes longer to arrive than this is none of the relay's. */
const requestTimeoutMs = 5_000
const headersTimeoutMs = 3_000
/** Longer than any relay keeps an idle connection, so that it is the one to close it. */
export const keepAliveMs = 75_000

const httpOptions = {
  requestTimeout: requestTimeoutMs,
  headersTimeout: headersTimeoutMs,
  keepAliveTimeout: keepAliveMs,
  connectionsCheckingInterval: 500,
  // Node's own answer has no body; ours has.
  requireHostHeader: false,
}

/** What the relay's port listens with. */
export function createHttpServer(
  { tls: files, relayAuthentication }: Config,
  onCertificate: (problem: string) => void,
): Server {
  if (files === null) return createServer(httpOptions)
  const mutual = relayAuthentication.mode === 'mtls'
  const tls = openTls(files)
  const server = createTlsServer({
    ...httpOptions,
    ...tls.options,
    // A stranger is told so in the shape of a decline, not by a broken connection.
    requestCert: mutual,
    rejectUnauthorized: false,
    handshakeTimeout: headersTimeoutMs,
    // As in plain HTTP, where it is Node's default: see `httpAllowHalfOpen`.
    allowHalfOpen: true,
  })
  tls.follow(server, onCertificate)
  return server
}
