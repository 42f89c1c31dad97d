import type { Command } from 'commander'
import { copyStore } from '../../backoffice/transfer.ts'
import type { StorePlace } from '../../store/open.ts'
import { printText } from '../terminal.ts'
import { addressHelp, nameOfPlace, readAddress, refuseMissing } from './address.ts'
import {
  filling,
  printTallies,
  progress,
  refuseUnbooked,
  sayServed,
  telling,
  timeIn,
  withStore,
} from './store-work.ts'

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
      if (from.redis === null) {
        await refuseUnbooked(from.dataDir, 'start its server, and stop it by SIGTERM')
      }
      if (to.redis === null)
        await refuseUnbooked(to.dataDir, 'move it away, or name another folder')
      const nowMs = timeIn(from)
      const tallies = await withStore(from, nowMs, (source) =>
        withStore(to, nowMs, (target) =>
          filling(to, () => copyStore(source, target, { onProgress: progress('copied'), nowMs })),
        ),
      )
      await printTallies(tallies)
      await printText(`${nameOfPlace(to)} holds the same as ${nameOfPlace(from)}`)
      return 0
    })
  })
}
