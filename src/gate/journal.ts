import { randomBytes } from 'node:crypto'
import * as nodeFs from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import type { CardEvent } from '../domain/event.ts'
import type { Answer } from '../domain/event-record.ts'

/** One thing that the watchdog said, or is about to say, and the engine has not booked yet. */
export interface JournalLine {
  readonly slot: string
  readonly said: Answer
  readonly event: CardEvent
  readonly receivedAtMs: number
  /** It was handed to the engine, so a command that carries it may still be on its way. */
  readonly handed: boolean
}

export interface Journal {
  /**
   * Resolves when the line is on the disk. Rejects with a JournalError; then the line must not be
   * counted on, and will not be replayed unless we crash before its remains are removed.
   * A later line of the same slot takes the place of the earlier one.
   */
  append(line: JournalLine): Promise<void>
  /** Booked: never replay it. Written later and not flushed, because a replay changes nothing. */
  drop(slot: string): void
  /** What must be replayed: on the disk and not dropped, oldest first. */
  pending(): readonly JournalLine[]
  readonly lengthBytes: number
  /** What opening found, for the log. */
  readonly opening: Opening
  close(): Promise<void>
}

export interface Opening {
  /** Cut off at the end: the last write before a crash, of which nobody was told. */
  readonly tornBytes: number
  /** Lost in the middle. The file as it was is kept beside the new one. */
  readonly damage: readonly Damage[]
  readonly damagedFile: string
  /** Why no lock could be taken, '' when it was. */
  readonly lockProblem: string
}

export interface Damage {
  readonly offsetBytes: number
  readonly lengthBytes: number
}

/** The journal cannot be used at all. */
export interface JournalProblem {
  readonly problem: 'locked' | 'foreign' | 'unusable'
  readonly message: string
}

export class JournalError extends Error {
  override readonly name = 'JournalError'
  /** full: too much is pending. timeout: the disk is slow. disk: it failed, `code` says how. */
  readonly kind: 'full' | 'timeout' | 'disk' | 'closed'
  readonly code: string

  constructor(kind: JournalError['kind'], code: string, message: string) {
    super(message)
    this.kind = kind
    this.code = code
  }
}

/** The part of node:fs/promises in use, so that a test can have a failing disk. */
export interface JournalFs {
  mkdir(folder: string, options: { recursive: true }): Promise<unknown>
  open(path: string, flags: string): Promise<JournalFile>
  readFile(path: string): Promise<Buffer>
  rename(from: string, to: string): Promise<void>
  link(from: string, to: string): Promise<void>
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
  close(): Promise<void>
}

export interface JournalOptions {
  readonly folder: string
  /** An append that is not on the disk by then rejects. */
  readonly flushTimeoutMs?: number
  /** Of the file. Pending lines may take half: the rest is for dropped ones, see `isDue`. */
  readonly maxBytes?: number
  readonly fs?: JournalFs
}

interface Entry {
  readonly line: JournalLine
  readonly record: Buffer
  resolve: () => void
  reject: (error: JournalError) => void
  timer: NodeJS.Timeout | undefined
  answered: boolean
  dropped: boolean
}

const fileName = 'gate.journal'
const fileHeader = Buffer.from('ARBITER JOURNAL 1\n')
// Not UTF-8, so no payload can contain it: after damage it is where the next record begins.
const recordMark = Buffer.from([0xa7, 0x4a, 0xf1, 0x0d])
const recordHeaderBytes = 12
const maxPayloadBytes = 1 << 20
const lineKind = 'L'
const dropKind = 'D'

const dropDelayMs = 200
const resetAboveBytes = 64 * 1024
const compactAboveBytes = 1024 * 1024
const chunkBytes = 1024 * 1024

