import type { Command } from 'commander'
import type { Engine } from '../../engine/engine.ts'
import { findObstacles, writeRows } from '../../engine/import.ts'
import { createImportPlan, type ImportPlan } from '../../engine/import-plan.ts'
import { readOrganizations } from '../../management/organization.ts'
import type { Store } from '../../store/port.ts'
import { type ReadRow, readCardRow } from '../../wire/card-row.ts'
import { Interrupted } from '../interrupt.ts'
import { batchesOf, createProblemList, inRowFile, type WrittenRows } from '../row-file.ts'
import type { Session } from '../session.ts'
import { complain, type ExitCode, printText, showProgress } from '../terminal.ts'
import type { TwiceRead } from '../twice-read.ts'

const help = `
Each line is a card as JSON: cardId, customerId, type (retail, corporate, lite) and currency, and
optionally accountId, balance, status, expiry, cardLimits, the lists, swipeCount and more: "arbiter
export" shows them all. Cards that share an accountId share its balance, which any of them gives.
The whole file is checked first: when a row is refused, nothing is imported, and the corrected file
can be. Cards that are there already stay as they are, so an import that was cut off can be repeated.

Examples:
  $ arbiter import cards.ndjson
  $ echo '{"cardId":"card-9","customerId":"customer-9","type":"retail","currency":"USD",
    "balance":"100.00"}' | tr -d '\\n' | arbiter import -`

export function addImport(program: Command): void {
  program
    .command('import')
    .summary('import cards and balances')
    .description('Import cards with their balances, limits and lists from a file, one JSON a line.')
    .argument('<file>', 'the file, or - for standard input')
    .addHelpText('after', help)
    .action((file: string) => inRowFile(file, importTwiceRead, { creates: true }))
}

/** Every row is checked before the first is written; between the two passes only accounts are remembered. */
async function importTwiceRead(
  input: TwiceRead,
  session: Session,
  signal: AbortSignal,
  written: WrittenRows,
): Promise<ExitCode> {
  const engine = await session.engine()
  const plan = createImportPlan()
  const problems = createProblemList()
  const named: CurrenciesByOrganization = new Map()
  for await (const rows of batchesOf(input.first(), plan.add, problems)) {
    if (signal.aborted) throw new Interrupted()
    const read = rows.map(({ row }) => row)
    for (const one of read) noteCurrency(named, one)
    const obstacles = await findObstacles(read, session.store)
    obstacles.forEach((obstacle, i) => {
      if (obstacle !== '') problems.add(rows[i]!.line, [obstacle])
    })
    showProgress(`checked ${rows.at(-1)?.line ?? 0} lines`)
  }
  showProgress('')
  if (problems.rows === 0) {
    await warnOfUnknown(named, session.store)
    return writeAll(input.second(), plan, engine, signal, written)
  }
  problems.end()
  complain('nothing was imported: correct these rows, then import the whole file again')
  await printText(summaryOf(0, 0, problems.rows))
  return 1
}

type CurrenciesByOrganization = Map<string, Set<string>>

function noteCurrency(
  named: CurrenciesByOrganization,
  { account }: Pick<ReadRow, 'account'>,
): void {
  const { organizationId, currency } = account
  named.set(organizationId, (named.get(organizationId) ?? new Set()).add(currency))
}

const maxNamed = 10

/** What is missing may be made later, as when all of a store is moved; a name that is mistyped would never be. */
async function warnOfUnknown(named: CurrenciesByOrganization, store: Store): Promise<void> {
  const { organizations, unreadable } = await readOrganizations(store)
  const readable = organizations.map(({ organizationId }) => organizationId)
  const known = new Set(['', ...readable, ...unreadable])
  const unknown = [...named.keys()].filter((id) => !known.has(id))
  warnOf(
    'no organization',
    unknown,
    'until it is made (arbiter organization add) no client can see its cards',
  )
  const lacking = organizations.flatMap(({ organizationId, currencies }) =>
    [...(named.get(organizationId) ?? [])]
      .filter((currency) => !currencies.includes(currency))
      .map((currency) => `${currency} of ${organizationId}`),
  )
  warnOf(
    'no wallet in',
    lacking,
    'until the organization has that currency (arbiter organization set) none of its cards in it can be topped up',
  )
}

function warnOf(what: string, missing: readonly string[], until: string): void {
  if (missing.length === 0) return
  const shown = missing.slice(0, maxNamed).join(', ')
  const more = missing.length > maxNamed ? ` and ${missing.length - maxNamed} more` : ''
  complain(`warning: ${what} ${shown}${more}: ${until}`)
}

function summaryOf(imported: number, present: number, refused: number): string {
  return `imported ${imported}, already there ${present}, refused ${refused}`
}

async function writeAll(
  bytes: AsyncIterable<Buffer>,
  plan: ImportPlan,
  engine: Engine,
  signal: AbortSignal,
  written: WrittenRows,
): Promise<ExitCode> {
  const problems = createProblemList()
  const summary = () => summaryOf(written.imported, written.present, problems.rows)
  written.isOpen = true
  for await (const rows of batchesOf(bytes, readCardRow, problems)) {
    if (signal.aborted) {
      written.isOpen = false
      showProgress('')
      complain('stopped: import the file again for the rest')
      await printText(summary())
      return 130
    }
    const complete = rows.map(({ row }) => plan.complete(row))
    const result = await writeRows(complete, engine)
    written.imported += result.imported
    written.present += result.present
    // Another command may have made a card since the rows were checked.
    for (const { row, message } of result.problems) problems.add(rows[row]!.line, [message])
    showProgress(summary())
  }
  written.isOpen = false
  showProgress('')
  problems.end()
  await printText(summary())
  return problems.rows > 0 ? 1 : 0
}
