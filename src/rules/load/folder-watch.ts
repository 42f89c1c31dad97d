import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs'
import { join } from 'node:path'

export interface FolderWatch {
  stop(): void
}

/** One save is several events. */
const settleMs = 200
/** For file systems that tell nothing, and for folders that were exchanged under their name. */
const pollMs = 3_000

/**
 * Calls when something in the folder of a pack, or in its lists, may have changed. The folder may be a
 * link, or full of links, that a deployment points elsewhere: what is watched is looked up again after
 * each change.
 */
export function watchFolder(folder: string, onChange: () => void): FolderWatch {
  let watchers: FSWatcher[] = []
  let settling: NodeJS.Timeout | undefined
  let seen = fingerprint(folder)

  function open(): void {
    const old = watchers
    watchers = [folder, join(folder, 'lists')].flatMap((path) => watchOne(path, settle))
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

/** Not there, or no more watches to be had: polling goes on. */
function watchOne(path: string, onEvent: () => void): FSWatcher[] {
  try {
    const watcher = watch(path, { persistent: false }, onEvent)
    watcher.on('error', () => watcher.close())
    return [watcher]
  } catch {
    return []
  }
}

/** Changes with the files, mostly; cheap enough to be made every few seconds. */
function fingerprint(folder: string): string {
  return [folder, join(folder, 'lists')].map(stampsIn).join('\n\n')
}

function stampsIn(folder: string): string {
  try {
    return readdirSync(folder)
      .map((name) => stampOf(join(folder, name), name))
      .join('\n')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unreadable'
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
