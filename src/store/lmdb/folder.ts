import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { access, open, readdir, readFile, rename, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeFolder } from '../../make-folder.ts'
import { failureText } from '../failure-text.ts'
import { StoreRefused } from '../port.ts'

import { findFileDamage } from './file.ts'

const format = 1
const markerName = 'arbiter-store.json'
const temporaryPrefix = `${markerName}.`
const dataName = 'data.mdb'
const lockName = 'lock.mdb'
/** An empty store takes less: LMDB's two files, the marker, a socket of each thread and the flag of who opens. */
const leastRoomBytes = 65_536
const leastRoomFiles = 12

/** A volume of its own has `lost+found` in its root: the folder is still new. */
const ignored = new Set(['lost+found'])

/**
 * A marker says `filled: false` until LMDB has made its file, so that a crash between the two is not
 * taken for a lost file, nor a lost file for a new folder.
 */
interface Marker {
  readonly format: number
  readonly filled: boolean
}

/** Makes the folder when it is missing, and refuses one that LMDB must not see. */
export async function prepareFolder(folder: string): Promise<{ readonly filled: boolean }> {
  await provideFolder(folder)
  const names = (await readdir(folder)).filter((name) => !ignored.has(name))
  if (![lockName, dataName].every((name) => names.includes(name))) await checkRoom(folder)
  if (!names.includes(markerName)) {
    if (names.some((name) => !name.startsWith(temporaryPrefix))) {
      throw new StoreRefused(
        `${folder} holds files but no ${markerName}, so it is not a store of Arbiter. Name an empty or ` +
          'new folder; if this was a store, restore the whole folder from a backup.',
      )
    }
    await writeMarker(folder, { format, filled: false })
    return { filled: false }
  }
  const marker = await readMarker(folder)
  for (const name of [dataName, lockName]) await checkAccess(folder, name)
  await checkData(folder, marker)
  return { filled: marker.filled }
}

/** Called when LMDB has made its file: a file that is missing from now on was lost. */
export async function markFilled(folder: string): Promise<void> {
  // LMDB does not sync the folder, so after a power failure its new file could be without a name.
  await syncFolder(folder)
  await writeMarker(folder, { format, filled: true })
}

async function provideFolder(folder: string): Promise<void> {
  try {
    await makeFolder(folder, 0o700)
    if (!(await stat(folder)).isDirectory()) throw new Error('it is not a folder')
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (cause) {
    throw new StoreRefused(
      `${folder} cannot be used as the store's folder (${failureText(cause)}). Name a folder, on a local ` +
        'disk, that this user may create or write.',
      { cause },
    )
  }
}

async function readMarker(folder: string): Promise<Marker> {
  const path = join(folder, markerName)
  const text = await readFile(path, 'utf8').catch((cause) => {
    throw new StoreRefused(
      `${path} cannot be read (${failureText(cause)}). Give this user access.`,
      {
        cause,
      },
    )
  })
  const marker = parseMarker(text)
  if (marker === undefined) {
    throw new StoreRefused(
      `${path} is damaged. Restore the whole folder from a backup, or name a new folder.`,
    )
  }
  if (marker.format !== format) {
    throw new StoreRefused(
      `${folder} has store format ${marker.format} and this version of Arbiter reads format ${format}. ` +
        'Start the version of Arbiter that wrote it, or name a new folder.',
    )
  }
  return marker
}

function parseMarker(text: string): Marker | undefined {
  try {
    const marker: unknown = JSON.parse(text)
    if (typeof marker !== 'object' || marker === null) return undefined
    if (!('format' in marker) || !Number.isSafeInteger(marker.format)) return undefined
    return {
      format: marker.format as number,
      filled: 'filled' in marker && marker.filled === true,
    }
  } catch {
    return undefined
  }
}

/**
 * LMDB maps its new lock file into memory, and ends the process (SIGBUS) where the disk has no room for it; it also
 * does (SIGSEGV) where that file was the last that the disk takes.
 */
async function checkRoom(folder: string): Promise<void> {
  const { bavail, bsize, files, ffree } = await statfs(folder)
  if (bavail * bsize < leastRoomBytes) {
    throw new StoreRefused(
      `${folder} has no room: free some space on its disk, or name another one.`,
    )
  }
  // A disk that counts no files has no bound of them.
  if (files > 0 && ffree < leastRoomFiles) {
    throw new StoreRefused(
      `${folder} has no room for more files (df -i): remove some from its disk, or name another one.`,
    )
  }
}

/**
 * LMDB ends the process when it may not open its lock file. It is only looked at: to open and close it would take
 * LMDB's locks from other threads of this process.
 */
async function checkAccess(folder: string, name: string): Promise<void> {
  const path = join(folder, name)
  try {
    if (!(await stat(path)).isFile()) throw new Error('it is not a file')
    await access(path, constants.R_OK | constants.W_OK)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return
    throw new StoreRefused(
      `${path} cannot be opened (${failureText(cause)}). Give the whole folder to the user that the server ` +
        'runs as (chown -R); nothing was lost.',
      { cause },
    )
  }
}

async function checkData(folder: string, marker: Marker): Promise<void> {
  const path = join(folder, dataName)
  const damage = await findLastingDamage(path, marker)
  if (damage === undefined) return
  throw new StoreRefused(
    marker.filled
      ? `${path} cannot be used: ${damage}. Restore the whole folder from a backup. To start empty, ` +
          'and lose what was stored, move the folder away.'
      : `${path} cannot be used: ${damage}. Nothing was ever stored in it: remove the folder's content.`,
  )
}

/** Another process may be writing while we look, so damage counts only when it is seen three times. */
async function findLastingDamage(path: string, marker: Marker): Promise<string | undefined> {
  for (let attempt = 1; ; attempt++) {
    const damage = await findDamageAt(path, marker)
    if (damage === undefined || attempt === 3) return damage
    await sleep(20)
  }
}

async function findDamageAt(path: string, marker: Marker): Promise<string | undefined> {
  try {
    const file = await open(path, 'r+')
    try {
      if (!marker.filled && (await file.stat()).size === 0) return undefined
      return await findFileDamage(file)
    } finally {
      await file.close()
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EROFS') throw readOnly(path, error)
    if (code !== 'ENOENT') return failureText(error)
    return marker.filled ? 'it is missing' : undefined
  }
}

/** Its folder may look as if it could be written: Linux tells of a disk that had a fault only who opens a file. */
function readOnly(path: string, cause: unknown): StoreRefused {
  return new StoreRefused(
    `${path} cannot be opened (${failureText(cause)}). Its disk takes no writes, as after a fault of it ` +
      '(dmesg): mend it, and mount it anew; nothing was lost.',
    { cause },
  )
}

/** The marker is written under another name, synced and renamed, so that it is whole or not there. */
async function writeMarker(folder: string, marker: Marker): Promise<void> {
  const temporary = join(folder, `${temporaryPrefix}${randomUUID()}`)
  try {
    const file = await open(temporary, 'w', 0o600)
    try {
      await file.writeFile(`${JSON.stringify({ ...marker, product: 'arbiter' })}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, join(folder, markerName))
    await syncFolder(folder)
  } catch (cause) {
    throw new StoreRefused(
      `${folder} cannot be written (${failureText(cause)}). Free some space, or name a folder that this ` +
        'user may write.',
      { cause },
    )
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
