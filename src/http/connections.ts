import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface ConnectionsOptions {
  readonly maxConnections: number
  /** The longest body that a request may have. */
  readonly maxBodyBytes: number
  /**
   * Whether a proven connection with nothing under way makes room for a new one: where many share a port, one that
   * keeps a large pool must not keep the others out.
   */
  readonly provenYield?: boolean
}

/**
 * Who is connected. A stranger is whoever has not proven to be the relay, or has just failed to: it may
 * have what is left over, and never costs a proven connection its place.
 */
export interface Connections {
  readonly open: number
  readonly proven: number
  /** Connections closed by a bound, since the start. */
  readonly cut: number
  /** Takes in whoever connects to it. */
  watch(server: Server): void
  /** Takes a new connection in, in the place of another when all places are taken. */
  admit(socket: Socket): void
  /** False when too many before it are unanswered: its connection then reads no further. */
  receive(request: IncomingMessage, response: ServerResponse): boolean
  standingOf(socket: Socket): Standing
  prove(socket: Socket): void
  doubt(socket: Socket): void
  close(socket: Socket): void
  /** Ends those on which nobody waits for an answer, as no stranger does who has yet to send the rest of its request. */
  closeIdle(): void
}

/** Whether the last request that was looked at came from the relay; of a new connection none was. */
export type Standing = 'proven' | 'new' | 'refused'

