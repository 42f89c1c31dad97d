import * as fs from 'node:fs/promises'
import type { Command } from 'commander'
import { checkBackup, readBackup } from '../../backoffice/backup-file.ts'
import { fillStore } from '../../backoffice/transfer.ts'
import { createTrustedClock } from '../../clock.ts'
import { writeKeptLines } from '../../gate/journal/file.ts'
import type { StorePlace } from '../../store/open.ts'
import { type ExitCode, printText, showProgress } from '../terminal.ts'
import { nameOfPlace } from './address.ts'
import {
  filling,
  onConfigured,
  printTallies,
  progress,
  refuseUnbooked,
  sayServed,
  withStore,
} from './store-work.ts'

const help = `
The store is the one that REDIS_URL or DATA_DIR names, and must be empty. The file is read whole first: one
that is cut off or was changed is refused before anything is written.

Example:
  $ DATA_DIR=./restored arbiter restore arbiter-2026-11-15.ndjson.gz`

export function addRestore(program: Command): void {
  program
    .command('restore')
    .summary('fill an empty store from a backup')
    .description('Fill an empty store from a file that "arbiter backup" wrote.')
    .argument('<file>', 'the backup')
    .addHelpText('after', help)
    .action((file: string) => onConfigured((place) => restore(place, file)))
}

async function restore(place: StorePlace, file: string): Promise<ExitCode> {
  const { createdAt, journal, ...fixed } = await checkBackup(file, progress('checked'))
  showProgress('')
  await sayServed(place)
  await refuseUnbooked(place.dataDir, 'move it away, or name another DATA_DIR', journal)
  // As a server of the store would take it then: nothing is left out by a clock that is far ahead.
  const { nowMs } = createTrustedClock(Date.parse(createdAt) || null)
  const tallies = await withStore(place, nowMs, async (store) => {
    const lines = Buffer.from(journal, 'base64')
    const beside = async () => {
      if (lines.length > 0) await writeKeptLines(fs, place.dataDir, lines)
    }
    const options = { onProgress: progress('restored'), nowMs, beside }
    return filling(place, () => fillStore(store, fixed, readBackup(file), options))
  })
  await printTallies(tallies)
  await printText(`${nameOfPlace(place)} holds what was backed up at ${createdAt}`)
  return 0
}
