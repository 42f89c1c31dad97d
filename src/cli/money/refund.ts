import type { Command } from 'commander'
import { reasonOption } from '../argument.ts'
import { inSession } from '../session.ts'
import { actOnTransaction, type TransactionAct } from './transaction-act.ts'

const help = `
What no settlement covers of a refund is posted, and withheld from what may be spent: its purchase is not
known, or no longer. It counts to what uncoveredRefundPerDay of the pack allows on that day.

Example:
  $ arbiter refund grant card-1 txn-9 --reason "purchase of August, receipt seen"`

const grant: TransactionAct = {
  type: 'grantRefund',
  word: 'granted',
  // It may stand at the purchase.
  amountMinor: (_, before, after) => before.withheldMinor - after.withheldMinor,
}

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
      inSession((session) => actOnTransaction(grant, card, transaction, reason, session)),
    )
}
