import * as fs from 'node:fs/promises'
import type { Command } from 'commander'
import {
  checkBackup,
  readBackup,
  refuseExisting,
  writeBackup,
} from '../../backoffice/backup-file.ts'
import { createTally, fillStore, readStore, refuseUnlessEmpty } from '../../backoffice/transfer.ts'
import { systemClock } from '../../clock.ts'
import { isConfig, readConfig } from '../../config/config.ts'
import { readMeta } from '../../engine/format/meta.ts'
import { writeKeptLines } from '../../gate/journal/file.ts'
import type { StorePlace } from '../../store/open.ts'
import type { StoreRecord } from '../../store/port.ts'
import { complain, type ExitCode, printText, showProgress } from '../terminal.ts'
import { nameOfPlace, refuseMissing } from './address.ts'
import { printTallies, progress, sayServed, telling, withStore } from './copy.ts'
import { refuseUnbooked, withSnapshot } from './snapshot.ts'

const backupHelp = `
The store is the one that REDIS_URL or DATA_DIR names. An embedded store may be in use: the file has
everything as of one instant after the command was given, and what the server had said by default and not
booked yet; beside the file there must be room for a copy of the store meanwhile. Stop the servers of a Redis
first, by SIGTERM, so that nothing is left in a journal. The file has all accounts, cards, holds, events, lists
and the decision log, ids as they were sent: keep it as you keep the store. A name that ends in .gz is
compressed.

Example:
  $ arbiter backup arbiter-2026-11-15.ndjson.gz`

const restoreHelp = `
The store is the one that REDIS_URL or DATA_DIR names, and must be empty. The file is read whole first: one
that is cut off or was changed is refused before anything is written.

Example:
  $ DATA_DIR=./restored arbiter restore arbiter-2026-11-15.ndjson.gz`

export function addBackup(program: Command): void {
  program
    .command('backup')
    .summary('write the whole store to a file')
    .description('Write everything the store holds to one file.')
    .argument('<file>', 'the file to make')
    .addHelpText('after', backupHelp)
    .action((file: string) => telling(() => onConfigured((place) => backUp(place, file))))
  program
    .command('restore')
    .summary('fill an empty store from a backup')
    .description('Fill an empty store from a file that "arbiter backup" wrote.')
    .argument('<file>', 'the backup')
    .addHelpText('after', restoreHelp)
    .action((file: string) => telling(() => onConfigured((place) => restore(place, file))))
}

async function onConfigured(work: (place: StorePlace) => Promise<ExitCode>): Promise<ExitCode> {
  const config = readConfig(process.env)
  if (isConfig(config)) return work(config)
  for (const { variable, message } of config) complain(`${variable} ${message}`)
  return 2
}

async function backUp(place: StorePlace, file: string): Promise<ExitCode> {
  refuseMissing(place)
  await refuseExisting(file)
  const tally = createTally()
  const report = progress('written')
  const createdAt = new Date(systemClock.nowMs()).toISOString()
  const write = (from: StorePlace, journal: string) =>
    withStore(from, async (store) => {
      const { eventRetentionDays } = await readMeta(store)
      await writeBackup(file, { eventRetentionDays, createdAt, journal }, counted(readStore(store)))
    })
  if (place.redis === null) await withSnapshot(place, file, write)
  else {
    await sayServed(place)
    await write(place, '')
  }

  async function* counted(pages: AsyncIterable<readonly StoreRecord[]>) {
    for await (const page of pages) {
      for (const record of page) tally.add(record)
      report(tally.records)
      yield page
    }
  }

  await printTallies(tally.result())
  await printText(`${file} holds the same as ${nameOfPlace(place)}`)
  return 0
}

async function restore(place: StorePlace, file: string): Promise<ExitCode> {
  const { eventRetentionDays, createdAt, journal } = await checkBackup(file, progress('checked'))
  showProgress('')
  await sayServed(place)
  await refuseUnbooked(place)
  const tallies = await withStore(place, async (store) => {
    await refuseUnlessEmpty(store)
    if (journal !== '') await writeKeptLines(fs, place.dataDir, Buffer.from(journal, 'base64'))
    const options = { onProgress: progress('restored'), nowMs: systemClock.nowMs }
    return fillStore(store, eventRetentionDays, readBackup(file), options)
  })
  await printTallies(tallies)
  await printText(`${nameOfPlace(place)} holds what was backed up at ${createdAt}`)
  return 0
}
