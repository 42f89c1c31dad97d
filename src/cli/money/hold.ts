import type { Command } from 'commander'
import { reasonOption } from '../argument.ts'
import { inSession } from '../session.ts'
import { actOnTransaction, type TransactionAct } from './transaction-act.ts'

const help = `
The hold is released as if it had expired: a settlement that still comes is posted.

Example:
  $ arbiter hold release card-1 txn-1 --reason "merchant confirmed the cancellation"`

const release: TransactionAct = {
  type: 'releaseHold',
  word: 'released',
  amountMinor: ({ openHoldMinor }) => Number(openHoldMinor),
}

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
      inSession((session) => actOnTransaction(release, card, transaction, reason, session)),
    )
}
