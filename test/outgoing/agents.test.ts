import http from 'node:http'
import https from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createAddressPolicy } from '../../src/outgoing/address.ts'
import { createTunnels } from '../../src/outgoing/agents.ts'
import { makeCertificate } from '../support/certificate.ts'
import { openOutgoing, serveCalls, serveTlsCalls } from '../support/outgoing.ts'

const authority = makeCertificate('Test authority')
const unknown = () => Promise.reject(new Error('no such name'))

/** What a proxy does with a tunnel that it is asked for. */
type Asked = (request: http.IncomingMessage, socket: Socket) => void

/** Leads wherever it is asked to the same port of this machine. */
const lead: Asked = ({ url = '' }, socket) => {
  const there = connect(Number(url.split(':').at(-1)), '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
    there.pipe(socket).pipe(there)
  })
  for (const end of [there, socket]) end.on('error', () => {})
}

const keepWaiting: Asked = (_request, socket) => {
  socket.resume().once('end', () => socket.end())
}

async function serveProxy(asked: Asked = lead) {
  const seen: string[] = []
  const sockets = new Set<Socket>()
  const server = http.createServer((_request, response) => response.writeHead(405).end())
  server.on('connect', (request: http.IncomingMessage, socket: Socket) => {
    seen.push(`${request.url} ${request.headers['proxy-authorization'] ?? ''}`.trim())
    sockets.add(socket.once('close', () => sockets.delete(socket)))
    asked(request, socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { seen, sockets, host: `127.0.0.1:${port}` }
}

describe('a call through a proxy', () => {
  it('tells it the name alone, proves itself, and uses a tunnel again', async () => {
    const { port, handshakes } = await serveTlsCalls(makeCertificate('hooks.example', authority))
    const { seen, host } = await serveProxy()
    const proxy = `http://us%40er:p%3Aw@${host}`
    const { get } = openOutgoing({ proxy, resolve: unknown, ca: authority.certPem })
    const body = `hooks.example hooks.example:${port}`
    for (let round = 0; round < 2; round++) {
      expect(await get(`https://hooks.example:${port}/`)).toMatchObject({ status: 200, body })
    }
    const credentials = Buffer.from('us@er:p:w').toString('base64')
    expect(seen).toEqual([`hooks.example:${port} Basic ${credentials}`])
    expect(handshakes()).toBe(1)
  })

  it('trusts no other certificate than without one', async () => {
    const { port } = await serveTlsCalls(makeCertificate('other.example', authority))
    const { host } = await serveProxy()
    const { get } = openOutgoing({
      proxy: `http://${host}`,
      resolve: unknown,
      ca: authority.certPem,
    })
    expect(await get(`https://hooks.example:${port}/`)).toMatchObject({
      fault: 'unreachable',
      detail: 'ERR_TLS_CERT_ALTNAME_INVALID',
    })
  })

  it('is made for public addresses, by name, and for no private one', async () => {
    const { port } = await serveCalls((_request, response) => response.end('there'))
    const { seen, host } = await serveProxy()
    const places: Record<string, string> = {
      'public.example': '8.8.8.8',
      'ours.example': '127.0.0.1',
      'inner.example': '10.0.0.1',
    }
    const { get } = openOutgoing({
      proxy: `http://${host}`,
      allows: createAddressPolicy([], true),
      resolve: async (name) => [places[name] ?? name],
    })
    expect(await get(`http://public.example:${port}/`)).toMatchObject({ body: 'there' })
    expect(await get(`http://ours.example:${port}/`)).toMatchObject({ body: 'there' })
    expect(await get(`http://[2606:4700::1111]:${port}/`)).toMatchObject({ body: 'there' })
    for (const inner of ['inner.example', '10.0.0.1', '[fe80::1]']) {
      expect(await get(`http://${inner}:${port}/`), inner).toMatchObject({ fault: 'refused' })
    }
    expect(seen).toEqual([`public.example:${port}`, `[2606:4700::1111]:${port}`])
  })

  it('does not wait for name servers that are silent', async () => {
    const { port } = await serveCalls((_request, response) => response.end('there'))
    const { host } = await serveProxy()
    const { get } = openOutgoing({ proxy: `http://${host}`, resolve: () => new Promise(() => {}) })
    expect(await get(`http://hooks.example:${port}/`)).toMatchObject({ body: 'there' })
  })

  it('says what the proxy answered, or that there is none', async () => {
    const refusing = await serveProxy((_request, socket) => {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
    })
    const cutting = await serveProxy((_request, socket) => socket.destroy())
    const { port } = await serveCalls((_request, response) => response.end())
    const faults: [string, string][] = [
      [refusing.host, 'the proxy: it answers 407'],
      [cutting.host, 'the proxy: ECONNRESET'],
      ['127.0.0.1:1', 'the proxy: ECONNREFUSED'],
      // A server that is no proxy ends the connection.
      [`127.0.0.1:${port}`, 'the proxy: ECONNRESET'],
    ]
    for (const [host, detail] of faults) {
      const { get } = openOutgoing({ proxy: `http://${host}`, resolve: unknown })
      const answer = await get('https://hooks.example/')
      expect(answer, host).toMatchObject({ fault: 'unreachable', detail })
    }
  })

  it('gives a proxy up that does not answer, whoever still waits for it', async () => {
    const { sockets, host } = await serveProxy(keepWaiting)
    const { secure: agent, close } = createTunnels(`http://${host}`, {}, 200)
    onTestFinished(close)
    const fault = await new Promise<Error>((resolve) => {
      https.get('https://hooks.example/', { agent }).once('error', resolve)
    })
    expect(fault.message).toBe('the proxy: it does not answer')
    await expect.poll(() => sockets.size).toBe(0)
  })

  it('leaves no tunnel half open when all is closed', async () => {
    const { seen, sockets, host } = await serveProxy(keepWaiting)
    const { get, outgoing } = openOutgoing({ proxy: `http://${host}`, resolve: unknown })
    expect(await get('https://hooks.example/', 300)).toMatchObject({ fault: 'timedOut' })
    expect([seen.length, sockets.size]).toEqual([1, 1])
    outgoing.close()
    await expect.poll(() => sockets.size).toBe(0)
  })
})
