import type { Command } from 'commander'
import { copyStore, type KindTally, nameOf } from '../../backoffice/transfer.ts'
import { systemClock } from '../../clock.ts'
import { openStore, type StorePlace } from '../../store/open.ts'
import type { Store } from '../../store/port.ts'
import { explain } from '../session.ts'
import { complain, type ExitCode, printText, showProgress } from '../terminal.ts'
import { refuseWrongClock } from '../wrong-clock.ts'
import { addressHelp, nameOfPlace, readAddress, refuseMissing, refuseServed } from './address.ts'

const help = `${addressHelp}

Stop the servers of both first, by SIGTERM, so that nothing is left in a journal. The target must be
empty. The copy is compared with what was read, record by record, before any server takes it.

Examples:
  $ arbiter copy --from lmdb:./data --to redis://127.0.0.1:6379
  $ TO=redis://arbiter:…@redis:6379 arbiter copy --from lmdb:/data --to env:TO`

export function addCopy(program: Command): void {
  const copy = program
    .command('copy')
    .summary('copy a whole store to another place')
    .description('Copy everything a store holds into an empty one, of the same or the other kind.')
    .requiredOption('--from <store>', 'the store to read')
    .requiredOption('--to <store>', 'the empty store to fill')
    .addHelpText('after', help)

  function placeOf(option: string, text: string): StorePlace {
    const place = readAddress(text)
    if (typeof place === 'string')
      return copy.error(`option '${option} <store>' is invalid, ${place}`)
    return place
  }

  copy.action((given: { from: string; to: string }) => {
    const from = placeOf('--from', given.from)
    const to = placeOf('--to', given.to)
    return telling(async () => {
      refuseMissing(from)
      await sayServed(from, to)
      const tallies = await withStore(from, (source) =>
        withStore(to, (target) =>
          copyStore(source, target, { onProgress: progress('copied'), nowMs: systemClock.nowMs }),
        ),
      )
      await printTallies(tallies)
      await printText(`${nameOfPlace(to)} holds the same as ${nameOfPlace(from)}`)
      return 0
    })
  })
}

/** Sets the exit code, and says in a line what stood against the command. */
export async function telling(command: () => Promise<ExitCode>): Promise<void> {
  try {
    process.exitCode = await command()
  } catch (error) {
    showProgress('')
    process.exitCode = explain(error)
  }
}

export async function sayServed(...places: readonly StorePlace[]): Promise<void> {
  for (const place of places) {
    const note = await refuseServed(place)
    if (note !== '') complain(note)
  }
}

export async function withStore<T>(
  place: StorePlace,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const store = await openStore(place, systemClock.nowMs)
  try {
    await refuseWrongClock(store, place)
    return await work(store)
  } finally {
    await store.close()
  }
}

export function progress(done: string): (records: number) => void {
  return (records) => showProgress(`${records} records ${done}`)
}

export async function printTallies(tallies: readonly KindTally[]): Promise<void> {
  showProgress('')
  for (const { kind, count, hash } of tallies) {
    await printText(`${String(count).padStart(10)} ${nameOf(kind)}, content ${hash}`)
  }
}
