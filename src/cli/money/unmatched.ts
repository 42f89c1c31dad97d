import type { Command } from 'commander'
import { accountOfCard, readAccount, showTransaction } from '../../backoffice/show.ts'
import { bookingKey } from '../../domain/operation/handling.ts'
import type { CardEvent } from '../../domain/record/event.ts'
import { minorOf, readAmount, readId, reasonOption } from '../argument.ts'
import { amountText } from '../log/entry-line.ts'
import { inSession, type Session } from '../session.ts'
import { type ExitCode, printText, sayRefused } from '../terminal.ts'
import { accountLine } from './account-line.ts'
import { addWorklist, findWork, markHandled, notListed, operateAt, type Work } from './worklist.ts'

interface BookOptions {
  readonly reason: string
  readonly card?: string
  readonly transaction?: string
  readonly amount?: string
}

const help = `
The advice is booked now, with all that follows from it, as it came or with what is given here. An
advice is booked once: what was cut off can be repeated, with the same card, transaction and amount.
--transaction must be there already; for a Refund it is the one that the refund belongs to.

Examples:
  $ arbiter unmatched book mhz3k9q1-4f2a17 --reason "card imported late"
  $ arbiter unmatched book mhz3k9q1-4f2a17 --card card-1 --amount 11.80 --reason "was in EUR"`

export function addUnmatched(program: Command): void {
  addWorklist(program, 'unmatched')
    .command('book')
    .description('Book an unmatched advice now, and mark it as handled.')
    .argument('<key>', 'the key in the list')
    .addOption(reasonOption())
    .option('--card <id>', 'book it on this card', readId)
    .option('--transaction <id>', 'book it on this transaction')
    .option('--amount <amount>', "book this amount, in the account's currency", readAmount)
    .addHelpText('after', help)
    .action((key: string, options: BookOptions) =>
      inSession(async (session) => {
        const work = await findWork('unmatched', key, session.store)
        return work === null
          ? sayRefused(notListed('unmatched', key))
          : book(work, options, session)
      }),
    )
}

async function book(work: Work, options: BookOptions, session: Session): Promise<ExitCode> {
  const { store } = session
  const { reason, card, transaction } = options
  const advice = work.entry.event
  if (advice === null) return sayRefused(`${work.key} has no event: mark it as done`)
  const cardId = card ?? advice.cardId
  const account = await accountOfCard(store, cardId)
  if (account === null) return sayRefused(`there is no card ${cardId}: import it, or give --card`)
  const known = transaction === undefined || (await showTransaction(store, cardId, transaction))
  if (known === null) return sayRefused(`card ${cardId} has no transaction ${transaction}`)
  const amountMinor =
    options.amount === undefined ? advice.amountMinor : minorOf(options.amount, account.currency)
  if (amountMinor !== null && typeof amountMinor !== 'number')
    return sayRefused(amountMinor.refused)

  const event: CardEvent = {
    ...advice,
    ...(transaction === undefined ? {} : namesOf(advice, transaction)),
    cardId,
    amountMinor,
    currency: options.amount === undefined ? advice.currency : account.currency,
  }
  const refused = await bookOnce(work, event, account.accountId, reason, session)
  if (refused !== '') return sayRefused(refused)
  await printText(`booked ${event.requestType} ${amountText(event)} on card ${cardId}`)
  await printText(accountLine((await readAccount(store, account.accountId)) ?? account))
  return 0
}

/** A refund keeps its own id and is linked to what it belongs to. */
function namesOf(advice: CardEvent, transaction: string): Partial<CardEvent> {
  if (advice.requestType === 'Refund') return { originalTransactionId: transaction }
  return { transactionId: transaction, originalTransactionId: '' }
}

/**
 * The booking is fixed where the advice came to, before it is booked elsewhere: so it cannot be
 * booked at two accounts, whoever tries at the same time or after a crash.
 */
async function bookOnce(
  work: Work,
  event: CardEvent,
  accountId: string,
  reason: string,
  session: Session,
): Promise<string> {
  const engine = await session.engine()
  const key = bookingKey(work.entry.accountId, work.entry.eventKey)
  const here = work.entry.accountId === accountId
  if (!here) {
    const assign = { type: 'assign', event, bookingKey: key } as const
    const { refused } = await operateAt(work, assign, reason, engine)
    if (refused !== '') return refused
  }
  const sortKey = here ? work.sortKey : ''
  const operation = { type: 'book', event, bookingKey: key, sortKey } as const
  const { refused, changed } = await engine.operate(accountId, operation, reason)
  if (refused !== '' || (here && changed)) return refused
  return (await markHandled(work, reason, engine)).refused
}
