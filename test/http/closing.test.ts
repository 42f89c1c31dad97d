import { Agent, get } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import Fastify from 'fastify'
import { describe, expect, it, onTestFinished } from 'vitest'
import { closeWithAnswers } from '../../src/http/closing.ts'
import { createConnections } from '../../src/http/connections.ts'

async function startSlowServer(longestMs: number) {
  let answer = () => {}
  let begun = () => {}
  const isBegun = new Promise<void>((resolve) => {
    begun = resolve
  })
  const server = Fastify({ logger: false, forceCloseConnections: 'idle' })
  const connections = createConnections({ maxConnections: 10, maxBodyBytes: 1_000 })
  connections.watch(server.server)
  server.server.on('request', connections.receive)
  closeWithAnswers(server, longestMs, connections)
  server.post('/', async () => 'done')
  server.addContentTypeParser('*', { parseAs: 'string' }, async () => '')
  server.get('/', async () => {
    begun()
    await new Promise<void>((resolve) => {
      answer = resolve
    })
    return 'done'
  })
  await server.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => server.server.closeAllConnections())
  const { port } = server.server.address() as AddressInfo
  return { server, port, isBegun, answer: () => answer() }
}

describe('a server that closes', () => {
  it('answers what is at work, and waits for no idle connection after that', async () => {
    const { server, port, isBegun, answer } = await startSlowServer(60_000)
    const agent = new Agent({ keepAlive: true })
    onTestFinished(() => agent.destroy())
    const answered = new Promise<string>((resolve) => {
      get({ port, host: '127.0.0.1', agent }, (response) => {
        response.resume()
        response.once('end', () => resolve(`${response.statusCode} ${response.headers.connection}`))
      })
    })
    await isBegun
    const closed = new Promise<void>((resolve) => {
      server.server.once('close', resolve)
      void server.close()
      setImmediate(function look() {
        if (server.server.listening) setImmediate(look)
        else answer()
      })
    })
    expect(await answered).toBe('200 close')
    await closed
  })

  it.each([
    ['GET / HTTP/1.1\r\nHost: x\r\n', 'connection', 20],
    ['', 'connection', 60_000],
    ['POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf', 'request', 60_000],
  ])('gives up a request that never ends: %j', async (text, met, longestMs) => {
    const { server, port } = await startSlowServer(longestMs)
    const socket = connect(port, '127.0.0.1', () => socket.write(text)).resume()
    const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    socket.on('error', () => {})
    await new Promise<void>((resolve) => server.server.once(met, () => resolve()))
    await server.close()
    await ended
  })
})