interface Connection {
  readonly socket: Socket
  standing: Standing
  unanswered: number
  /** Its last request, while that has no answer. */
  exchange: Exchange | null
  /** Those that were placed before have smaller ones. */
  place: number
  /** What the bodies of its unanswered requests may take, while it is a stranger's. */
  bodyBytes: number
  readonly onAnswered: () => void
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** What Node's own handler keeps there too. */
interface HttpSocket extends Socket {
  readonly parser?: { onIncoming: ((request: IncomingMessage) => number) | null } | null
  /** Of a TLS socket: the one that was accepted. */
  readonly _parent?: Socket
}

/** Pipelined requests of one connection; a relay sends one after the other. */
export const maxUnanswered = 16
/** Of so many places one is a stranger's, where proven connections yield. */
const placesOfStranger = 4
/** What strangers can make the process hold by bodies that are on their way. */
const maxStrangerBytes = 16 * 1024 * 1024

/** With TLS, requests have a socket of their own; whatever is known since the accept is known of the one below. */
export function acceptedSocketOf(socket: HttpSocket): Socket {
  return socket._parent ?? socket
}

/**
 * Node takes its own listener off a connection that leaves HTTP (CONNECT, or see `stopReading`), also when a
 * reset is about to be told of: an error that nobody listens to would end the process.
 */
function surviveReset(socket: Socket): void {
  socket.on('error', ignore)
}

function ignore(): void {}

/** Whether it waits for us, and not we for it: for the rest of its request, or until it takes its answer. */
function isOurTurn({ exchange }: Connection): boolean {
  return exchange?.request.complete === true && !exchange.response.writableEnded
}

export function createConnections(options: ConnectionsOptions): Connections {
  const { maxConnections, maxBodyBytes, provenYield = false } = options
  const all = new Map<Socket, Connection>()
  // Each in the order in which they came in: those that were there first are closed first.
  const idle = new Set<Connection>()
  const busy = new Set<Connection>()
  /** Proven, with nothing under way, where these yield. */
  const resting = new Set<Connection>()
  let strangerBytes = 0
  let places = 0
  let proven = 0
  let cut = 0

  function admit(socket: Socket): void {
    surviveReset(socket)
    if (all.size >= maxConnections) {
      const other = crowdedOut()
      cut++
      drop(other?.socket ?? socket)
      if (other === undefined) return
    }
    const connection: Connection = {
      socket,
      standing: 'new',
      unanswered: 0,
      exchange: null,
      place: places++,
      bodyBytes: 0,
      onAnswered() {
        connection.unanswered--
        if (connection.unanswered > 0) return
        connection.exchange = null
        if (connection.standing !== 'proven') place(connection)
        else if (provenYield && all.has(socket)) resting.add(connection)
      },
    }
    all.set(socket, connection)
    idle.add(connection)
    socket.once('close', () => leave(connection))
  }

  /**
   * Which must leave. Strangers have a place in four before one that rests leaves for them: of some that connect at
   * once each has the time to send its request.
   */
  function crowdedOut(): Connection | undefined {
    const [[rests], [first]] = [resting, busy]
    const slow = slowest()
    const areMany = idle.size + busy.size >= maxConnections / placesOfStranger
    return areMany ? (slow ?? rests ?? first) : (rests ?? slow ?? first)
  }

  /** Of all that we wait for alike: who never ends a request must not outlast who is about to send one. */
  function slowest(): Connection | undefined {
    const [waits] = idle
    for (const sends of busy) {
      if (isOurTurn(sends)) continue
      return waits === undefined || sends.place < waits.place ? sends : waits
    }
    return waits
  }

  function find(socket: Socket): Connection | undefined {
    return all.get(socket) ?? all.get(acceptedSocketOf(socket))
  }

  /** At once: the event of its close comes a turn later. */
  function drop(socket: Socket): void {
    const connection = find(socket)
    if (connection !== undefined) leave(connection)
    socket.destroy()
  }

  function leave(connection: Connection): void {
    if (!all.delete(connection.socket)) return
    if (connection.standing === 'proven') proven--
    forget(connection)
  }

  function forget(connection: Connection): void {
    idle.delete(connection)
    busy.delete(connection)
    resting.delete(connection)
    strangerBytes -= connection.bodyBytes
    connection.bodyBytes = 0
  }

  /** Among the strangers, behind those that are there. */
  function place(connection: Connection): void {
    forget(connection)
    connection.place = places++
    // Answers are told of also when their connection is gone.
    if (all.has(connection.socket)) (connection.unanswered > 0 ? busy : idle).add(connection)
  }

  function receive(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request
    // One that was closed meanwhile is not taken in again.
    if (find(socket) === undefined && !socket.destroyed) admit(socket)
    const connection = find(socket)
    if (connection === undefined || connection.unanswered === maxUnanswered) {
      stopReading(socket)
      return false
    }
    connection.unanswered++
    resting.delete(connection)
    response.once('close', connection.onAnswered)
    connection.exchange = { request, response }
    if (connection.standing !== 'proven') {
      if (connection.unanswered === 1) place(connection)
      holdBody(connection, announcedBytes(request))
    }
    return true
  }

  /** The oldest go first, so that nobody keeps others out by bodies that never come to their end. */
  function holdBody(connection: Connection, bytes: number): void {
    connection.bodyBytes += bytes
    strangerBytes += bytes
    for (const oldest of busy) {
      if (strangerBytes <= maxStrangerBytes) return
      cut++
      drop(oldest.socket)
    }
  }

  function announcedBytes({ headers }: IncomingMessage): number {
    if (headers['transfer-encoding'] !== undefined) return maxBodyBytes
    // A longer body is refused by its head.
    return Math.min(Number(headers['content-length'] ?? 0), maxBodyBytes)
  }

  return {
    get open() {
      return all.size
    },
    get proven() {
      return proven
    },
    get cut() {
      return cut
    },
    watch(server) {
      server.on('connection', admit)
      server.on('secureConnection', surviveReset)
    },
    admit,
    receive,
    standingOf(socket) {
      const { standing = 'refused', unanswered = 0 } = find(socket) ?? {}
      // Only the first request of a new connection comes as new: who sends many at once would be many.
      return standing === 'new' && unanswered > 1 ? 'refused' : standing
    },
    prove(socket) {
      const connection = find(socket)
      if (connection === undefined || connection.standing === 'proven') return
      connection.standing = 'proven'
      proven++
      forget(connection)
    },
    doubt(socket) {
      const connection = find(socket)
      if (connection === undefined || connection.standing === 'refused') return
      if (connection.standing === 'proven') {
        proven--
        place(connection)
      }
      connection.standing = 'refused'
    },
    close(socket) {
      cut++
      drop(socket)
    },
    closeIdle() {
      const asking = [...busy].filter(({ exchange }) => exchange?.request.complete === false)
      for (const { socket } of [...idle, ...resting, ...asking]) drop(socket)
    },
  }
}

/**
 * One read of 64 KiB can hold 3,600 requests, and Node would make objects of all of them, whatever we do with
 * the first. Its parser stops only at a request that changes the protocol, so the next is made one.
 */
function stopReading({ parser }: HttpSocket): void {
  if (parser) parser.onIncoming = leaveHttp
}

function leaveHttp(request: IncomingMessage & { upgrade?: boolean }): number {
  request.upgrade = true
  return 2
}
