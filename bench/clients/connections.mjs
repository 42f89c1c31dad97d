import { once } from 'node:events'
import { connect } from 'node:net'

/**
 * Keep-alive connections with one request at a time each; as many as are needed, up to a bound, and then
 * events wait for one. An answer is read as HTTP/1.1 with a content-length, which is all these servers say.
 */
export function createConnections({ maxConnections, onAnswer, onLost }) {
  const idle = new Map()
  const waiting = []
  const all = new Set()
  let pending = 0

  function send(sending) {
    pending++
    const free = idle.get(sending.expected.port)?.pop()
    if (free !== undefined) write(free, sending)
    else if (all.size < maxConnections) write(dial(sending.expected.port), sending)
    else waiting.push(sending)
  }

  function write(connection, sending) {
    connection.sending = sending
    sending.writtenMs = performance.now()
    connection.socket.write(sending.expected.request)
  }

  function dial(port) {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const connection = { socket, port, sending: null, text: '' }
    all.add(connection)
    socket.setEncoding('latin1')
    socket.on('data', (chunk) => {
      connection.text = connection.text === '' ? chunk : connection.text + chunk
      read(connection)
    })
    socket.on('error', (error) => lose(connection, error.message))
    socket.on('close', () => lose(connection, 'the connection was closed'))
    return connection
  }

  /** As the pool of a relay: made before they are needed. */
  async function open(count, port) {
    const dialled = Array.from({ length: count }, () => dial(port))
    await Promise.all(dialled.map(({ socket }) => once(socket, 'connect')))
    for (const connection of dialled) release(connection)
  }

  function read(connection) {
    const { text } = connection
    // Nothing was asked: a server says so much only before it closes.
    if (connection.sending === null) {
      lose(connection, 'not asked')
      return
    }
    const headEnd = text.indexOf('\r\n\r\n')
    if (headEnd === -1) return
    const length = Number(/content-length: (\d+)/i.exec(text.slice(0, headEnd))?.[1] ?? 0)
    const end = headEnd + 4 + length
    if (text.length < end) return
    const nowMs = performance.now()
    const { sending } = connection
    connection.text = text.slice(end)
    connection.sending = null
    pending--
    release(connection)
    onAnswer(sending, Number(text.slice(9, 12)), text.slice(headEnd + 4, end), nowMs)
  }

  function release(connection) {
    const { port } = connection
    const next = waiting.findIndex(({ expected }) => expected.port === port)
    if (next !== -1) {
      write(connection, waiting.splice(next, 1)[0])
      return
    }
    if (!idle.has(port)) idle.set(port, [])
    idle.get(port).push(connection)
  }

  function lose(connection, message) {
    if (!all.delete(connection)) return
    const list = idle.get(connection.port) ?? []
    if (list.includes(connection)) list.splice(list.indexOf(connection), 1)
    connection.socket.destroy()
    if (connection.sending === null) return
    pending--
    onLost(connection.sending, message)
  }

  return {
    open,
    send,
    get pending() {
      return pending
    },
    end() {
      for (const { socket } of all) socket.removeAllListeners('close').destroy()
    },
  }
}
