import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readdir, rename, unlink } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { pid } from 'node:process'
import { connectTo, listenIn } from '../../folder-socket.ts'
import { StoreRefused } from '../port.ts'

/**
 * LMDB (ITS#9496, in lmdb 3.5.6 too): who opens a file while another process commits may set the number of its
 * newest transaction back, and the next commit then takes the place of one that was acknowledged. So whoever opens
 * it asks all others that have it open to finish their commit and to begin none, until it is open.
 *
 * Everyone shows a socket of its own first and looks for others then, so of two at least one sees the other. Threads
 * of one process share what is open, and open nothing again.
 */
export interface Peers {
  /** What may happen because others cannot see this one; '' when they can. */
  readonly problem: string
  /** Resolves when nobody opens the file; null while nobody does. */
  readonly held: Promise<void> | null
  /** What has begun to be written, until it is done or has failed. */
  noteWrites(writes: readonly Promise<unknown>[]): void
  /** Calls it while all others stand still. */
  openAlone<T>(open: () => T): Promise<T>
  leave(): Promise<void>
}

const answerMs = 10_000
/** By far longer than to open a file takes: who stands still meanwhile must not do so for ever. */
const maxHeldMs = 5_000
const heldWord = 'held'
const namePattern = /^p-[0-9a-f]{8}-[0-9a-f]{6}\.lock$/

export async function joinPeers(folder: string, process = processName()): Promise<Peers> {
  const own = `p-${process}-${randomBytes(3).toString('hex')}.lock`
  const writing = new Set<Promise<unknown>>()
  let holders = 0
  let held: Promise<void> | null = null
  let release = () => {}

  function hold(socket: Socket): void {
    socket.unref()
    socket.on('error', () => {})
    if (holders++ === 0) {
      held = new Promise((resolve) => {
        release = resolve
      })
    }
    let limit: NodeJS.Timeout | undefined
    socket.once('close', () => {
      clearTimeout(limit)
      if (--holders > 0) return
      held = null
      release()
    })
    void Promise.all(writing).then(() => {
      socket.write(heldWord)
      limit = setTimeout(() => socket.destroy(), maxHeldMs).unref()
    })
  }

  const server = await listenIn(join(folder, `.${own}`), hold)
  // Only now, because a socket that is not listening yet looks dead.
  if (typeof server !== 'string') await rename(join(folder, `.${own}`), join(folder, own))

  return {
    problem: typeof server === 'string' ? notSeen(folder, server) : '',
    get held() {
      return held
    },
    noteWrites(writes) {
      const all = Promise.allSettled(writes)
      writing.add(all)
      void all.then(() => writing.delete(all))
    },
    async openAlone(open) {
      const stopped = await stopOthers(folder, process)
      try {
        return open()
      } finally {
        for (const socket of stopped) socket.destroy()
      }
    },
    async leave() {
      if (typeof server === 'string') return
      await unlink(join(folder, own)).catch(() => {})
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Resolves when all of them have said that they stand still; those that are dead are removed. */
async function stopOthers(folder: string, process: string): Promise<Socket[]> {
  const names = (await readdir(folder)).filter(
    (name) => namePattern.test(name) && !name.startsWith(`p-${process}-`),
  )
  const stopped = await Promise.all(
    names.map(async (name) => {
      const socket = await connectTo(join(folder, name)).catch(() => null)
      if (socket === null) await unlink(join(folder, name)).catch(() => {})
      else await stoodStill(socket, folder)
      return socket
    }),
  )
  return stopped.filter((socket) => socket !== null)
}

function stoodStill(socket: Socket, folder: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => {
      socket.destroy()
      const problem = `another process that uses ${folder} does not answer: it hangs, or is stopped`
      reject(new StoreRefused(`${problem}. Try again, or end it.`))
    }, answerMs)
    const end = () => {
      clearTimeout(limit)
      resolve()
    }
    socket.once('data', end)
    // It has ended meanwhile.
    socket.once('close', end)
    socket.on('error', () => {})
  })
}

function notSeen(folder: string, code: string): string {
  return (
    `no socket can be made in ${folder} (${code}): a command that opens the store while it is written could ` +
    'make it lose a commit. Run no commands beside the server, or name a shorter DATA_DIR.'
  )
}

/** The same in all threads of a process, and in no other process that may see the folder. */
function processName(): string {
  const name = `${hostname()} ${pid} ${startOfProcess()}`
  return createHash('sha256').update(name).digest('hex').slice(0, 8)
}

function startOfProcess(): string {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
  } catch {
    // Only Linux has it.
    return ''
  }
}
