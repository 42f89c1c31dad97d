import { connect, createServer, type Server, type Socket } from 'node:net'
import { relative } from 'node:path'

// sun_path holds 104 to 108 bytes; some versions of libuv cut a longer path off silently.
const maxSocketPathBytes = 100

/**
 * A listening socket in a folder shows that its process lives: the kernel lets go of it however we die, and it is
 * seen from other containers that share the folder, where a process id says nothing. Resolves to why there is none.
 */
export function listenIn(
  file: string,
  onConnection: (socket: Socket) => void,
): Promise<Server | string> {
  const path = socketPath(file)
  if (Buffer.byteLength(path) > maxSocketPathBytes) return Promise.resolve('ENAMETOOLONG')
  return new Promise((resolve) => {
    const server = createServer(onConnection)
    server.once('error', ({ code = 'UNKNOWN' }: NodeJS.ErrnoException) => resolve(code))
    server.listen({ path, exclusive: true }, () => {
      server.unref()
      resolve(server)
    })
  })
}

/** null when nobody listens there any more. */
export function connectTo(file: string): Promise<Socket | null> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath(file))
    socket.once('connect', () => resolve(socket))
    socket.once('error', (error: NodeJS.ErrnoException) => {
      const isDead = error.code === 'ECONNREFUSED' || error.code === 'ENOENT'
      if (isDead) resolve(null)
      else reject(error)
    })
  })
}

/** True as well where nobody can tell, as where this user may not connect: whoever is there is left alone. */
export async function isListenedTo(file: string): Promise<boolean> {
  const socket = await connectTo(file).catch(() => 'somebody' as const)
  if (socket !== 'somebody') socket?.destroy()
  return socket !== null
}

function socketPath(file: string): string {
  const fromHere = relative(process.cwd(), file)
  return fromHere.length < file.length ? fromHere : file
}
