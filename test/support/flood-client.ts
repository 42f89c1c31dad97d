import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { bodyOf, type Delivery, type RelayEvent } from './relay.ts'

/** Many connections, each used in turn; plain sockets cost this process the least. */
export interface FloodClient {
  /** Opens more; one that is not used within the server's time limit for a head is closed by it. */
  connect(count: number): Promise<void>
  /** All at once, each on the next connection. */
  flood(events: readonly RelayEvent[]): Promise<Delivery[]>
  close(): void
}

export function createFloodClient(url: string): FloodClient {
  const { port, hostname } = new URL(url)
  const sockets: Socket[] = []
  let next = 0

  async function open(): Promise<Socket> {
    const socket = connect(Number(port), hostname).setNoDelay(true)
    await once(socket, 'connect')
    return socket
  }

  return {
    async connect(count) {
      sockets.push(...(await Promise.all(Array.from({ length: count }, open))))
    },
    async flood(events) {
      const requests = events.map((event) => requestOf(event))
      // A relay that was given no answer on a connection opens another.
      for (const [i, { destroyed }] of sockets.entries()) if (destroyed) sockets[i] = await open()
      return Promise.all(
        requests.map((bytes, i) => deliver(sockets[next++ % sockets.length]!, events[i]!, bytes)),
      )
    },
    close() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

function requestOf(event: RelayEvent): Buffer {
  const body = bodyOf(event)
  const head =
    'POST /authorize HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n' +
    `content-length: ${body.length}\r\n\r\n`
  return Buffer.concat([Buffer.from(head), body])
}

function deliver(socket: Socket, event: RelayEvent, bytes: Buffer): Promise<Delivery> {
  const sentMonoMs = performance.now()
  return new Promise((resolve) => {
    let reply = ''
    const finish = (status: number, text: string) => {
      socket.off('data', read)
      socket.off('close', lost)
      socket.off('error', lost)
      const { decision = '', decidedBy = '', cause = '' } = status === 0 ? {} : JSON.parse(text)
      const ms = performance.now() - sentMonoMs
      resolve({ event, sentMonoMs, status, text, decision, decidedBy, cause, ms })
    }
    const lost = () => finish(0, '')
    const read = (chunk: Buffer) => {
      reply += chunk
      const bodyAt = reply.indexOf('\r\n\r\n') + 4
      if (bodyAt < 4) return
      const length = Number(/content-length: (\d+)/i.exec(reply)?.[1])
      if (reply.length < bodyAt + length) return
      finish(Number(reply.slice(9, 12)), reply.slice(bodyAt, bodyAt + length))
    }
    socket.on('data', read)
    socket.on('close', lost)
    socket.on('error', lost)
    if (socket.destroyed) lost()
    else socket.write(bytes)
  })
}
