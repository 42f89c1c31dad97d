import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs'
import { join } from 'node:path'
import { foldersOf } from '../pack/folder.ts'

interface FolderWatch {
  stop(): void
}

/** One save causes several events within this time. */
const settleMs = 200
/** Some file systems send no events, and a folder that is replaced as a whole sends none either. */
const pollMs = 3_000

/**
 * Calls `onChange` when a file of the pack may have changed. Deployments replace folders and files by
 * links to others, so the watchers are opened again after each change.
 */
export function watchFolder(folder: string, onChange: () => void): FolderWatch {
  let watchers: FSWatcher[] = []
  let settling: NodeJS.Timeout | undefined
  let seen = fingerprint(folder)

  function open(): void {
    const old = watchers
    watchers = foldersOf(folder).flatMap((path) => watchOne(path, settle))
    for (const watcher of old) watcher.close()
  }

  function settle(): void {
    clearTimeout(settling)
    settling = setTimeout(changed, settleMs)
  }

  function changed(): void {
    open()
    seen = fingerprint(folder)
    onChange()
  }

  function poll(): void {
    if (fingerprint(folder) !== seen) changed()
  }

  open()
  const polling = setInterval(poll, pollMs)
  return {
    stop() {
      clearInterval(polling)
      clearTimeout(settling)
      for (const watcher of watchers) watcher.close()
    },
  }
}

/** No watcher when the folder is missing or the system has none left: polling goes on. */
function watchOne(path: string, onEvent: () => void): FSWatcher[] {
  try {
    const watcher = watch(path, { persistent: false }, onEvent)
    watcher.on('error', () => watcher.close())
    return [watcher]
  } catch {
    return []
  }
}

/** A text that changes when a file is replaced or written; cheap enough for every few seconds. */
function fingerprint(folder: string): string {
  return foldersOf(folder).map(stampsIn).join('\n\n')
}

function stampsIn(folder: string): string {
  try {
    return readdirSync(folder)
      .map((name) => stampOf(join(folder, name), name))
      .join('\n')
  } catch (error) {
    // A bundle that is named itself is no folder.
    return stampOf(folder, (error as NodeJS.ErrnoException).code ?? 'unreadable')
  }
}

function stampOf(path: string, name: string): string {
  try {
    const { ino, size, mtimeMs } = statSync(path)
    return `${name} ${ino} ${size} ${mtimeMs}`
  } catch {
    return name
  }
}
