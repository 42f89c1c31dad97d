import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseDocument } from 'yaml'
import { z } from 'zod'
import { createZone, type Zone } from '../domain/calendar.ts'
import { remembersNothing } from '../domain/familiarity.ts'
import { noVerdict, type Pack } from '../domain/pack.ts'
import type { Lists, PackProblem } from './named-list.ts'
import { compileSwitches, packFile } from './pack-file.ts'
import { compileDailyWindow, compileWindow, windowFile } from './window-file.ts'

/** One thing that is wrong with a pack, said so that its author finds it. */
export interface PackFault {
  readonly file: string
  readonly message: string
}

export class PackRefused extends Error {
  override readonly name = 'PackRefused'
  readonly faults: readonly PackFault[]

  constructor(faults: readonly PackFault[]) {
    super(faults.map(({ file, message }) => `${file}: ${message}`).join('\n'))
    this.faults = faults
  }
}

const dayMs = 86_400_000
const maxFileBytes = 1 << 20

/** The files of a pack as they were read, by name. */
export type PackFiles = ReadonlyMap<string, string>

/** Reads a pack whole; throws PackRefused with every fault that it found. */
export function loadPack(folder: string, retentionDays: number): Pack {
  return compilePack(readPackFiles(folder), retentionDays)
}

export function compilePack(files: PackFiles, retentionDays: number): Pack {
  const faults: PackFault[] = []
  const settings = parseFile(files, 'pack.yaml', packFile, faults)
  const windows = parseFile(files, 'windows.yaml', z.array(windowFile).default([]), faults)
  for (const file of files.keys()) {
    if (file.endsWith('.rules.yaml')) faults.push({ file, message: 'rules cannot be loaded yet' })
  }
  if (settings === null) throw new PackRefused(faults)
  const { name: _name, zone: zoneName, currency, ...switchesText } = settings
  const zone = findZone(zoneName, faults)
  const lists: Lists = new Map()
  const { switches, problems } = compileSwitches(switchesText, currency, lists)
  for (const { field, message } of problems) {
    faults.push({ file: 'pack.yaml', message: `${field}: ${message}` })
  }
  const { authorization, preauthorization, byMcc } = switches.holdDays
  for (const days of [authorization, preauthorization, ...byMcc.values()]) {
    if (days > retentionDays) {
      const message = `holdDays: ${days} days are more than EVENT_RETENTION_DAYS, ${retentionDays}`
      faults.push({ file: 'pack.yaml', message })
    }
  }
  if (zone === null || windows === null) throw new PackRefused(faults)
  const compiled = windows.map((window, i) => {
    const problems: PackProblem[] = []
    const definition = compileWindow(window, zone, lists, problems)
    for (const { field, message } of problems) {
      faults.push({ file: 'windows.yaml', message: `${i}.${field}: ${message}` })
    }
    return definition
  })
  if (faults.length > 0) throw new PackRefused(faults)
  return {
    version: versionOf(files),
    zone,
    switches,
    windows: [compileDailyWindow(zone), ...compiled],
    evaluate: () => noVerdict,
    remembers: remembersNothing,
    retentionMs: retentionDays * dayMs,
  }
}

export function readPackFiles(folder: string): PackFiles {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
    return new Map(names.sort().map((name) => [name, readFileSync(join(folder, name), 'utf8')]))
  } catch (error) {
    const message = `cannot be read (${(error as NodeJS.ErrnoException).code}): set RULES_DIR`
    throw new PackRefused([{ file: folder, message }])
  }
}

function parseFile<T>(
  files: PackFiles,
  file: string,
  schema: z.ZodType<T>,
  faults: PackFault[],
): T | null {
  const text = files.get(file)
  if (text === undefined && file === 'pack.yaml') {
    faults.push({ file, message: 'is missing' })
    return null
  }
  if (text !== undefined && Buffer.byteLength(text) > maxFileBytes) {
    faults.push({ file, message: `is larger than ${maxFileBytes} bytes` })
    return null
  }
  const document = parseDocument(text ?? '', { uniqueKeys: true })
  const problems = [...document.errors, ...document.warnings]
  if (problems.length > 0) {
    faults.push(...problems.map(({ message }) => ({ file, message })))
    return null
  }
  const content = contentOf(document)
  if (content === null) {
    faults.push({ file, message: 'aliases (*name) are not allowed' })
    return null
  }
  const parsed = schema.safeParse(content.value ?? undefined)
  if (parsed.success) return parsed.data
  faults.push(
    ...parsed.error.issues.map(({ path, message }) => ({
      file,
      message: path.length > 0 ? `${path.join('.')}: ${message}` : message,
    })),
  )
  return null
}

/** null when it has aliases: they can make a small file large, and a pack has no use for them. */
function contentOf(document: ReturnType<typeof parseDocument>): { value: unknown } | null {
  try {
    return { value: document.toJS({ maxAliasCount: 0 }) }
  } catch {
    return null
  }
}

function findZone(name: string, faults: PackFault[]): Zone | null {
  try {
    return createZone(name)
  } catch {
    faults.push({ file: 'pack.yaml', message: `zone: ${name} is not an IANA time zone` })
    return null
  }
}

/** The same files have the same version, on every instance. */
function versionOf(files: PackFiles): string {
  const hash = createHash('sha256')
  for (const [name, text] of files) hash.update(`${name}\0${text}\0`)
  return hash.digest('hex').slice(0, 12)
}
