import { type Command, Option } from 'commander'
import { customerTypes } from '../../domain/record/card.ts'
import {
  addCustomer,
  type CustomerFields,
  customerFields,
  readCustomer,
  setCustomerSuspended,
  shownCustomer,
  sumOfCards,
} from '../../management/customer.ts'
import {
  readOrganization,
  readOrganizationIds,
  wasTurnedDown,
} from '../../management/organization.ts'
import {
  type CustomerFilters,
  customerListing,
  type ListedCustomer,
} from '../../projection/customer-listing.ts'
import { allTime, maxLookedAt, type Page, readPage } from '../../projection/listing.ts'
import type { Store } from '../../store/port.ts'
import type { RowProblem } from '../../wire/card-row.ts'
import { Interrupted } from '../interrupt.ts'
import { addListOptions, askedSpan, type ListOptions, printList } from '../list.ts'
import { batchesOf, createProblemList, inRowFile, type WrittenRows } from '../row-file.ts'
import { inSession, type Session } from '../session.ts'
import {
  complain,
  type ExitCode,
  print,
  printJson,
  printText,
  sayRefused,
  sayUnreadable,
} from '../terminal.ts'
import type { TwiceRead } from '../twice-read.ts'

const help = `
A customer holds cards. Those who were verified elsewhere are imported, one JSON a line: customerId,
organizationId, type (individual, business) and name, and optionally clientReference, email, phoneNumber,
address, idType, idLast4 and kycToken. When a row is refused, nothing is imported; customers that are there
already stay as they are.

Examples:
  $ echo '{"customerId":"customer-1","organizationId":"org-1","type":"individual","name":"Ada Obi"}' |
      arbiter customers import -
  $ arbiter customers suspend customer-1`

const exportHelp = `
What is told of a customer is written as it is, also where other commands would mask it because it looks like a
card number.

Example:
  $ arbiter customers export > customers.ndjson`

export function addCustomers(program: Command): void {
  const customers = program
    .command('customers')
    .description('Import, list and show customers, and suspend them.')
    .addHelpText('after', help)
  customers
    .command('import')
    .description('Import customers that were verified elsewhere.')
    .argument('<file>', 'the file, or - for standard input')
    .addHelpText('after', help)
    .action((file: string) => inRowFile(file, importCustomers))
  customers
    .command('export')
    .description('Write all customers to standard output, as rows for import.')
    .addHelpText('after', exportHelp)
    .action(() => inSession(({ store }) => exportCustomers(store)))
  onOne(customers, 'show', 'Show one, with the number of its cards.', async (id, { store }) => {
    const found = await readCustomer(store, id)
    if (found === null) return sayRefused(`there is no customer ${id}`)
    const { organizationId } = found
    const shown = shownCustomer(found, await sumOfCards(store, found))
    await printJson({ organizationId, ...shown }, 2)
    return 0
  })
  addListOptions(customers.command('list').description('List customers, the newest first.'))
    .addOption(new Option('--type <type>', 'only these').choices(customerTypes))
    .option('--client-reference <text>', 'only those that the business calls so')
    .option('--name <text>', 'only those whose name begins so, in any case')
    .option('--negative', 'only those with an account below zero')
    .option('--no-negative', 'only those without')
    .addHelpText('after', '\nExample:\n  $ arbiter customers list --organization org-1 --name ada')
    .action((options: ListOptions & CustomerFilters) =>
      inSession(async ({ store }) => {
        const { organization, since: _from, until: _to, ...filters } = options
        const span = askedSpan(options)
        const unreadable = new Set<string>()
        const note = (customerId: string) => unreadable.add(customerId)
        const listing = await customerListing(store, organization, filters, span, note)
        const code = await printList(store, options, listing, ({ customer, sum }) =>
          shownCustomer(customer, sum),
        )
        return sayUnreadable('customer', unreadable) || code
      }),
    )
  onOne(customers, 'suspend', 'Give it no new card.', (id, session) => suspend(id, true, session))
  onOne(customers, 'restore', 'Let it get new cards again.', (id, session) =>
    suspend(id, false, session),
  )
}