export async function openJournal(options: JournalOptions): Promise<Journal | JournalProblem> {
  const { folder, flushTimeoutMs = 100, maxBytes = 64 * 1024 * 1024 } = options
  const fs = options.fs ?? nodeFs
  const path = join(folder, fileName)

  try {
    await fs.mkdir(folder, { recursive: true })
  } catch (error) {
    return unusable(error)
  }
  const lock = await lockFolder(folder)
  if (lock === 'locked') {
    return {
      problem: 'locked',
      message: `another process uses the journal in ${folder}: give each instance its own DATA_DIR`,
    }
  }
  const opened = await openFile(fs, folder, path).catch(unusable)
  if ('problem' in opened) {
    await lock.release()
    return opened
  }

  let file = opened.file
  let lengthBytes = opened.lengthBytes
  // Up to here the file is on the disk for certain. After a failed flush the kernel may have
  // thrown away anything beyond it and call it written.
  let syncedBytes = lengthBytes
  let tailUncertain = false
  let folderUncertain = false
  let skipCompactionBelowBytes = 0

  const kept = opened.kept
  let keptBytes = 0
  for (const entry of kept.values()) keptBytes += entry.record.length
  const waiting = new Set<Entry>()
  /** The newest entry of a slot that is waiting or in the running flush. */
  const unflushed = new Map<string, Entry>()
  let unflushedBytes = 0
  let drops: string[] = []
  let unsyncedDrops: string[] = []
  let dropTimer: NodeJS.Timeout | undefined
  let running: Promise<void> | null = null
  let closing: Promise<void> | null = null

  function append(line: JournalLine): Promise<void> {
    if (closing !== null) return Promise.reject(closedError())
    const record = encode(lineKind + JSON.stringify(line))
    if (record.length > maxPayloadBytes || pendingBytes() + record.length > maxBytes / 2) {
      return Promise.reject(new JournalError('full', '', 'too much is pending in the journal'))
    }
    return new Promise((resolve, reject) => {
      const entry: Entry = {
        line,
        record,
        resolve,
        reject,
        timer: undefined,
        answered: false,
        dropped: false,
      }
      entry.timer = setTimeout(giveUp, flushTimeoutMs, entry)
      waiting.add(entry)
      unflushed.set(line.slot, entry)
      unflushedBytes += record.length
      wake()
    })
  }

  function pendingBytes(): number {
    return keptBytes + unflushedBytes
  }

  function giveUp(entry: Entry): void {
    if (waiting.delete(entry)) forget(entry)
    // It is in the running flush and may get to the disk after all: then it is dropped again.
    else entry.dropped = true
    answer(entry, new JournalError('timeout', '', 'the journal was not flushed in time'))
  }

  function forget(entry: Entry): void {
    unflushedBytes -= entry.record.length
    if (unflushed.get(entry.line.slot) === entry) unflushed.delete(entry.line.slot)
  }

  function answer(entry: Entry, error: JournalError | null): void {
    if (entry.answered) return
    entry.answered = true
    clearTimeout(entry.timer)
    if (error === null) entry.resolve()
    else entry.reject(error)
  }

  function drop(slot: string): void {
    const entry = unflushed.get(slot)
    if (entry !== undefined) entry.dropped = true
    if (!unkeep(slot)) return
    drops.push(slot)
    scheduleDrops()
  }

  function unkeep(slot: string): boolean {
    const entry = kept.get(slot)
    if (entry === undefined) return false
    keptBytes -= entry.record.length
    return kept.delete(slot)
  }

  function scheduleDrops(): void {
    if (running !== null || dropTimer !== undefined || closing !== null) return
    dropTimer = setTimeout(() => {
      dropTimer = undefined
      wake()
    }, dropDelayMs)
    dropTimer.unref()
  }

  function wake(): void {
    running ??= run()
  }

  async function run(): Promise<void> {
    // All lines of this turn go into one flush: the watchdog sweeps many events at once.
    await null
    while (waiting.size > 0 || drops.length > 0) {
      const done = await flush()
      // Drops alone do not hammer a failing disk.
      if (!done && waiting.size === 0) break
    }
    running = null
    if (drops.length > 0) scheduleDrops()
  }

  /** One write and one flush for everything that has come since the last one. */
  async function flush(): Promise<boolean> {
    const batch = [...waiting]
    waiting.clear()
    let dropping = drops
    drops = []
    let batchBytes = 0
    for (const entry of batch) batchBytes += entry.record.length
    try {
      await repair()
      if (await reclaim(batchBytes)) dropping = []
      const records = dropping.map((slot) => encode(dropKind + slot))
      for (const entry of batch) records.push(entry.record)
      const bytes = Buffer.concat(records)
      await writeAll(file, bytes, lengthBytes)
      lengthBytes += bytes.length
      if (batch.length === 0) {
        unsyncedDrops.push(...dropping)
      } else {
        await file.datasync()
        syncedBytes = lengthBytes
        unsyncedDrops = []
      }
    } catch (error) {
      drops = [...unsyncedDrops, ...dropping, ...drops]
      unsyncedDrops = []
      lengthBytes = syncedBytes
      tailUncertain = true
      // At once, so that a crash does not replay what we are about to reject.
      await repair().catch(() => {})
      const reason = error instanceof JournalError ? error : diskError(error)
      for (const entry of batch) {
        forget(entry)
        answer(entry, reason)
      }
      return false
    }
    for (const entry of batch) {
      const { slot } = entry.line
      forget(entry)
      unkeep(slot)
      if (entry.dropped) {
        drops.push(slot)
      } else {
        kept.set(slot, entry)
        keptBytes += entry.record.length
      }
      answer(entry, null)
    }
    return true
  }

  /** What an earlier failure left behind comes before anything new. */
  async function repair(): Promise<void> {
    if (tailUncertain) {
      await file.truncate(syncedBytes)
      tailUncertain = false
    }
    if (folderUncertain) {
      await syncFolder(fs, folder)
      folderUncertain = false
    }
  }

  /** Makes room when it is due. True when the file now holds the kept lines and no others. */
  async function reclaim(batchBytes: number): Promise<boolean> {
    const full = lengthBytes + batchBytes > maxBytes
    if (kept.size === 0 && (full || lengthBytes > resetAboveBytes)) {
      await reset()
      return true
    }
    if (!full && !isDue()) return false
    try {
      await compact()
      return true
    } catch (error) {
      if (full || folderUncertain) throw error
      // The old file is still good, and there may be no room for a second one. Try again later.
      skipCompactionBelowBytes = lengthBytes * 2
      return false
    }
  }

  /** Rewriting costs what is kept, so it must free a multiple of that. */
  function isDue(): boolean {
    return (
      lengthBytes > compactAboveBytes &&
      lengthBytes > skipCompactionBelowBytes &&
      keptBytes * 4 < lengthBytes
    )
  }

  async function reset(): Promise<void> {
    // If the flush that follows fails, this is the length to go back to.
    syncedBytes = fileHeader.length
    tailUncertain = true
    await repair()
    lengthBytes = syncedBytes
    unsyncedDrops = []
  }

  async function compact(): Promise<void> {
    const next = await writeFresh(fs, path, [...kept.values()])
    await file.close().catch(() => {})
    file = next.file
    lengthBytes = next.lengthBytes
    syncedBytes = lengthBytes
    unsyncedDrops = []
    skipCompactionBelowBytes = 0
    // Until the folder is flushed a crash may bring the old file back, without what is added now.
    folderUncertain = true
    await repair()
  }

  async function shutDown(): Promise<void> {
    clearTimeout(dropTimer)
    if (drops.length > 0) wake()
    await running
    if (kept.size === 0) await reset().catch(() => {})
    await file.datasync().catch(() => {})
    await file.close().catch(() => {})
    if (lock !== 'locked') await lock.release()
  }

  return {
    append,
    drop,
    pending: () => Array.from(kept.values(), (entry) => entry.line),
    get lengthBytes() {
      return lengthBytes
    },
    opening: { ...opened.found, lockProblem: lock.problem },
    close: () => {
      closing ??= shutDown()
      return closing
    },
  }
}

