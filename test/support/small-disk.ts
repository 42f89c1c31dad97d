import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'

/** A DATA_DIR whose journal, and nothing else, lies where the room can be taken away. */
export interface SmallDisk {
  readonly dataDir: string
  readonly way: 'tmpfs' | 'rlimit'
  fill(pid: number): void
  free(pid: number): void
  remove(): void
}

const pageBytes = 4096

export function makeSmallDisk(folder: string): SmallDisk {
  const dataDir = join(folder, 'data')
  mkdirSync(dataDir)
  const mounted = tryRun('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', dataDir])
  mkdirSync(join(folder, 'store'))
  symlinkSync(join(folder, 'store'), join(dataDir, 'store'))
  writeFileSync(join(dataDir, 'gate.journal'), journalOfOnePage())
  return mounted ? smallFileSystem(dataDir) : smallFileSize(dataDir)
}

function smallFileSystem(dataDir: string): SmallDisk {
  const filler = join(dataDir, 'filler')
  return {
    dataDir,
    way: 'tmpfs',
    fill() {
      for (let i = 0; ; i++) {
        try {
          writeFileSync(filler, Buffer.alloc(pageBytes), { flag: 'a' })
        } catch {
          if (i > 0) return
          throw new Error('the disk was full before')
        }
      }
    },
    free: () => rmSync(filler),
    remove: () => void execFileSync('umount', [dataDir]),
  }
}

/** Without the right to mount: no file may grow. The engine must not write meanwhile. */
function smallFileSize(dataDir: string): SmallDisk {
  const limit = (pid: number, bytes: string) =>
    void execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`])
  return {
    dataDir,
    way: 'rlimit',
    fill: (pid) => limit(pid, String(pageBytes)),
    free: (pid) => limit(pid, 'unlimited'),
    remove() {},
  }
}

function tryRun(command: string, args: readonly string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** It ends where a page ends, so that a full disk has no room left for a last line. */
function journalOfOnePage(): Buffer {
  const header = Buffer.from('ARBITER JOURNAL 1\n')
  const payload = Buffer.alloc(pageBytes - header.length - 12, 'D')
  const record = Buffer.alloc(12)
  record.set([0xa7, 0x4a, 0xf1, 0x0d])
  record.writeUInt32LE(payload.length, 4)
  record.writeUInt32LE(crc32(payload), 8)
  return Buffer.concat([header, record, payload])
}
