import type { Command } from 'commander'
import { createFilter, type Filters, maxSearched, searchBack } from '../../backoffice/log-search.ts'
import {
  accountOfCard,
  type Shown,
  showAccount,
  showCard,
  showEvent,
  showTransaction,
} from '../../backoffice/show.ts'
import { showTransfer, showWallet } from '../../backoffice/show-money.ts'
import type { Entry } from '../../domain/ledger/entry.ts'
import type { Store } from '../../store/port.ts'
import { readable } from '../readable.ts'
import { inSession, type Session } from '../session.ts'
import { type ExitCode, printJson, sayRefused } from '../terminal.ts'

const help = `
Amounts are in minor units (cents) and times in milliseconds, as they are kept; beside each is what it
means: "heldMinor": 1250 is "held": "12.50 USD". A card's importRow has the words of its import row.

Examples:
  $ arbiter show account account-1
  $ arbiter show transaction txn-1 --card card-1`

const searchHelp = `
Without --card the newest ${maxSearched} entries of the log are searched for it, from the newest back.
`

export function addShow(program: Command): void {
  const show = program
    .command('show')
    .summary('show a card, account, transaction, event, wallet or transfer')
    .description('Show a record as it is kept, as JSON.')
    .addHelpText('after', help)
  show
    .command('card')
    .description('Show a card: status, limits, lists, windows.')
    .argument('<id>', 'the card')
    .addHelpText('after', '\nExample:\n  $ arbiter show card card-1')
    .action((id: string) =>
      inSession(async ({ store }) => {
        const shown = await showCard(store, id)
        return printFound(shown, `card ${id}`, await currencyOf(store, id))
      }),
    )
  show
    .command('account')
    .description('Show an account: posted, held, withheld and available money.')
    .argument('<id>', 'the account')
    .addHelpText('after', '\nExample:\n  $ arbiter show account account-1')
    .action((id: string) =>
      inSession(async ({ store }) => {
        const shown = await showAccount(store, id)
        return printFound(shown, `account ${id}`, String(shown?.currency ?? ''))
      }),
    )
  show
    .command('transaction')
    .description('Show a transaction: its sums, flags and hold.')
    .argument('<id>', 'the transaction')
    .option('--card <id>', 'the card that it is on')
    .addHelpText(
      'after',
      `${searchHelp}\nExample:\n  $ arbiter show transaction txn-1 --card card-1`,
    )
    .action((id: string, { card }: { card?: string }) =>
      inSession((session) => printTransaction(id, card, session)),
    )
  show
    .command('event')
    .description('Show an event: its answer and claims. Its content is in arbiter log --event ID.')
    .argument('<id>', 'the event')
    .option('--card <id>', 'the card that it is for')
    .addHelpText('after', `${searchHelp}\nExample:\n  $ arbiter show event evt-1 --card card-1`)
    .action((id: string, { card }: { card?: string }) =>
      inSession((session) => printEvent(id, card, session)),
    )
  addMoney(show)
}

const transferHelp = `
One that is not on its way any more is found by what the newest ${maxSearched} entries of the log and the
entries of the wallets tell of it.

Example:
  $ arbiter show transfer trf_01JCQ8A1B2C3D4E5F6G7H8J9KM`

function addMoney(show: Command): void {
  show
    .command('wallet')
    .description('Show a wallet: what it has, all that it was funded with, its newest entries.')
    .argument('<organization>', 'its id')
    .argument('<currency>', 'one of its currencies')
    .addHelpText('after', '\nExample:\n  $ arbiter show wallet org-1 USD')
    .action((id: string, currency: string) =>
      inSession(async ({ store }) => {
        const shown = await showWallet(store, id, currency)
        return printFound(shown, `wallet of ${id} in ${currency}`, currency)
      }),
    )
  show
    .command('transfer')
    .description('Show a transfer: on its way, arrived or taken back, and what it moved.')
    .argument('<id>', 'the transfer')
    .addHelpText('after', transferHelp)
    .action((id: string) =>
      inSession(async ({ store }) => {
        const shown = await showTransfer(store, id)
        const where = `on its way, in the newest ${maxSearched} entries of the log or in a wallet`
        return printFound(shown, `transfer ${id} ${where}`, String(shown?.currency ?? ''))
      }),
    )
}

async function printFound(shown: Shown, name: string, currency: string): Promise<ExitCode> {
  if (shown === null) return sayRefused(`there is no ${name}`)
  await printJson(readable(shown, currency), 2)
  return 0
}

/** The currency of a card's account; '' for a card that nobody knows. */
async function currencyOf(store: Store, cardId: string): Promise<string> {
  return (await accountOfCard(store, cardId))?.currency ?? ''
}

async function printTransaction(
  id: string,
  card: string | undefined,
  session: Session,
): Promise<ExitCode> {
  const { store } = session
  if (card !== undefined) {
    const shown = await showTransaction(store, card, id)
    const currency = await currencyOf(store, card)
    return printFound(shown, `transaction ${id} on card ${card}`, currency)
  }
  const entry = await findNewest({ transaction: id }, session)
  if (entry === null) return sayRefused(notInLog('transaction', id))
  const shown =
    (await showTransaction(store, entry.transaction[0], id)) ??
    (await showTransaction(store, entry.cardId, id))
  const currency = await currencyOf(store, entry.cardId)
  return printFound(shown, `transaction ${id} any more`, currency)
}

async function printEvent(
  id: string,
  card: string | undefined,
  session: Session,
): Promise<ExitCode> {
  const { store, clock, retentionMs } = session
  const print = async (cardId: string, name: string) => {
    const shown = await showEvent(store, cardId, id, clock.nowMs(), retentionMs)
    return printFound(shown, name, await currencyOf(store, cardId))
  }
  if (card !== undefined) return print(card, `event ${id} for card ${card}`)
  const entry = await findNewest({ event: id }, session)
  if (entry === null) return sayRefused(notInLog('event', id))
  return print(entry.event?.cardId ?? entry.cardId, `event ${id} any more`)
}

function notInLog(what: string, id: string): string {
  return `${what} ${id} is not in the newest ${maxSearched} entries of the log: give its --card`
}

async function findNewest(filters: Filters, { store }: Session): Promise<Entry | null> {
  const { found } = await searchBack(store, createFilter(filters), 1)
  return found[0]?.entry ?? null
}
