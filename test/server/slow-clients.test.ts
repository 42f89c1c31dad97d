import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { seedCards } from '../support/ledger-check.ts'
import { bodyOf, createRelay, firstDeliveries, type RelayEvent } from '../support/relay.ts'
import { fastFolder, startServer } from '../support/server.ts'
import { isExcused, startWitness } from '../support/stall-witness.ts'
import { countAnswers, slowestMs, startLoad } from '../support/traffic.ts'

const contractLimitMs = 400
const slowClients = 200

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

const event: RelayEvent = {
  eventId: 'slow-1',
  requestType: 'Authorization',
  transactionId: 'slow-1',
  cardId: 'card-0',
  amountMinor: 100,
  final: null,
}
const body = bodyOf(event).toString()
const head = [
  'POST /authorize HTTP/1.1',
  'host: localhost',
  'content-type: application/json',
  `content-length: ${body.length}`,
].join('\r\n')

describe('clients that are slow, or stop in the middle', () => {
  it('delay nobody else and are told 408 in the shape of a decline', {
    timeout: 30_000,
  }, async () => {
    const folder = fastFolder()
    endings.push(folder.remove)
    const cards = await seedCards(folder.path, Array(20).fill('100000.00'))
    const server = await startServer({ dataDir: folder.path })
    endings.push(server.kill)
    const port = Number(new URL(server.url).port)
    const relay = createRelay(server.url)
    endings.push(relay.close)
    const witness = startWitness()
    endings.push(witness.stop)
    const load = startLoad({ relay, seed: 3, cards, ratePerSecond: 100 })
    endings.push(load.stop)
    await sleep(500)

    const slow: SlowClient[] = []
    endings.push(() => {
      for (const { socket } of slow) socket.destroy()
    })
    for (let i = 0; i < slowClients; i++) {
      // A third each: slow in the head, slow in the body, and silent half-way.
      const text = `${head}\r\n\r\n${body}`
      const sentAtOnce = [0, head.length + 4, head.length + 40][i % 3]!
      slow.push(slowClient(port, text, sentAtOnce, i % 3 < 2))
    }
    const unused = slowClient(port, '', 0, false)
    await Promise.all(slow.map(({ ended }) => ended))
    await load.stop()
    // A connection of a pool that was not needed so far is not a slow client.
    unused.socket.write(`${head}\r\n\r\n${body}`)
    await once(unused.socket, 'data')
    unused.socket.destroy()
    expect(unused.received()[0]).toBe('HTTP/1.1 200 OK')

    for (const { received, lastedMs } of slow) {
      const [status, shape] = received()
      expect(status).toBe('HTTP/1.1 408 Request Timeout')
      expect(shape).toMatchObject({ decision: 'decline' })
      // Not before the time that is allowed for a head, and soon after that for a whole request.
      expect(lastedMs()).toBeGreaterThan(2_500)
      expect(lastedMs()).toBeLessThan(8_000)
    }
    const { deliveries } = relay
    console.log(`slowest ${Math.round(slowestMs(deliveries))} ms,`, countAnswers(deliveries))
    const bad = deliveries.filter(({ status, ms }) => status !== 200 || ms >= contractLimitMs)
    const byDefault = firstDeliveries(deliveries).filter(({ decidedBy }) => decidedBy !== 'engine')
    expect([...bad, ...byDefault].filter((each) => !isExcused(witness, each))).toEqual([])
    expect(await server.stop()).toBe(0)
  })

  it('are told 400 in the shape of a decline when they end in the middle', async () => {
    const folder = fastFolder()
    endings.push(folder.remove)
    const server = await startServer({ dataDir: folder.path, args: ['--demo'] })
    endings.push(server.kill)
    const port = Number(new URL(server.url).port)
    const { socket, ended, received } = slowClient(port, `${head}\r\n\r\n${body}`, 60, false)
    await sleep(100)
    socket.end()
    await ended
    const [status, shape] = received()
    expect(status).toBe('HTTP/1.1 400 Bad Request')
    expect(shape).toMatchObject({ decision: 'decline' })
    expect(await server.stop()).toBe(0)
  })
})

interface SlowClient {
  readonly socket: Socket
  readonly ended: Promise<void>
  received(): [status: string, body: unknown]
  lastedMs(): number
}

/** Sends a part at once and then a byte a second, or nothing more. */
function slowClient(port: number, text: string, sentAtOnce: number, goesOn: boolean): SlowClient {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const startedMonoMs = performance.now()
  let lastedMs = 0
  let reply = ''
  let sent = sentAtOnce
  socket.write(text.slice(0, sent))
  const timer = setInterval(() => {
    if (goesOn && socket.writable) socket.write(text.slice(sent, ++sent))
  }, 1_000)
  socket.on('data', (chunk) => {
    reply += chunk
  })
  socket.on('error', () => {})
  const ended = new Promise<void>((resolve) => {
    const end = () => {
      clearInterval(timer)
      lastedMs ||= performance.now() - startedMonoMs
      socket.destroy()
      resolve()
    }
    socket.on('end', end)
    socket.on('close', end)
  })
  return {
    socket,
    ended,
    received() {
      const [headers = '', content = 'null'] = reply.split('\r\n\r\n')
      return [headers.split('\r\n')[0] ?? '', JSON.parse(content)]
    },
    lastedMs: () => lastedMs,
  }
}
