import type { Command } from 'commander'
import { accountOfCard, readAccount, showTransaction } from '../../backoffice/show.ts'
import { formatMinor } from '../../domain/record/money.ts'
import { reasonOption } from '../argument.ts'
import { inSession, type Session } from '../session.ts'
import { type ExitCode, printText, sayRefused } from '../terminal.ts'
import { accountLine } from './account-line.ts'

const help = `
What no settlement covers of a refund is posted, and withheld from what may be spent: its purchase is not
known, or no longer. It counts to what uncoveredRefundPerDay of the pack allows on that day.

Example:
  $ arbiter refund grant card-1 txn-9 --reason "purchase of August, receipt seen"`

export function addRefund(program: Command): void {
  const refund = program
    .command('refund')
    .description('Let a refund be spent that is withheld.')
    .addHelpText('after', help)
  refund
    .command('grant')
    .description('Let all that is withheld of a refund be spent.')
    .argument('<card>', 'the card')
    .argument('<transaction>', 'the refund, or what it was for')
    .addOption(reasonOption())
    .addHelpText('after', help)
    .action((card: string, transaction: string, { reason }: { reason: string }) =>
      inSession((session) => grantRefund(card, transaction, reason, session)),
    )
}

async function grantRefund(
  cardId: string,
  transactionId: string,
  reason: string,
  session: Session,
): Promise<ExitCode> {
  const { store } = session
  const before = await accountOfCard(store, cardId)
  if (before === null) return sayRefused(`there is no card ${cardId}`)
  const shown = await showTransaction(store, cardId, transactionId)
  if (shown === null) return sayRefused(`card ${cardId} has no transaction ${transactionId}`)
  // The transaction may be kept under another name, on the card that this one replaced.
  const kept = { cardId: String(shown.cardId), transactionId: String(shown.transactionId) }
  const engine = await session.engine()
  const operation = { type: 'grantRefund', ...kept } as const
  const { refused } = await engine.operate(before.accountId, operation, reason)
  if (refused !== '') return sayRefused(refused)
  const after = (await readAccount(store, before.accountId)) ?? before
  const granted = formatMinor(before.withheldMinor - after.withheldMinor, before.currency)
  await printText(`granted ${granted} ${before.currency} of transaction ${transactionId}`)
  await printText(accountLine(after))
  return 0
}
