import type { Command } from 'commander'
import { cardPlaces, indexCards, restartProjection } from '../../projection/reindex.ts'
import { inSession, type Session } from '../session.ts'
import { type ExitCode, printText, showProgress } from '../terminal.ts'

const help = `
Lists are kept by what they list. Cards that an earlier release imported are in none, and what was booked on cards
before their organization adopted them is in none of its lists: this puts both into place. It may run beside
servers, and be repeated. The transactions list is made anew from the decision log as far as that goes back
(LOG_RETENTION_DAYS); rows that are there already stay.

Example:
  $ arbiter reindex`

export function addReindex(program: Command): void {
  program
    .command('reindex')
    .summary('put cards and transactions of before into the lists')
    .description(
      'Put cards of earlier releases into the lists, and make the transactions list anew.',
    )
    .addHelpText('after', help)
    .action(() => inSession(reindex))
}

async function reindex({ store, engine, aggregates }: Session): Promise<ExitCode> {
  const writer = await engine()
  let cards = 0
  for await (const places of cardPlaces(store)) {
    await indexCards(writer, places)
    cards += places.length
    showProgress(`${cards} cards`)
  }
  showProgress('')
  await restartProjection(aggregates)
  await printText(
    `${cards} cards are in the lists; the transactions list follows the log from its beginning, ` +
      'in a server with API_PORT',
  )
  return 0
}
