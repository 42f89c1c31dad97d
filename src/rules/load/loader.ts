import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { bytesOfPack, type PackBytes } from '../pack/bytes.ts'
import { type PackFiles, readPackFiles, versionOf } from '../pack/folder.ts'
import { lineOfFault, PackRefused } from '../pack/refusal.ts'
import { compilePack } from './compiler.ts'
import { watchFolder } from './folder-watch.ts'
import { readSteadily } from './steady-read.ts'

/** What the gate gives a new loader. */
export interface LoaderSettings {
  readonly rulesDir: string
  readonly eventRetentionDays: number
  /** False: only who asks for it has a changed pack loaded. */
  readonly watches: boolean
  /** The version that a loader before this one has given; '' when there is none. */
  readonly used: string
  /** What a loader before this one looked at last: it may be what ended it. */
  readonly seen: string
}

/** A request to load now; without any, a change of the folder loads it. */
export interface ToLoader {
  readonly id: number
}

export type FromLoader =
  | { readonly type: 'loading'; readonly version: string }
  | (Loaded & {
      readonly type: 'loaded'
      /** The requests that this answers. */
      readonly ids: readonly number[]
      readonly version: string
    })
  | { readonly type: 'refused'; readonly ids: readonly number[]; readonly problem: string }

interface Loaded {
  /** null when it is the one that was given last. */
  readonly pack: PackBytes | null
  readonly warnings: readonly string[]
}

const maxWarnings = 20

/** The content of the loader's thread: a pack is read, checked and tested where nobody waits for it. */
function run(port: MessagePort, settings: LoaderSettings): void {
  const { rulesDir } = settings
  const send = (message: FromLoader) => port.postMessage(message)
  let { used, seen } = settings
  let asked: number[] = []
  let scheduled = false

  /** Who asks while a load runs is answered by the next one: it began after the request. */
  function load(): void {
    scheduled = false
    const ids = asked
    asked = []
    const found = readSteadily(() => read(rulesDir))
    // A touch, or an event that came late: the content has been looked at.
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
  // What changed before the watch began; without one, the first pack.
  if (settings.watches || used === '') schedule()
}

/** Where the folder cannot be read, what is wrong with it stands for its version. */
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

/** All or nothing: a pack without any fault, or what is wrong with it. */
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