function onOne(
  customers: Command,
  name: string,
  says: string,
  act: (id: string, session: Session) => Promise<ExitCode>,
): void {
  customers
    .command(name)
    .description(says)
    .argument('<customer>', 'its id')
    .addHelpText('after', `\nExample:\n  $ arbiter customers ${name} customer-1`)
    .action((id: string) => inSession((session) => act(id, session)))
}

/** Who is suspended, and since when they are customers, is not in the rows. */
async function exportCustomers(store: Store): Promise<ExitCode> {
  const unreadable = new Set<string>()
  const note = (customerId: string) => unreadable.add(customerId)
  for (const organizationId of await readOrganizationIds(store)) {
    const listing = await customerListing(store, organizationId, {}, allTime, note)
    for (let place: string | null = ''; place !== null; ) {
      const page: Page<ListedCustomer> = await readPage(store, listing, place, maxLookedAt)
      for (const { customer } of page.items) {
        const { format: _, suspended: _suspended, createdAtMs: _createdAtMs, ...row } = customer
        // As it is: what masks card numbers would change a phone number or an id of many digits.
        await print(JSON.stringify(row))
      }
      place = page.next
    }
  }
  return sayUnreadable('customer', unreadable)
}

async function suspend(id: string, suspended: boolean, session: Session): Promise<ExitCode> {
  const refused = await setCustomerSuspended(session.aggregates, id, suspended)
  if (refused !== '') return sayRefused(refused)
  await printText(`customer ${id} is ${suspended ? 'suspended' : 'restored'}`)
  return 0
}

function readRow(json: unknown): CustomerFields | RowProblem[] {
  const found = customerFields.safeParse(json)
  if (found.success) return found.data
  return found.error.issues.map(({ path, message }) => ({ field: path.join('.'), message }))
}

/** Every row is checked before the first is written. */
async function importCustomers(
  input: TwiceRead,
  session: Session,
  signal: AbortSignal,
  written: WrittenRows,
): Promise<ExitCode> {
  const problems = createProblemList()
  const organizations = new Map<string, boolean>()
  for await (const rows of batchesOf(input.first(), readRow, problems)) {
    if (signal.aborted) throw new Interrupted()
    for (const { line, row } of rows) {
      const { organizationId: id } = row
      const known = organizations.get(id) ?? (await readOrganization(session.store, id)) !== null
      organizations.set(id, known)
      if (!known) problems.add(line, [`there is no organization ${id}`])
    }
  }
  if (problems.rows === 0) return writeCustomers(input, session, signal, written)
  problems.end()
  complain('nothing was imported: correct these rows, then import the whole file again')
  return 1
}

async function writeCustomers(
  input: TwiceRead,
  { aggregates, clock }: Session,
  signal: AbortSignal,
  written: WrittenRows,
): Promise<ExitCode> {
  const problems = createProblemList()
  const summary = () => {
    const { imported, present } = written
    return `imported ${imported}, already there ${present}, refused ${problems.rows}`
  }
  written.isOpen = true
  for await (const rows of batchesOf(input.second(), readRow, problems)) {
    if (signal.aborted) {
      written.isOpen = false
      complain('stopped: import the file again for the rest')
      await printText(summary())
      return 130
    }
    const outcomes = rows.map(({ row }) => addCustomer(aggregates, row, clock.nowMs()))
    for (const [i, outcome] of (await Promise.all(outcomes)).entries()) {
      if (wasTurnedDown(outcome)) problems.add(rows[i]!.line, [outcome.refused])
      else if (outcome.value.added) written.imported++
      else written.present++
    }
  }
  written.isOpen = false
  problems.end()
  await printText(summary())
  return problems.rows > 0 ? 1 : 0
}
