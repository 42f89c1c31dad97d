import { rmSync } from 'node:fs'
import type { Command } from 'commander'
import {
  partialNameOf,
  refuseExisting,
  removeUnfinished,
  writeBackup,
} from '../../backoffice/backup-file.ts'
import { indexKindOf } from '../../backoffice/index-kind.ts'
import { createRecordTally, readStore } from '../../backoffice/transfer.ts'
import { systemClock } from '../../clock.ts'
import { readMeta } from '../../engine/format/meta.ts'
import type { StorePlace } from '../../store/open.ts'
import type { StoreRecord } from '../../store/port.ts'
import { Interrupted, onInterrupt } from '../interrupt.ts'
import { explain } from '../session.ts'
import { complain, type ExitCode, printText } from '../terminal.ts'
import { nameOfPlace, refuseMissing } from './address.ts'
import { withSnapshot } from './snapshot.ts'
import { onConfigured, printTallies, progress, sayServed, timeIn, withStore } from './store-work.ts'

const help = `
The store is the one that REDIS_URL or DATA_DIR names. An embedded store may be in use: the file has
everything as of one instant after the command was given, and what the server had said by default and not
booked yet; beside the file there must be room for a copy of the store meanwhile. Stop the servers of a Redis
first, by SIGTERM, so that nothing is left in a journal. The file has all accounts, cards, holds, events, lists
and the decision log, ids as they were sent: keep it as you keep the store. A name that ends in .gz is
compressed.

Example:
  $ arbiter backup arbiter-2026-11-15.ndjson.gz`

export function addBackup(program: Command): void {
  program
    .command('backup')
    .summary('write the whole store to a file')
    .description('Write everything the store holds to one file.')
    .argument('<file>', 'the file to make')
    .addHelpText('after', help)
    .action((file: string) => onConfigured((place) => backUp(place, file)))
}

async function backUp(place: StorePlace, file: string): Promise<ExitCode> {
  refuseMissing(place)
  await refuseExisting(file)
  await removeUnfinished(file)
  const tally = createRecordTally()
  const unknown = new Set<string>()
  const report = progress('written')
  const createdAt = new Date(systemClock.nowMs()).toISOString()
  const nowMs = timeIn(place)
  const write = (from: StorePlace, journal: string) =>
    withStore(from, nowMs, async (store) => {
      const { eventRetentionDays, sandbox } = await readMeta(store)
      const header = { eventRetentionDays, sandbox, createdAt, journal }
      await writeBackup(file, header, counted(readStore(store)))
    })
  if (place.redis !== null) await sayServed(place)
  const undo = onInterrupt(() => {
    rmSync(partialNameOf(file), { force: true })
    process.exit(explain(new Interrupted()))
  })
  try {
    if (place.redis === null) await withSnapshot(place, file, write)
    else await write(place, '')
  } finally {
    undo()
  }

  async function* counted(pages: AsyncIterable<readonly StoreRecord[]>) {
    for await (const page of pages) {
      for (const record of page) {
        tally.add(record)
        if (record.kind === 'index' && indexKindOf(record.index) === null) unknown.add(record.index)
      }
      report(tally.records)
      yield page
    }
  }

  await printTallies(tally.result())
  if (unknown.size > 0) {
    // Better heard now than when the store is gone.
    complain(
      `warning: this release cannot restore ${file}: the store has an index ${[...unknown].join(', ')}, ` +
        'of a newer release or damaged',
    )
  }
  await printText(`${file} holds the same as ${nameOfPlace(place)}`)
  return 0
}
