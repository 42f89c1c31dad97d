import { fstatSync, write } from 'node:fs'
import { Socket } from 'node:net'

/** Takes a part of the log, and says how many of its bytes were written; none when writing failed. */
export type LogOutlet = (part: Buffer, done: (writtenBytes: number) => void) => void

export function openLogOutlet(fd: number): LogOutlet {
  const stats = fstatSync(fd)
  return stats.isFIFO() || stats.isSocket() ? openPipe(fd) : openFile(fd)
}

function openFile(fd: number): LogOutlet {
  return (part, done) => write(fd, part, (error, writtenBytes) => done(error ? 0 : writtenBytes))
}

/**
 * A pipe is written as a socket, which does not block: a write that a reader lets wait would keep a thread of the
 * process, and with it the process from ending.
 */
function openPipe(fd: number): LogOutlet {
  let socket: Socket | null = open()

  function open(): Socket {
    const opened = new Socket({ fd, readable: false, writable: true })
    // Whoever wrote is told; a next reader of a named pipe gets a socket of its own.
    opened.on('error', () => {})
    opened.on('close', () => {
      socket = null
    })
    return opened
  }

  return (part, done) => {
    socket ??= open()
    socket.write(part, (error) => done(error ? 0 : part.length))
  }
}
