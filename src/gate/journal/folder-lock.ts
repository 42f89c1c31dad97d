import { randomBytes } from 'node:crypto'
import { readdir, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isListenedTo, listenIn } from '../../folder-socket.ts'

export interface FolderLock {
  /** Why no lock could be taken, '' when it was. */
  readonly problem: string
  release(): Promise<void>
}

const lockWaitMs = 20
const maxLockWaits = 25

/**
 * A listening socket in the folder is the lock.
 *
 * Everyone shows a socket of its own first and looks for others then, so of two at least one sees
 * the other. A name is used once, so a dead one can be removed without hitting a live one. When
 * several start together, all give way to the lowest name.
 */
export async function lockFolder(folder: string): Promise<FolderLock | 'locked'> {
  const own = `gate-${randomBytes(4).toString('hex')}.lock`
  const server = await listenIn(join(folder, `.${own}`), (socket) => socket.destroy())
  // Some mounted folders cannot hold a socket. That must not keep a single instance from starting.
  if (typeof server === 'string') return noLock(server)
  // Only now, because a socket that is not listening yet looks dead.
  await rename(join(folder, `.${own}`), join(folder, own))
  const release = async (): Promise<void> => {
    await unlink(join(folder, own)).catch(() => {})
    await new Promise((resolve) => server.close(resolve))
  }
  for (let waits = 0; waits < maxLockWaits; waits++) {
    const others = await liveLocks(folder, own)
    if (others.length === 0) return { problem: '', release }
    if (others.some((other) => other < own)) break
    await sleep(lockWaitMs)
  }
  await release()
  return 'locked'
}

async function liveLocks(folder: string, own: string): Promise<string[]> {
  const live: string[] = []
  for (const name of await readdir(folder)) {
    if (name === own || !/^gate-[0-9a-f]{8}\.lock$/.test(name)) continue
    if (await isListenedTo(join(folder, name))) live.push(name)
    else await unlink(join(folder, name)).catch(() => {})
  }
  return live
}

function noLock(code: string): FolderLock {
  return { problem: `a second process would not be noticed (${code})`, release: async () => {} }
}
