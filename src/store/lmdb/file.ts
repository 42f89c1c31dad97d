import { Buffer } from 'node:buffer'
import type { FileHandle } from 'node:fs/promises'

/**
 * LMDB maps its file into memory and trusts it: pages that are missing or are not its own end the
 * process (SIGBUS, SIGSEGV). So the file is read in the ordinary way before LMDB sees it. The layout
 * is that of mdb.c as lmdb-js carries it (data version 2).
 */

const magic = 0xbeefc0de
const dataVersion = 2
const pageHeaderBytes = 24
const nodeHeaderBytes = 8
const metaBytes = pageHeaderBytes + 136
const metaFlag = 0x08
const branchFlag = 0x01
const leafFlag = 0x02
const bigDataFlag = 0x01
const noPage = 0xffffffffffffffffn

interface Meta {
  readonly pageBytes: number
  readonly freeRoot: bigint
  readonly mainRoot: bigint
  readonly lastPage: number
  readonly transaction: bigint
}

/** What is wrong with the file, or undefined. */
export async function findFileDamage(file: FileHandle): Promise<string | undefined> {
  const first = await readMeta(file, 0)
  if (typeof first === 'string') return first
  const second = await readMeta(file, first.pageBytes)
  if (typeof second === 'string') return second
  const meta = first.transaction >= second.transaction ? first : second
  // The size is read after the meta pages: a process that is writing meanwhile only makes it larger.
  const { size } = await file.stat()
  if (size >= (meta.lastPage + 1) * meta.pageBytes) return undefined
  // Pages at the end that were taken and given back in one transaction are counted but never written,
  // so a short file is damaged only when something in use lies beyond its end.
  const pages = Math.floor(size / meta.pageBytes)
  for (const root of [meta.mainRoot, meta.freeRoot]) {
    if (root !== noPage && !(await liesWithin(file, meta.pageBytes, pages, Number(root)))) {
      return `it is cut off: ${size} bytes are left of ${(meta.lastPage + 1) * meta.pageBytes}`
    }
  }
  return undefined
}

async function readMeta(file: FileHandle, position: number): Promise<Meta | string> {
  const bytes = await readBytes(file, position, metaBytes)
  if (bytes === undefined) return 'it is cut off before its second header'
  const isMeta = (bytes.readUInt16LE(18) & metaFlag) !== 0
  if (!isMeta || bytes.readUInt32LE(24) !== magic) return 'it is not an LMDB file'
  const version = bytes.readUInt32LE(28) & 0xffff
  if (version !== dataVersion) return `its LMDB data version is ${version}, not ${dataVersion}`
  const pageBytes = bytes.readUInt32LE(48)
  if (pageBytes < 256 || pageBytes > 65536 || (pageBytes & (pageBytes - 1)) !== 0) {
    return 'its header is damaged'
  }
  return {
    pageBytes,
    freeRoot: bytes.readBigUInt64LE(88),
    mainRoot: bytes.readBigUInt64LE(136),
    lastPage: Number(bytes.readBigUInt64LE(144)),
    transaction: bytes.readBigUInt64LE(152),
  }
}

async function liesWithin(
  file: FileHandle,
  pageBytes: number,
  pages: number,
  root: number,
): Promise<boolean> {
  const waiting = [root]
  let visited = 0
  for (let page = waiting.pop(); page !== undefined; page = waiting.pop()) {
    // More visits than pages: the tree runs in a circle.
    if (page >= pages || ++visited > pages) return false
    const bytes = await readBytes(file, page * pageBytes, pageBytes)
    if (bytes === undefined) return false
    const flags = bytes.readUInt16LE(18)
    if ((flags & (branchFlag | leafFlag)) === 0) return false
    const nodes = bytes.readUInt16LE(20) >> 1
    for (let i = 0; i < nodes; i++) {
      const entryAt = pageHeaderBytes + 2 * i
      const node = entryAt + 2 <= pageBytes ? pageHeaderBytes + bytes.readUInt16LE(entryAt) : -1
      if (node < 0 || node + nodeHeaderBytes > pageBytes) return false
      const nodeFlags = bytes.readUInt16LE(node + 4)
      if ((flags & branchFlag) !== 0) {
        waiting.push(nodeFlags * 2 ** 32 + bytes.readUInt32LE(node))
      } else if ((nodeFlags & bigDataFlag) !== 0) {
        const data = node + nodeHeaderBytes + bytes.readUInt16LE(node + 6)
        if (data + 24 > pageBytes) return false
        const end = bytes.readBigUInt64LE(data) + bytes.readBigUInt64LE(data + 16)
        if (end > BigInt(pages)) return false
      }
    }
  }
  return true
}

async function readBytes(
  file: FileHandle,
  position: number,
  length: number,
): Promise<Buffer | undefined> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position)
  return bytesRead === length ? buffer : undefined
}
