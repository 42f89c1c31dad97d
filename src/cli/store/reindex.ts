import type { Command } from 'commander'
import {
  cardPlaces,
  indexCards,
  indexCustomers,
  indexRows,
  restartProjection,
} from '../../projection/reindex.ts'
import { inSession, type Session } from '../session.ts'
import { type ExitCode, printText, sayUnreadable, showProgress } from '../terminal.ts'

const help = `
Lists are kept by what they list. Cards, customers and transactions of an earlier release are not in those that came
after it, and what was booked on cards before their organization adopted them is in none of its lists: this puts all
into place. It may run beside servers, and be repeated. The transactions list is made anew from the decision log as far as that goes back
(LOG_RETENTION_DAYS); rows that are there already stay.

Example:
  $ arbiter reindex`

export function addReindex(program: Command): void {
  program
    .command('reindex')
    .summary('put all into the lists that it belongs to')
    .description(
      'Put cards, customers and transactions into all their lists, and follow the log from its beginning.',
    )
    .addHelpText('after', help)
    .action(() => inSession(reindex))
}

async function reindex({ store, engine, aggregates }: Session): Promise<ExitCode> {
  const writer = await engine()
  const accountsLeft = new Set<string>()
  const customersLeft = new Set<string>()
  let cards = 0
  for await (const places of cardPlaces(store)) {
    cards += await indexCards(writer, places, (id) => accountsLeft.add(id))
    showProgress(`${cards} cards`)
  }
  const customers = await counted(
    indexCustomers(store, aggregates, (id) => customersLeft.add(id)),
    'customers',
  )
  const rows = await counted(indexRows(store, aggregates), 'transactions')
  showProgress('')
  await restartProjection(aggregates)
  await printText(
    `${cards} cards, ${customers} customers and ${rows} transactions are in the lists; the transactions list follows the log from its beginning, ` +
      'in a server with API_PORT',
  )
  const codes = [sayUnreadable('account', accountsLeft), sayUnreadable('customer', customersLeft)]
  return codes.includes(1) ? 1 : 0
}

async function counted(pages: AsyncGenerator<number>, name: string): Promise<number> {
  let count = 0
  for await (const length of pages) {
    count += length
    showProgress(`${count} ${name}`)
  }
  return count
}
