import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** How often, of all pieces of data that pass, each thing is done to one. */
interface ProxyFaults {
  /** The request arrives, its reply does not, and the connection breaks. */
  readonly loseReply?: number
  /** Half of the request arrives, and the connection breaks. */
  readonly cutRequest?: number
  /** Half of the reply arrives, and the connection breaks. */
  readonly cutReply?: number
  /** The request, and all after it, arrive later. */
  readonly delayRequest?: number
  readonly delayReply?: number
  /** The request arrives a second time, later, over another connection. */
  readonly repeatRequest?: number
  readonly maxDelayMs?: number
}

export interface TcpProxy {
  readonly url: string
  /** How often something was done. */
  readonly counts: Readonly<Record<string, number>>
  setFaults(faults: ProxyFaults): void
  /** From now on it leads to another server; connections break. */
  moveTo(port: number): void
  /** From now on new connections lead to another server; those that stand stay. */
  lead(port: number): void
  /** Breaks all connections as they are. */
  cut(): void
  dispose(): Promise<void>
}

/** Stands between a client and a server on this machine, and does to what passes what chance says. */
export async function startTcpProxy(firstPort: number, random: () => number): Promise<TcpProxy> {
  let targetPort = firstPort
  let faults: ProxyFaults = {}
  const counts: Record<string, number> = {}
  const sockets = new Set<Socket>()

  function strikes(name: keyof ProxyFaults): boolean {
    const struck = random() < (faults[name] ?? 0)
    if (struck) counts[name] = (counts[name] ?? 0) + 1
    return struck
  }

  const delayMs = () => random() * (faults.maxDelayMs ?? 50)

  function keep(socket: Socket): Socket {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
    return socket
  }

  /** Writes in order, each piece after what the one before had to wait. */
  function createLane(socket: Socket) {
    let turn = Promise.resolve()
    return (data: Buffer, waitMs: number) => {
      turn = turn.then(async () => {
        if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
        if (!socket.destroyed) socket.write(data)
      })
      return turn
    }
  }

  function repeat(data: Buffer): void {
    const copy = keep(connect(targetPort, '127.0.0.1'))
    setTimeout(() => {
      copy.write(data)
      setTimeout(() => copy.destroy(), 50)
    }, delayMs())
  }

  const server = createServer((accepted) => {
    const client = keep(accepted)
    const target = keep(connect(targetPort, '127.0.0.1'))
    const toTarget = createLane(target)
    const toClient = createLane(client)
    let losing = false

    function breakBoth(): void {
      client.destroy()
      target.destroy()
    }

    client.on('data', (data) => {
      if (strikes('cutRequest')) {
        void toTarget(data.subarray(0, data.length >> 1), 0).then(() => target.end(breakBoth))
        return
      }
      if (strikes('repeatRequest')) repeat(data)
      if (strikes('loseReply')) losing = true
      void toTarget(data, strikes('delayRequest') ? delayMs() : 0)
    })
    target.on('data', (data) => {
      if (losing) breakBoth()
      else if (strikes('cutReply')) {
        void toClient(data.subarray(0, data.length >> 1), 0).then(() => client.end(breakBoth))
      } else void toClient(data, strikes('delayReply') ? delayMs() : 0)
    })
    client.once('close', () => target.destroy())
    target.once('close', () => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port was given')

  function cut(): void {
    for (const socket of sockets) socket.destroy()
  }

  return {
    url: `redis://127.0.0.1:${address.port}`,
    counts,
    moveTo(port) {
      targetPort = port
      cut()
    },
    lead(port) {
      targetPort = port
    },
    setFaults(next) {
      faults = next
    },
    cut,
    async dispose() {
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}
