import type { Command } from 'commander'
import { bookWork } from '../../backoffice/booking.ts'
import { readAccount } from '../../backoffice/show.ts'
import { findWork, isReadableWork, type Work } from '../../backoffice/worklist.ts'
import { readAmount, readId, reasonOption } from '../argument.ts'
import { amountText } from '../log/entry-line.ts'
import { inSession, type Session } from '../session.ts'
import { type ExitCode, printText, sayRefused } from '../terminal.ts'
import { accountLine } from './account-line.ts'
import { addWorklist, notListed, sayDamaged } from './worklist.ts'

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
        if (work === null) return sayRefused(notListed('unmatched', key))
        return isReadableWork(work) ? book(work, options, session) : sayDamaged(key)
      }),
    )
}

async function book(work: Work, options: BookOptions, session: Session): Promise<ExitCode> {
  const { store } = session
  const doing = { reason: options.reason, origin: '' }
  const booked = await bookWork(work, options, doing, session)
  if ('refused' in booked) return sayRefused(booked.refused)
  const { event, account } = booked
  await printText(`booked ${event.requestType} ${amountText(event)} on card ${event.cardId}`)
  await printText(accountLine((await readAccount(store, account.accountId)) ?? account))
  return 0
}
