import { createHash, randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { open, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { z } from 'zod'
import { systemClock } from '../clock.ts'
import { type StoreRecord, StoreRefused } from '../store/port.ts'
import { readLines } from './line-reader.ts'

/**
 * A backup is text, one JSON a line: a header, a row for each record, and an end with their number and
 * the SHA-256 of all bytes before it. A name that ends in .gz is compressed; reading tells by itself.
 */
const format = 3

const header = z.object({
  arbiter: z.literal('backup'),
  format: z.int(),
  eventRetentionDays: z.int(),
  sandbox: z.boolean().default(false),
  createdAt: z.string(),
  /** What was said by default and not booked yet, as the gate's journal has it, in base64. */
  journal: z.string().default(''),
})

export type BackupHeader = Omit<z.output<typeof header>, 'arbiter' | 'format'>

const end = z.object({ end: z.int(), sha256: z.string() })

const row = z.union([
  z.tuple([z.literal('root'), z.string(), z.string(), z.string()]),
  z.tuple([z.literal('child'), z.string(), z.string(), z.string(), z.string()]),
  z.tuple([z.literal('index'), z.string(), z.string(), z.string()]),
  z.tuple([z.literal('log'), z.int(), z.string()]),
])

/** The longest is the header: a journal may have 64 MiB. */
const maxRowBytes = 128 * 2 ** 20
const rowsPerPage = 1_000
const endStart = '{"end":'

export async function refuseExisting(file: string): Promise<void> {
  if ((await stat(file).catch(() => null)) === null) return
  throw new StoreRefused(`${file} exists: name another file, or move it away`)
}

/** Two that write a backup of the same name at once must not write into one file. */
const writer = `${process.pid}-${randomUUID().slice(0, 6)}`

/** Where this process writes a backup until it is whole. */
export function partialNameOf(file: string): string {
  return `${file}.${writer}.partial`
}

/** Where a copy of an embedded store is made, to be read for a backup: mkdtemp adds the end. */
export function snapshotNameOf(file: string): string {
  return `${file}.snapshot-${process.pid}-`
}

const unfinished = /\.(?:snapshot-(\d+)-\w{6}|(\d+)-\w{6}\.partial)$/

/** What a backup that goes on has made is touched all the time; one of another container or machine has no process here. */
const untouchedMs = 3_600_000

/** Nothing is written to a copy while it is read. Returns what ends it. */
export function keepTouched(folder: string): () => void {
  const touch = () => {
    const now = new Date(systemClock.nowMs())
    // Where it fails, the next one comes long before anybody takes it for left.
    void utimes(folder, now, now).catch(() => {})
  }
  const timer = setInterval(touch, untouchedMs / 10)
  timer.unref()
  return () => clearInterval(timer)
}

/** What a killed backup has left, the whole copy of a store among it, beside a file that nobody may name again. */
export async function removeUnfinished(file: string): Promise<void> {
  const folder = dirname(file)
  for (const name of await readdir(folder).catch(() => [])) {
    const [, ofSnapshot, ofPartial] = unfinished.exec(name) ?? []
    const pid = Number(ofSnapshot ?? ofPartial)
    if (Number.isNaN(pid) || isRunning(pid)) continue
    const touched = await stat(join(folder, name)).catch(() => null)
    if (touched === null || systemClock.nowMs() - touched.mtimeMs < untouchedMs) continue
    // What cannot be removed keeps nobody from a backup.
    await rm(join(folder, name), { recursive: true, force: true }).catch(() => {})
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // Somebody else's.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Under another name until it is whole and on the disk, so a file of this name is a whole backup. */
export async function writeBackup(
  file: string,
  given: BackupHeader,
  pages: AsyncIterable<readonly StoreRecord[]>,
): Promise<void> {
  await refuseExisting(file)
  const partial = partialNameOf(file)
  try {
    const text = Readable.from(textOf(given, pages))
    const output = createWriteStream(partial, { mode: 0o600 })
    if (file.endsWith('.gz')) await pipeline(text, createGzip(), output)
    else await pipeline(text, output)
    await sync(partial)
    await refuseExisting(file)
    await rename(partial, file)
  } catch (error) {
    await rm(partial, { force: true })
    const { code, syscall } = error as NodeJS.ErrnoException
    if (syscall === undefined) throw error
    throw new StoreRefused(
      `${file} cannot be written (${code}): free some space, or name another place`,
    )
  }
  await sync(dirname(file))
}

async function* textOf(
  given: BackupHeader,
  pages: AsyncIterable<readonly StoreRecord[]>,
): AsyncGenerator<string> {
  const hash = createHash('sha256')
  const counted = (text: string) => {
    hash.update(text)
    return text
  }
  let count = 0
  yield counted(`${JSON.stringify({ arbiter: 'backup', format, ...given })}\n`)
  for await (const page of pages) {
    count += page.length
    if (page.length > 0)
      yield counted(page.map((one) => `${JSON.stringify(rowOf(one))}\n`).join(''))
  }
  yield `${JSON.stringify({ end: count, sha256: hash.digest('hex') })}\n`
}

function rowOf(record: StoreRecord): z.input<typeof row> {
  switch (record.kind) {
    case 'root':
      return ['root', record.aggregate, record.version, record.value]
    case 'child':
      return ['child', record.aggregate, record.group, record.id, record.value]
    case 'index':
      return ['index', record.index, record.sortKey, record.value]
    case 'log':
      return ['log', record.writtenMicros, record.entry]
  }
}

function recordOf(text: string): StoreRecord {
  const cells = row.parse(JSON.parse(text))
  switch (cells[0]) {
    case 'root':
      return { kind: 'root', aggregate: cells[1], version: cells[2], value: cells[3] }
    case 'child':
      return { kind: 'child', aggregate: cells[1], group: cells[2], id: cells[3], value: cells[4] }
    case 'index':
      return { kind: 'index', index: cells[1], sortKey: cells[2], value: cells[3] }
    case 'log':
      return { kind: 'log', writtenMicros: cells[1], entry: cells[2] }
  }
}

/** Reads the whole file and refuses one that is not whole; resolves to its header. */
export async function checkBackup(
  file: string,
  onProgress: (records: number) => void,
): Promise<BackupHeader> {
  const found: BackupHeader[] = []
  let records = 0
  for await (const page of readBackup(file, (one) => found.push(one))) {
    records += page.length
    onProgress(records)
  }
  return found[0] as BackupHeader
}

/** The records of a backup, in pages; throws StoreRefused as soon as something is not as it was written. */
export async function* readBackup(
  file: string,
  onHeader: (found: BackupHeader) => void = () => {},
): AsyncGenerator<readonly StoreRecord[]> {
  const hash = createHash('sha256')
  let page: StoreRecord[] = []
  let count = 0
  let ended = false
  for await (const { number, text, problem } of linesOf(file)) {
    if (problem !== '' || ended) throw altered(file, `line ${number}`)
    if (number === 1) onHeader(readHeader(file, text))
    else if (text.startsWith(endStart)) {
      const told = end.safeParse(parseJson(text))
      if (told.data?.end !== count || told.data.sha256 !== hash.digest('hex')) {
        throw altered(file, 'its checksum')
      }
      ended = true
      continue
    } else {
      page.push(readRecord(file, number, text))
      count++
    }
    hash.update(`${text}\n`)
    if (page.length >= rowsPerPage) {
      yield page
      page = []
    }
  }
  if (!ended) throw altered(file, 'its end is missing')
  if (page.length > 0) yield page
}

function readHeader(file: string, text: string): BackupHeader {
  const found = header.safeParse(parseJson(text))
  if (!found.success)
    throw new StoreRefused(`${file} is not a backup of Arbiter: name another file`)
  if (found.data.format !== format) {
    throw new StoreRefused(
      `${file} has backup format ${found.data.format} and this release reads ${format}: use the release that made it`,
    )
  }
  return found.data
}

function readRecord(file: string, number: number, text: string): StoreRecord {
  try {
    return recordOf(text)
  } catch {
    throw altered(file, `line ${number}`)
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function altered(file: string, where: string): StoreRefused {
  return new StoreRefused(
    `${file} is cut off or was changed (${where}): use another backup. Nothing can be restored from it`,
  )
}

async function* linesOf(file: string) {
  try {
    const compressed = await isCompressed(file)
    const input = createReadStream(file)
    const bytes = compressed ? input.pipe(createGunzip()) : input
    // An error of the file does not pass through the pipe by itself.
    if (compressed) input.once('error', (error) => bytes.destroy(error))
    yield* readLines(bytes, maxRowBytes)
  } catch (error) {
    const { code = '', syscall } = error as NodeJS.ErrnoException
    if (syscall !== undefined) {
      throw new StoreRefused(
        `${file} cannot be read (${code}): name a file that "arbiter backup" wrote`,
      )
    }
    if (code.startsWith('Z_')) throw altered(file, 'its compressed data')
    throw error
  }
}

async function isCompressed(file: string): Promise<boolean> {
  const handle = await open(file, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0)
    return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b
  } finally {
    await handle.close()
  }
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
