import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { open, readdir, rename, unlink } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { pid } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { machineClock } from '../../clock.ts'
import { connectTo, listenIn } from '../../folder-socket.ts'
import { failureText } from '../failure-text.ts'
import { StoreError } from '../port.ts'

/**
 * LMDB (ITS#9496, in lmdb 3.5.6 too): who opens a file while another process commits may set the number of its
 * newest transaction back, and the next commit then takes the place of one that was acknowledged. So whoever opens
 * it puts a flag into the folder, at which nobody begins a commit, and asks all others whether theirs are done.
 *
 * Who hangs does not answer, and finds the flag when it goes on. Threads of one process share what is open, and open
 * nothing again.
 */
export interface Peers {
  /** What may happen because others cannot see this one; '' when they can. */
  readonly problem: string
  /** Whether somebody opens the file: then nothing may begin to be written. 3 µs. */
  isOpening(): boolean
  /** Rejects with a StoreError where what was left by somebody who was killed cannot be removed. */
  untilOpened(): Promise<void>
  /** What has begun to be written, until it is done or has failed. */
  noteWrites(writes: readonly Promise<unknown>[]): void
  /** Calls it while all others stand still. */
  openAlone<T>(open: () => T): Promise<T>
  leave(): Promise<void>
}

const flagName = 'opening'
/** A commit that was begun before is done by then, whoever hangs. */
const answerMs = 2_000
/** Who opens a file is done by then, or was killed. */
const staleMs = 5_000
const lookMs = 2
const doneWord = 'done'
const namePattern = /^p-[0-9a-f]{8}-[0-9a-f]{6}\.lock$/

export async function joinPeers(folder: string, process = processName()): Promise<Peers> {
  const own = `p-${process}-${randomBytes(3).toString('hex')}.lock`
  const flag = join(folder, flagName)
  const untilGone = createFlagWait(flag)
  const writing = new Set<Promise<unknown>>()
  const server = await listenIn(join(folder, `.${own}`), (socket) => {
    socket.unref()
    socket.on('error', () => {})
    void Promise.all(writing).then(() => socket.end(doneWord))
  })
  // Only now, because a socket that is not listening yet looks dead.
  if (typeof server !== 'string') await rename(join(folder, `.${own}`), join(folder, own))

  return {
    problem: typeof server === 'string' ? notSeen(folder, server) : '',
    isOpening: () => identityOf(flag) !== '',
    untilOpened: untilGone,
    noteWrites(writes) {
      const all = Promise.allSettled(writes)
      writing.add(all)
      void all.then(() => writing.delete(all))
    },
    async openAlone(openNow) {
      await raise(flag, untilGone)
      try {
        await untilDone(folder, process)
        return openNow()
      } finally {
        await unlink(flag).catch(() => {})
      }
    },
    async leave() {
      if (typeof server === 'string') return
      await unlink(join(folder, own)).catch(() => {})
      // Not waited for: who asks just now may be stopped.
      server.close()
    },
  }
}

/** One opens at a time. */
async function raise(flag: string, untilGone: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await (await open(flag, 'wx', 0o600)).close()
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
        throw new StoreError(
          `the store cannot be opened (${failureText(error)}): its folder must be there, and have room`,
          'no',
          { cause: error },
        )
      }
      await untilGone()
    }
  }
}

/** A flag that stays for too long is removed: who raised it was killed. Throws where it cannot be. */
function createFlagWait(flag: string): () => Promise<void> {
  // Kept between waits: who has found once that it stays does not wait for it again.
  let seen = ''
  let sinceMonoMs = 0
  return async () => {
    for (let now = identityOf(flag); now !== ''; now = identityOf(flag)) {
      if (now !== seen) sinceMonoMs = machineClock.monoMs()
      seen = now
      if (machineClock.monoMs() - sinceMonoMs > staleMs) await removeStale(flag)
      else await sleep(lookMs)
    }
  }
}

async function removeStale(flag: string): Promise<void> {
  try {
    await unlink(flag)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return
    throw new StoreError(
      `the store cannot be written: ${flag} is from somebody who was killed, and cannot be removed (${failureText(cause)})`,
      'no',
      { cause },
    )
  }
}

/** '' when it is not there; what is wrong with a folder that cannot be read is for the commit to say. */
function identityOf(flag: string): string {
  try {
    const found = statSync(flag, { throwIfNoEntry: false })
    return found === undefined ? '' : `${found.ino} ${found.ctimeMs}`
  } catch {
    return ''
  }
}

/** Resolves when all commits that were begun before are done; sockets of the dead are removed. */
async function untilDone(folder: string, process: string): Promise<void> {
  const names = (await readdir(folder)).filter(
    (name) => namePattern.test(name) && !name.startsWith(`p-${process}-`),
  )
  await Promise.all(
    names.map(async (name) => {
      const socket = await connectTo(join(folder, name)).catch(() => 'hangs' as const)
      if (socket === null) await unlink(join(folder, name)).catch(() => {})
      else if (socket === 'hangs') await sleep(answerMs)
      else await untilEnded(socket)
    }),
  )
}

/** It says that its commits are done, has ended, or hangs. */
function untilEnded(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const limit = setTimeout(() => socket.destroy(), answerMs)
    socket.on('error', () => {})
    socket.resume()
    socket.once('close', () => {
      clearTimeout(limit)
      resolve()
    })
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
