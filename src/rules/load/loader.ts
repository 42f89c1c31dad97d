import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../clock.ts'
import { bundleFile, openBundle, type PackKey, packKeyIn } from '../pack/bundle.ts'
import { bytesOfPack, type PackBytes } from '../pack/bytes.ts'
import { faultOfFile, type PackFiles, versionOf } from '../pack/folder.ts'
import { bundleAt, readBundle, readPackFiles } from '../pack/reading.ts'
import { lineOfFault, PackRefused } from '../pack/refusal.ts'
import { createPuller, type Puller } from './bundle-pull.ts'
import { compilePack } from './compiler.ts'
import { watchFolder } from './folder-watch.ts'
import { readSteadily } from './steady-read.ts'

export interface LoaderSettings {
  readonly rulesDir: string
  readonly eventRetentionDays: number
  /** Public keys that bundles may be signed by; empty takes any pack. */
  readonly keys: readonly string[]
  /** Where a bundle is pulled from and kept in the folder; '' for a folder that others fill. */
  readonly url: string
  /** Through which it is called; '' when there is none. */
  readonly proxy: string
  readonly pullMs: number
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
  const { rulesDir, url } = settings
  const keys = settings.keys.flatMap((text) => packKeyIn(text) ?? [])
  const send = (message: FromLoader) => port.postMessage(message)
  const pull = url === '' ? null : createPuller(url, settings.proxy, systemClock.monoMs)
  let { used, seen } = settings
  let seenProblem = ''
  let asked: number[] = []
  let scheduled = false
  let pullProblem = ''
  /** Why the bundle that the address has is refused; '' for one that is in use. */
  let bundleProblem = ''

  /** A request that comes during a load is answered by the next: the running one may miss a change. */
  async function load(): Promise<void> {
    const ids = asked
    asked = []
    if (pull === null)
      take(
        readSteadily(() => read(rulesDir, keys)),
        ids,
      )
    else await loadPulled(pull, ids)
    scheduled = false
    if (asked.length > 0) schedule()
  }

  /** A bundle is kept before it is used: a server that starts while the address is away has it. */
  async function loadPulled(pulling: Puller, ids: readonly number[]): Promise<void> {
    const keptProblem = used === '' && mayBeKept(rulesDir) ? takeKept() : ''
    const pulled = await pulling(seen === '')
    if (pulled.type === 'bundle') {
      const found = readBundleText(pulled.text, keys, keptMs(rulesDir, keys))
      // What was said of the address must be taken back, or said of the bundle.
      if (pullProblem !== '') seen = ''
      pullProblem = ''
      bundleProblem = take(found, ids, () => keepBundle(rulesDir, pulled.text))
    } else if (pulled.type === 'same') answer(ids)
    else if (pulled.problem !== pullProblem || ids.length > 0) {
      pullProblem = pulled.problem
      send({ type: 'refused', ids, problem: `${pulled.problem}${keptProblem}` })
    }
  }

  /** The one that was kept serves until the address has answered; one that cannot is no reason not to ask it. */
  function takeKept(): string {
    const found = read(rulesDir, keys)
    const loaded = tryOut(found)
    if (!('problem' in loaded)) {
      deliver(found.version, [], loaded)
      return ''
    }
    // The address may have the same files, signed as they must be.
    seen = ''
    return `, and the bundle that was kept in ${rulesDir} cannot be used: ${loaded.problem}`
  }

  /** Nothing is new: whoever asked hears how the last attempt ended. */
  function answer(ids: readonly number[]): void {
    if (ids.length === 0) return
    if (bundleProblem === '') take(read(rulesDir, keys), ids)
    else send({ type: 'refused', ids, problem: bundleProblem })
  }

  /** Returns why it is refused; '' when it is not. */
  function take(found: Found, ids: readonly number[], keep: () => string = () => ''): string {
    const isUsed = found.version === used
    const isKnown = ids.length === 0 && found.version === seen
    // The files were touched, but their content is the one tried last.
    if (isKnown && !isUsed) return seenProblem
    const loaded = isUsed ? unchanged : tryOut(found)
    // What is in use is kept too: it may be signed anew, by a key that stays.
    const keepProblem = 'problem' in loaded ? '' : keep()
    // What could not be kept is asked for again.
    seen = keepProblem === '' ? found.version : ''
    seenProblem = 'problem' in loaded ? loaded.problem : keepProblem
    if ('problem' in loaded || keepProblem !== '') {
      send({ type: 'refused', ids, problem: seenProblem })
    } else if (!isKnown) deliver(found.version, ids, loaded)
    return seenProblem
  }

  function tryOut(found: Found): Loaded | { problem: string } {
    seen = found.version
    send({ type: 'loading', version: seen })
    return loadFound(found, settings)
  }

  function deliver(version: string, ids: readonly number[], loaded: Loaded): void {
    used = version
    send({ type: 'loaded', ids, version, ...loaded })
  }

  function schedule(): void {
    if (scheduled) return
    scheduled = true
    setImmediate(() => void load())
  }

  port.on('message', ({ id }: ToLoader) => {
    asked.push(id)
    schedule()
  })
  if (settings.watches && pull === null) watchFolder(rulesDir, schedule)
  if (settings.watches && pull !== null) setInterval(schedule, settings.pullMs)
  // Finds changes from before the watch began, or loads the first pack.
  if (settings.watches || used === '') schedule()
}

/** The files and their version; for a folder that cannot be read, the fault serves as version. */
interface Found {
  readonly version: string
  readonly files: PackFiles | PackRefused
}

function read(folder: string, keys: readonly PackKey[]): Found {
  return foundBy(() => readPackFiles(folder, keys))
}

/** A bundle as it came; one that was made before the one that is kept is no news, but a way back in time. */
function readBundleText(text: string, keys: readonly PackKey[], keptMadeAtMs: number): Found {
  return foundBy(() => {
    const { files, madeAtMs } = openBundle(text, keys)
    if (madeAtMs >= keptMadeAtMs) return files
    const message = 'is older than the one in use: make it again with arbiter rules pack to go back'
    throw new PackRefused([faultOfFile(bundleFile, message)])
  })
}

/** Also where that cannot be looked at: then whoever reads it says why. */
function mayBeKept(folder: string): boolean {
  try {
    return bundleAt(folder) !== ''
  } catch (error) {
    if (error instanceof PackRefused) return true
    throw error
  }
}

/** When the bundle that is kept was made; 0 for none that can be used. */
function keptMs(folder: string, keys: readonly PackKey[]): number {
  try {
    return openBundle(readBundle(join(folder, bundleFile)), keys).madeAtMs
  } catch (error) {
    if (error instanceof PackRefused) return 0
    throw error
  }
}

/** Returns why it cannot be kept; '' when it is. */
function keepBundle(folder: string, text: string): string {
  const path = join(folder, bundleFile)
  try {
    if (existsSync(path) && readFileSync(path, 'utf8') === text) return ''
    mkdirSync(folder, { recursive: true })
    // Who reads meanwhile, or after the machine has failed, must find the old one or the new one.
    writeFileSync(`${path}.tmp`, text, { flush: true })
    renameSync(`${path}.tmp`, path)
    return ''
  } catch (error) {
    return `${bundleFile} cannot be kept in ${folder}: ${(error as Error).message}`
  }
}

function foundBy(filesOf: () => PackFiles): Found {
  try {
    const files = filesOf()
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
