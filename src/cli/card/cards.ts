import { type Command, Option } from 'commander'
import { accountIdOf } from '../../backoffice/show.ts'
import { cardStatuses, cardTypes } from '../../domain/record/card.ts'
import { listedCard, readCards, shownCard } from '../../management/card.ts'
import { type CardFilters, cardListing } from '../../projection/card-listing.ts'
import { readId } from '../argument.ts'
import { addListOptions, askedSpan, type ListOptions, printList } from '../list.ts'
import { inSession, type Session } from '../session.ts'
import { type ExitCode, printJson, sayRefused, sayUnreadable } from '../terminal.ts'

const help = `
As the management API shows them, one JSON a line, the newest first; amounts in major units.

Examples:
  $ arbiter cards list --organization org-1 --status Frozen
  $ arbiter cards show card-1`

interface CardOptions extends ListOptions, CardFilters {
  readonly customer?: string
}

export function addCards(program: Command): void {
  const cards = program
    .command('cards')
    .description('List the cards of an organization, and show one.')
    .addHelpText('after', help)
  const list = cards.command('list').description('List cards, the newest first.')
  addListOptions(list)
    .addOption(new Option('--status <status>', 'only these').choices(cardStatuses))
    .addOption(new Option('--type <type>', 'only these').choices(cardTypes))
    .option('--customer <id>', 'only those of this customer', readId)
    .option('--currency <code>', 'only those in this currency')
    .option('--negative', 'only those whose account is below zero')
    .option('--no-negative', 'only those whose account is not')
    .addHelpText('after', help)
    .action((options: CardOptions) =>
      inSession(async ({ store }) => {
        const { organization, customer, since: _from, until: _to, ...filters } = options
        const asked = { ...filters, ...(customer !== undefined && { customerId: customer }) }
        const span = askedSpan(options)
        const unreadable = new Set<string>()
        const note = (cardId: string) => unreadable.add(cardId)
        const listing = await cardListing(store, organization, asked, span, note)
        const code = await printList(store, options, listing, listedCard)
        return sayUnreadable('card', unreadable) || code
      }),
    )
  cards
    .command('show')
    .description('Show a card with its balances and MID lists.')
    .argument('<card>', 'its id', readId)
    .addHelpText('after', help)
    .action((cardId: string) => inSession((session) => show(cardId, session)))
}

async function show(cardId: string, { store }: Session): Promise<ExitCode> {
  const accountId = await accountIdOf(store, cardId)
  const [found = null] = accountId === null ? [] : await readCards(store, [{ cardId, accountId }])
  if (found === null) return sayRefused(`there is no card ${cardId}`)
  const { organizationId } = found.account
  await printJson({ organizationId: organizationId || null, ...shownCard(found) }, 2)
  return 0
}
