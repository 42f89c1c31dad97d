import { statSync } from 'node:fs'
import { join } from 'node:path'

/**
 * LMDB goes on writing to a file that was deleted, moved away or hidden by a mount, and calls it durable.
 * Only the path tells: it must lead to the file that was opened.
 */
export interface Whereabouts {
  /** Names the data file as it was opened; no other file that exists meanwhile has the same. */
  readonly file: string
  /** What was wrong with the files when they were last looked at; '' when they were in place. */
  readonly problem: string
  /** Looks at the data file now; 3 µs, and no descriptor is needed. */
  isInPlace(): boolean
  stop(): void
}

export interface WhereaboutsOptions {
  readonly folder: string
  /** How soon a loss, or its end, is noticed when there are no commits. */
  readonly intervalMs: number
  readonly onChange: (problem: string) => void
}

const dataName = 'data.mdb'
const lockName = 'lock.mdb'

export function fileOf(folder: string): string {
  return fileAt(join(folder, dataName))
}

function fileAt(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? '' : `${found.dev}:${found.ino}`
}

export function watchWhereabouts({
  folder,
  intervalMs,
  onChange,
}: WhereaboutsOptions): Whereabouts {
  const [dataPath, lockPath] = [join(folder, dataName), join(folder, lockName)]
  const [file, lockFile] = [fileAt(dataPath), fileAt(lockPath)]
  let problem = ''

  function look(path: string, opened: string): string {
    try {
      const now = fileAt(path)
      if (now === opened) return ''
      return `${path} was ${now === '' ? 'removed' : 'replaced'} while it was in use`
    } catch (error) {
      return `${path} cannot be reached (${(error as NodeJS.ErrnoException).code})`
    }
  }

  function note(found: string): boolean {
    if (found !== problem) {
      problem = found
      onChange(found)
    }
    return found === ''
  }

  // Without lock.mdb another process would write beside this one: nothing holds them apart then.
  const timer = setInterval(
    () => note(look(dataPath, file) || look(lockPath, lockFile)),
    intervalMs,
  )
  timer.unref()
  return {
    file,
    get problem() {
      return problem
    },
    isInPlace() {
      const found = look(dataPath, file)
      return found === '' ? problem === '' : note(found)
    },
    stop: () => clearInterval(timer),
  }
}
