import type { Command } from 'commander'
import { accountOfCard, readAccount, showTransaction } from '../../backoffice/show.ts'
import { formatMinor } from '../../domain/record/money.ts'
import { reasonOption } from '../argument.ts'
import { inSession, type Session } from '../session.ts'
import { type ExitCode, printText, sayRefused } from '../terminal.ts'
import { accountLine } from './account-line.ts'

const help = `
The hold is released as if it had expired: a settlement that still comes is posted.

Example:
  $ arbiter hold release card-1 txn-1 --reason "merchant confirmed the cancellation"`

export function addHold(program: Command): void {
  const hold = program.command('hold').description('Release a hold.').addHelpText('after', help)
  hold
    .command('release')
    .description('Release what a transaction still holds.')
    .argument('<card>', 'the card')
    .argument('<transaction>', 'the transaction')
    .addOption(reasonOption())
    .addHelpText('after', help)
    .action((card: string, transaction: string, { reason }: { reason: string }) =>
      inSession((session) => releaseHold(card, transaction, reason, session)),
    )
}

async function releaseHold(
  cardId: string,
  transactionId: string,
  reason: string,
  session: Session,
): Promise<ExitCode> {
  const { store } = session
  const account = await accountOfCard(store, cardId)
  if (account === null) return sayRefused(`there is no card ${cardId}`)
  const shown = await showTransaction(store, cardId, transactionId)
  if (shown === null) return sayRefused(`card ${cardId} has no transaction ${transactionId}`)
  // The transaction may be kept under another name, on the card that this one replaced.
  const kept = { cardId: String(shown.cardId), transactionId: String(shown.transactionId) }
  const engine = await session.engine()
  const operation = { type: 'releaseHold', ...kept } as const
  const { refused } = await engine.operate(account.accountId, operation, reason)
  if (refused !== '') return sayRefused(refused)
  const released = formatMinor(Number(shown.openHoldMinor), account.currency)
  await printText(`released ${released} ${account.currency} of transaction ${transactionId}`)
  await printText(accountLine((await readAccount(store, account.accountId)) ?? account))
  return 0
}
