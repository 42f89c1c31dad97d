import { createHash } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { suggestion } from '../../document/spelling.ts'
import { type FileFault, maxFileFaults } from '../../document/yaml-document.ts'
import { listNameOf } from './list-file.ts'
import { PackRefused } from './refusal.ts'

/** The files of a pack as they were read, by name. */
export type PackFiles = ReadonlyMap<string, string>

const maxYamlBytes = 1 << 20
const maxListBytes = 32 << 20
/** The bound of all files together. */
export const maxPackChars = 64 << 20
const maxFiles = 500

export function faultOfFile(file: string, message: string): FileFault {
  return { file, line: 0, column: 0, message }
}

/** Reads the YAML files and lists of a folder; bundles, profiles, schemas and pages beside them are left out. */
export function readFolder(folder: string): PackFiles {
  const names = [
    ...namesIn(folder, folder).filter((name) => /\.ya?ml$/.test(name) || name === 'pack.seal'),
    ...listNames(folder).map((name) => `lists/${name}`),
    ...organizationNames(folder),
  ].sort()
  if (names.length > maxFiles) {
    throw new PackRefused([faultOfFile(folder, `has more than ${maxFiles} files`)])
  }
  const faults: FileFault[] = []
  const files = new Map<string, string>()
  let chars = 0
  for (const name of names) {
    const text = readText(join(folder, name), maxBytesOf(name))
    if (text instanceof Error) faults.push(faultOfFile(name, text.message))
    else {
      files.set(name, text)
      chars += text.length
    }
    if (chars > maxPackChars) {
      const message = `makes the pack larger than ${maxPackChars} characters`
      throw new PackRefused([...faults, faultOfFile(name, message)])
    }
  }
  if (faults.length > 0) throw new PackRefused(faults)
  return files
}

function namesIn(folder: string, shown: string): string[] {
  try {
    return readdirSync(folder).filter((name) => !name.startsWith('.'))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const message = `cannot be read (${code}): name the folder of a rule pack, or set RULES_DIR`
    throw new PackRefused([faultOfFile(shown, message)])
  }
}

function listNames(folder: string): string[] {
  if (!namesIn(folder, folder).includes('lists')) return []
  return namesIn(join(folder, 'lists'), 'lists').filter((name) => name.endsWith('.txt'))
}

const organizationsFolder = 'organizations'

/** The organization whose asks a file's rules look at; '' for a file of the base, which looks at all. */
export function organizationOf(file: string): string {
  return ownName.exec(file)?.[1] ?? ''
}

const ownName =
  /^organizations\/([A-Za-z0-9][\w.-]{0,63})\/[a-z0-9][a-z0-9_-]{0,63}\.(?:rules|test)\.yaml$/

function organizationNames(folder: string): string[] {
  const inside = join(folder, organizationsFolder)
  if (!namesIn(folder, folder).includes(organizationsFolder)) return []
  return namesIn(inside, organizationsFolder).flatMap((id) =>
    namesIn(join(inside, id), `${organizationsFolder}/${id}`).map(
      (name) => `${organizationsFolder}/${id}/${name}`,
    ),
  )
}

/** The base first, then the organizations by name: so are rules evaluated and named. */
export function byOrder([a]: [string, string], [b]: [string, string]): number {
  const apart = Number(organizationOf(a) !== '') - Number(organizationOf(b) !== '')
  return apart !== 0 ? apart : a < b ? -1 : 1
}

/** The folders whose change may be a change of the pack. */
export function foldersOf(folder: string): readonly string[] {
  const inside = join(folder, organizationsFolder)
  try {
    const own = readdirSync(inside).slice(0, maxFiles)
    return [folder, join(folder, 'lists'), inside, ...own.map((id) => join(inside, id))]
  } catch {
    return [folder, join(folder, 'lists')]
  }
}

function maxBytesOf(name: string): number {
  return name.startsWith('lists/') ? maxListBytes : maxYamlBytes
}

/** Reads at most one byte more than allowed, which is enough to see that a file is too large. */
export function readText(path: string, maxBytes: number): string | Error {
  let file: number | null = null
  try {
    // Opening a pipe would otherwise wait for someone to write to it.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const stat = fstatSync(file)
    if (!stat.isFile()) return new Error('is not a file')
    const buffer = Buffer.allocUnsafe(Math.min(stat.size, maxBytes) + 1)
    let length = 0
    while (length < buffer.length) {
      const read = readSync(file, buffer, length, buffer.length - length, null)
      if (read === 0) break
      length += read
    }
    return buffer.toString('utf8', 0, length)
  } catch (error) {
    return new Error(`cannot be read (${(error as NodeJS.ErrnoException).code})`)
  } finally {
    if (file !== null) closeSync(file)
  }
}

const namePattern = /^[a-z0-9][a-z0-9_-]{0,63}\.(rules|test)\.yaml$/
const fixedNames = ['pack.yaml', 'windows.yaml', 'pack.seal']

/** Checks the names, sizes and encoding of the files. */
export function checkFiles(files: PackFiles): FileFault[] {
  const faults: FileFault[] = []
  if (!files.has('pack.yaml')) faults.push(faultOfFile('pack.yaml', 'is missing'))
  for (const [name, text] of files) {
    const problem = problemOf(name, text)
    if (problem !== '' && faults.length < maxFileFaults) faults.push(faultOfFile(name, problem))
  }
  return faults
}

export function isReadable(name: string, text: string): boolean {
  return problemOf(name, text) === ''
}

function problemOf(name: string, text: string): string {
  if (name.startsWith('lists/')) {
    if (listNameOf(name) === null) return 'must be named with lower case letters, digits and _'
  } else if (name.startsWith(`${organizationsFolder}/`)) {
    if (organizationOf(name) === '') {
      return 'is no file of an organization: name it organizations/ID/NAME.rules.yaml or NAME.test.yaml'
    }
  } else if (!fixedNames.includes(name) && !namePattern.test(name)) {
    const meant = suggestion(name, fixedNames)
    return `is no file of a pack: name it pack.yaml, windows.yaml, NAME.rules.yaml or NAME.test.yaml${meant}`
  }
  const maxBytes = maxBytesOf(name)
  if (Buffer.byteLength(text) > maxBytes) return `is larger than ${maxBytes} bytes`
  return text.includes('\ufffd') ? 'is not UTF-8 text' : ''
}

/** The same files have the same version, on every instance. */
export function versionOf(files: PackFiles): string {
  const hash = createHash('sha256')
  const names = [...files.keys()].sort()
  for (const name of names) hash.update(`${name}\0${files.get(name)}\0`)
  return hash.digest('hex').slice(0, 12)
}
