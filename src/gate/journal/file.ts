import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { makeFolder } from '../../make-folder.ts'
import { codeOf, JournalError, type JournalProblem } from './error.ts'
import { fileHeader, type LineRecord, type LostPart, scan } from './record.ts'

/** The part of node:fs/promises in use, so that a test can have a failing disk. */
export interface JournalFs {
  open(path: string, flags: string, mode?: number): Promise<JournalFile>
  chmod(path: string, mode: number): Promise<void>
  readFile(path: string): Promise<Buffer>
  rename(from: string, to: string): Promise<void>
  link(from: string, to: string): Promise<void>
  stat(path: string): Promise<FileIdentity>
}

/** No two files have both the same at one time. */
interface FileIdentity {
  readonly dev: number
  readonly ino: number
}

export interface JournalFile {
  write(
    bytes: Buffer,
    offsetBytes: number,
    lengthBytes: number,
    positionBytes: number,
  ): Promise<{ readonly bytesWritten: number }>
  datasync(): Promise<void>
  sync(): Promise<void>
  truncate(lengthBytes: number): Promise<void>
  stat(): Promise<FileIdentity>
  close(): Promise<void>
}

export const journalName = 'gate.journal'

const chunkBytes = 1024 * 1024
/** Events are in it, which are nobody else's to read. */
const ownerOnly = 0o600

/** What opening the file found. */
export interface FoundJournal {
  /** Cut off at the end: the last write before a crash, of which nobody was told. */
  readonly tornBytes: number
  /** Lost in the middle. The file as it was is kept beside the new one. */
  readonly damage: readonly LostPart[]
  readonly damagedFile: string
}

export interface OpenedFile {
  readonly file: JournalFile
  readonly lengthBytes: number
  readonly kept: Map<string, LineRecord>
  readonly found: FoundJournal
}

export async function openFile(
  fs: JournalFs,
  folder: string,
  path: string,
): Promise<OpenedFile | JournalProblem> {
  const bytes = await readIfThere(fs, path)
  const begun = bytes.subarray(0, fileHeader.length)
  if (!begun.equals(fileHeader.subarray(0, begun.length))) {
    const message = `${path} is not a journal of this version: move it away`
    return { problem: 'foreign', message }
  }
  const scanned = scan(bytes)
  const { kept, endBytes, damage } = scanned
  if (bytes.length >= fileHeader.length && damage.length === 0) {
    // One of an earlier version may be readable by all.
    await fs.chmod(path, ownerOnly).catch(() => {})
    // In place, so that a full disk does not keep us from starting.
    const file = await fs.open(path, 'r+')
    const tornBytes = bytes.length - endBytes
    if (tornBytes > 0) await file.truncate(endBytes)
    await file.datasync()
    return { file, lengthBytes: endBytes, kept, found: { tornBytes, damage, damagedFile: '' } }
  }
  const damagedFile = damage.length === 0 ? '' : await keepAside(fs, path)
  const fresh = await writeFresh(fs, path, [...kept.values()])
  await syncFolder(fs, folder)
  const tornBytes = damage.length === 0 ? 0 : bytes.length - endBytes
  return { ...fresh, kept, found: { tornBytes, damage, damagedFile } }
}

async function readIfThere(fs: JournalFs, path: string): Promise<Buffer> {
  try {
    return await fs.readFile(path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return Buffer.alloc(0)
    throw error
  }
}

/** The lines of a journal, also of one that is in use, that its process would replay now; as they are in the file. */
export async function readKeptLines(fs: JournalFs, folder: string): Promise<Buffer> {
  const bytes = await readIfThere(fs, join(folder, journalName))
  return Buffer.concat([...scan(bytes).kept.values()].map(({ record }) => record))
}

/** Makes a journal of such lines, in a folder that no process uses. */
export async function writeKeptLines(fs: JournalFs, folder: string, lines: Buffer): Promise<void> {
  await makeFolder(folder, 0o700)
  const { kept } = scan(Buffer.concat([fileHeader, lines]))
  const { file } = await writeFresh(fs, join(folder, journalName), [...kept.values()])
  await file.close()
  await syncFolder(fs, folder)
}

/** A second name for the damaged file, before a new one takes the first. */
async function keepAside(fs: JournalFs, path: string): Promise<string> {
  const aside = `${path}.damaged-${randomBytes(4).toString('hex')}`
  await fs.link(path, aside)
  return aside
}

/** A new file with these records in the place of the old one, flushed; its name is not flushed. */
export async function writeFresh(
  fs: JournalFs,
  path: string,
  records: readonly LineRecord[],
): Promise<{ file: JournalFile; lengthBytes: number }> {
  // Left over after a crash it is simply written again.
  const temporary = `${path}.new`
  const file = await fs.open(temporary, 'w+', ownerOnly)
  try {
    let lengthBytes = 0
    let chunk: Buffer[] = [fileHeader]
    let sizeBytes = fileHeader.length
    const writeChunk = async (): Promise<void> => {
      await writeAll(file, Buffer.concat(chunk), lengthBytes)
      lengthBytes += sizeBytes
      chunk = []
      sizeBytes = 0
    }
    for (const { record } of records) {
      chunk.push(record)
      sizeBytes += record.length
      // In pieces: joining all at once would hold up the gate's loop.
      if (sizeBytes >= chunkBytes) await writeChunk()
    }
    await writeChunk()
    await file.sync()
    await fs.rename(temporary, path)
    return { file, lengthBytes }
  } catch (error) {
    await file.truncate(0).catch(() => {})
    await file.close().catch(() => {})
    throw error
  }
}

export async function writeAll(
  file: JournalFile,
  bytes: Buffer,
  positionBytes: number,
): Promise<void> {
  let doneBytes = 0
  while (doneBytes < bytes.length) {
    const { bytesWritten } = await file.write(
      bytes,
      doneBytes,
      bytes.length - doneBytes,
      positionBytes + doneBytes,
    )
    // A disk that takes nothing and does not say why would keep us here for ever.
    if (bytesWritten === 0) throw new JournalError('disk', 'EIO', 'the disk takes no bytes')
    doneBytes += bytesWritten
  }
}

/**
 * Rejects unless the path leads to the open file: a file that was deleted, moved away or hidden by a mount
 * takes lines and flushes them as if nothing had happened, and nobody will find them there.
 */
export async function checkInPlace(fs: JournalFs, file: JournalFile, path: string): Promise<void> {
  const [opened, there] = await Promise.all([
    file.stat(),
    fs.stat(path).catch((error: unknown) => codeOf(error)),
  ])
  if (typeof there === 'string') throw new JournalError('gone', there, `${path} is gone (${there})`)
  if (there.ino !== opened.ino || there.dev !== opened.dev) {
    throw new JournalError('gone', 'ESTALE', `${path} was replaced while it was in use`)
  }
}

export async function syncFolder(fs: JournalFs, folder: string): Promise<void> {
  const handle = await fs.open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
