import { rmSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { keepTouched, snapshotNameOf } from '../../backoffice/backup-file.ts'
import { systemClock } from '../../clock.ts'
import { readKeptLines } from '../../gate/journal/file.ts'
import { openStore, type StorePlace, storeFolder } from '../../store/open.ts'
import { StoreRefused } from '../../store/port.ts'
import { refuseWrongClock } from '../wrong-clock.ts'

/**
 * Works on a copy of an embedded store as it was at one instant, made beside a file; the store may be in use.
 * The journal is read first: what it has is booked only then, so each thing said is in one of the two, and
 * what is in both is booked once.
 */
export async function withSnapshot<T>(
  { dataDir }: StorePlace,
  file: string,
  work: (snapshot: StorePlace, journal: string) => Promise<T>,
): Promise<T> {
  const folder = await fs.mkdtemp(snapshotNameOf(file)).catch(({ code }) => {
    throw new StoreRefused(`${file} cannot be written (${code}): name another place`)
  })
  const remove = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  const letGo = keepTouched(folder)
  try {
    const journal = (await readKeptLines(fs, dataDir)).toString('base64')
    const store = await openStore({ redis: null, dataDir }, systemClock.nowMs)
    try {
      await refuseWrongClock(store, { redis: null, dataDir })
      await store.snapshot?.(storeFolder(folder))
    } finally {
      await store.close()
    }
    return await work({ redis: null, dataDir: folder }, journal)
  } finally {
    letGo()
    process.off('exit', remove)
    remove()
  }
}