export function isJournalProblem(result: Journal | JournalProblem): result is JournalProblem {
  return 'problem' in result
}

interface OpenedFile {
  readonly file: JournalFile
  readonly lengthBytes: number
  readonly kept: Map<string, Entry>
  readonly found: Omit<Opening, 'lockProblem'>
}

async function openFile(
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

/** A second name for the damaged file, before a new one takes the first. */
async function keepAside(fs: JournalFs, path: string): Promise<string> {
  const aside = `${path}.damaged-${randomBytes(4).toString('hex')}`
  await fs.link(path, aside)
  return aside
}

interface Scanned {
  readonly kept: Map<string, Entry>
  readonly endBytes: number
  readonly damage: readonly Damage[]
}

/**
 * Bytes that are no record, with records after them, are damage. With none after them they are the
 * torn end of a write that was never acknowledged.
 */
function scan(bytes: Buffer): Scanned {
  const kept = new Map<string, Entry>()
  const damage: Damage[] = []
  let at = fileHeader.length
  let endBytes = Math.min(at, bytes.length)
  while (at < bytes.length) {
    const payload = payloadAt(bytes, at)
    if (payload !== null && apply(kept, payload)) {
      at += recordHeaderBytes + payload.length
      endBytes = at
      continue
    }
    const nextAt = nextRecordAt(bytes, at + 1)
    if (nextAt < 0) break
    damage.push({ offsetBytes: at, lengthBytes: nextAt - at })
    at = nextAt
  }
  return { kept, endBytes, damage }
}

function nextRecordAt(bytes: Buffer, fromBytes: number): number {
  let at = bytes.indexOf(recordMark, fromBytes)
  while (at >= 0 && payloadAt(bytes, at) === null) at = bytes.indexOf(recordMark, at + 1)
  return at
}

function encode(payload: string): Buffer {
  const payloadBytes = Buffer.byteLength(payload)
  const record = Buffer.allocUnsafe(recordHeaderBytes + payloadBytes)
  recordMark.copy(record)
  record.writeUInt32LE(payloadBytes, 4)
  record.write(payload, recordHeaderBytes)
  record.writeUInt32LE(crc32(record.subarray(recordHeaderBytes)), 8)
  return record
}

function payloadAt(bytes: Buffer, at: number): Buffer | null {
  const from = at + recordHeaderBytes
  if (from > bytes.length || bytes.compare(recordMark, 0, 4, at, at + 4) !== 0) return null
  const payloadBytes = bytes.readUInt32LE(at + 4)
  if (payloadBytes > maxPayloadBytes || from + payloadBytes > bytes.length) return null
  const payload = bytes.subarray(from, from + payloadBytes)
  return crc32(payload) === bytes.readUInt32LE(at + 8) ? payload : null
}

function apply(kept: Map<string, Entry>, payload: Buffer): boolean {
  const text = payload.toString('utf8')
  const content = text.slice(1)
  if (text.startsWith(dropKind)) {
    kept.delete(content)
    return true
  }
  const line = text.startsWith(lineKind) ? parseLine(content) : null
  if (line === null) return false
  kept.delete(line.slot)
  kept.set(line.slot, {
    line,
    record: encode(text),
    resolve: () => {},
    reject: () => {},
    timer: undefined,
    answered: true,
    dropped: false,
  })
  return true
}

/** The checksum says that we wrote it; this says that it was this version of us. */
function parseLine(json: string): JournalLine | null {
  let line: Partial<JournalLine>
  try {
    line = JSON.parse(json)
  } catch {
    return null
  }
  const whole =
    typeof line.said?.code === 'string' &&
    typeof line.slot === 'string' &&
    typeof line.event?.eventId === 'string' &&
    typeof line.receivedAtMs === 'number' &&
    typeof line.handed === 'boolean'
  return whole ? (line as JournalLine) : null
}

/** A new file with these records in the place of the old one, flushed; its name is not flushed. */
async function writeFresh(
  fs: JournalFs,
  path: string,
  entries: readonly Entry[],
): Promise<{ file: JournalFile; lengthBytes: number }> {
  // Left over after a crash it is simply written again.
  const temporary = `${path}.new`
  const file = await fs.open(temporary, 'w+')
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
    for (const { record } of entries) {
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

async function writeAll(file: JournalFile, bytes: Buffer, positionBytes: number): Promise<void> {
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

async function syncFolder(fs: JournalFs, folder: string): Promise<void> {
  const handle = await fs.open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

interface Lock {
  readonly problem: string
  release(): Promise<void>
}

// sun_path holds 104 to 108 bytes; some versions of libuv cut a longer path off silently.
const maxSocketPathBytes = 100

const lockWaitMs = 20
const maxLockWaits = 25

/**
 * A listening socket in the folder is the lock: the kernel lets go of it however we die, and it is
 * seen from other containers that share the folder, where a process id says nothing.
 *
 * Everyone shows a socket of its own first and looks for others then, so of two at least one sees
 * the other. A name is used once, so a dead one can be removed without hitting a live one. When
 * several start together, all give way to the lowest name.
 */
async function lockFolder(folder: string): Promise<Lock | 'locked'> {
  const own = `gate-${randomBytes(4).toString('hex')}.lock`
  const server = await listen(join(folder, `.${own}`))
  // Some mounted folders cannot hold a socket. That must not keep a single instance from starting.
  if (typeof server === 'string') return noLock(server)
  // Only now, because a socket that is not listening yet looks dead.
  await nodeFs.rename(join(folder, `.${own}`), join(folder, own))
  const release = async (): Promise<void> => {
    await nodeFs.unlink(join(folder, own)).catch(() => {})
    await new Promise((resolve) => server.close(resolve))
  }
  for (let waits = 0; waits < maxLockWaits; waits++) {
    const others = await liveLocks(folder, own)
    if (others.length === 0) return { problem: '', release }
    if (others.some((other) => other < own)) break
    await sleep(lockWaitMs)
  }
  await release()
  return 'locked'
}

async function liveLocks(folder: string, own: string): Promise<string[]> {
  const live: string[] = []
  for (const name of await nodeFs.readdir(folder)) {
    if (name === own || !/^gate-[0-9a-f]{8}\.lock$/.test(name)) continue
    if (await isListenedTo(join(folder, name))) live.push(name)
    else await nodeFs.unlink(join(folder, name)).catch(() => {})
  }
  return live
}

function noLock(code: string): Lock {
  return { problem: `a second process would not be noticed (${code})`, release: async () => {} }
}

function listen(file: string): Promise<Server | string> {
  const path = socketPath(file)
  if (Buffer.byteLength(path) > maxSocketPathBytes) return Promise.resolve('ENAMETOOLONG')
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy())
    server.once('error', (error) => resolve(codeOf(error)))
    server.listen({ path, exclusive: true }, () => {
      server.unref()
      resolve(server)
    })
  })
}

function socketPath(file: string): string {
  const fromHere = relative(process.cwd(), file)
  return fromHere.length < file.length ? fromHere : file
}

function isListenedTo(file: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath(file))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error) => {
      const code = codeOf(error)
      resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT')
    })
  })
}

function diskError(error: unknown): JournalError {
  const code = codeOf(error)
  return new JournalError('disk', code, `the journal could not be written (${code})`)
}

function closedError(): JournalError {
  return new JournalError('closed', '', 'the journal is closed')
}

function unusable(error: unknown): JournalProblem {
  if (codeOf(error) === unknownCode) throw error
  return { problem: 'unusable', message: `the journal cannot be used (${codeOf(error)})` }
}

const unknownCode = 'UNKNOWN'

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? unknownCode
}
