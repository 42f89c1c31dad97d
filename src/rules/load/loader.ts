import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { bytesOfPack, type PackBytes } from '../pack/bytes.ts'
import { type PackFiles, readPackFiles, versionOf } from '../pack/folder.ts'
import { lineOfFault, PackRefused } from '../pack/refusal.ts'
import { compilePack } from './compiler.ts'
import { watchFolder } from './folder-watch.ts'
import { readSteadily } from './steady-read.ts'

export interface LoaderSettings {
  readonly rulesDir: string
  readonly eventRetentionDays: number
  /** false loads a changed pack on request only. */
  readonly watches: boolean
  /** The version that an earlier loader delivered last; '' when there is none. */
  readonly used: string
  /** The version that an earlier loader tried last: the attempt may have ended it. */
  readonly seen: string
}

/** A request to load now. */
export interface ToLoader {
  readonly id: number
}

export type FromLoader =
  | { readonly type: 'loading'; readonly version: string }
  | (Loaded & {
      readonly type: 'loaded'
      /** The requests that this message answers. */
      readonly ids: readonly number[]
      readonly version: string
    })
  | { readonly type: 'refused'; readonly ids: readonly number[]; readonly problem: string }

interface Loaded {
  /** null when the pack is the one that was delivered last. */
  readonly pack: PackBytes | null
  readonly warnings: readonly string[]
}

const maxWarnings = 20

/** Reads, checks and tests packs in a thread of its own, so that no event waits for it. */
function run(port: MessagePort, settings: LoaderSettings): void {
  const { rulesDir } = settings
  const send = (message: FromLoader) => port.postMessage(message)
  let { used, seen } = settings
  let asked: number[] = []
  let scheduled = false

  /** A request that comes during a load is answered by the next: the running one may miss a change. */
  function load(): void {
    scheduled = false
    const ids = asked
    asked = []
    const found = readSteadily(() => read(rulesDir))
    // The files were touched, but their content is the one tried last.
    if (ids.length === 0 && found.version === seen) return
    seen = found.version
    send({ type: 'loading', version: seen })
    const loaded = found.version === used ? unchanged : loadFound(found, settings)
    if ('problem' in loaded) {
      send({ type: 'refused', ids, problem: loaded.problem })
      return
    }
    used = found.version
    send({ type: 'loaded', ids, version: used, ...loaded })
  }

  function schedule(): void {
    if (scheduled) return
    scheduled = true
    setImmediate(load)
  }

  port.on('message', ({ id }: ToLoader) => {
    asked.push(id)
    schedule()
  })
  if (settings.watches) watchFolder(rulesDir, schedule)
  // Finds changes from before the watch began, or loads the first pack.
  if (settings.watches || used === '') schedule()
}

/** The files and their version; for a folder that cannot be read, the fault serves as version. */
interface Found {
  readonly version: string
  readonly files: PackFiles | PackRefused
}

function read(folder: string): Found {
  try {
    const files = readPackFiles(folder)
    return { version: versionOf(files), files }
  } catch (error) {
    if (!(error instanceof PackRefused)) throw error
    return { version: error.message, files: error }
  }
}

const unchanged: Loaded = { pack: null, warnings: [] }

/** A pack without any fault, or the report of its faults: there is no half of a pack. */
function loadFound({ files }: Found, settings: LoaderSettings): Loaded | { problem: string } {
  try {
    if (files instanceof PackRefused) throw files
    const pack = compilePack(files, settings.eventRetentionDays)
    const warnings = pack.warnings.slice(0, maxWarnings).map(lineOfFault)
    return { pack: bytesOfPack(pack), warnings }
  } catch (error) {
    if (!(error instanceof PackRefused)) throw error
    return { problem: error.message }
  }
}

if (parentPort !== null) run(parentPort, workerData as LoaderSettings)
