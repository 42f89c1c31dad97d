import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { accountOfCard, readAccount, showTransaction } from '../../backoffice/show.ts'
import { formatMinor } from '../../domain/record/money.ts'
import { minorOf, readId, readSignedAmount, reasonOption } from '../argument.ts'
import { inSession, type Session } from '../session.ts'
import { type ExitCode, printText, refuse } from '../terminal.ts'
import { accountLine } from './account-line.ts'

interface AdjustOptions {
  readonly reason: string
  readonly reference?: string
}

const adjustHelp = `
With --reference it is done once, however often it is repeated; a script should give one.

Examples:
  $ arbiter adjust account-1 25.00 --reason "goodwill, case 4711"
  $ arbiter adjust account-1 -3.50 --reason "fee" --reference fee-2026-11-account-1`

const holdHelp = `
The hold is released as if it had expired: a settlement that still comes is posted.

Example:
  $ arbiter hold release card-1 txn-1 --reason "merchant confirmed the cancellation"`

export function addCorrections(program: Command): void {
  const hold = program.command('hold').description('Release a hold.').addHelpText('after', holdHelp)
  hold
    .command('release')
    .description('Release what a transaction still holds.')
    .argument('<card>', 'the card')
    .argument('<transaction>', 'the transaction')
    .addOption(reasonOption())
    .addHelpText('after', holdHelp)
    .action((card: string, transaction: string, { reason }: { reason: string }) =>
      inSession((session) => releaseHold(card, transaction, reason, session)),
    )
  program
    .command('adjust')
    .summary('add to or take from what an account has')
    .description("Add an amount to an account, or take it away, in its currency's major units.")
    .argument('<account>', 'the account')
    .argument('<amount>', 'such as 12.50 or -12.50', readSignedAmount)
    .addOption(reasonOption())
    .option('--reference <id>', 'what it is known by, so that it is done once', readId)
    .addHelpText('after', adjustHelp)
    .action((account: string, amount: string, options: AdjustOptions) =>
      inSession((session) => adjust(account, amount, options, session)),
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
  if (account === null) return refuse(`there is no card ${cardId}`)
  const shown = await showTransaction(store, cardId, transactionId)
  if (shown === null) return refuse(`card ${cardId} has no transaction ${transactionId}`)
  // It may be kept under another name, on the card that this one replaced.
  const kept = { cardId: String(shown.cardId), transactionId: String(shown.transactionId) }
  const engine = await session.engine()
  const operation = { type: 'releaseHold', ...kept } as const
  const { refused } = await engine.operate(account.accountId, operation, reason)
  if (refused !== '') return refuse(refused)
  const released = formatMinor(Number(shown.openHoldMinor), account.currency)
  await printText(`released ${released} ${account.currency} of transaction ${transactionId}`)
  await printText(accountLine((await readAccount(store, account.accountId)) ?? account))
  return 0
}

async function adjust(
  accountId: string,
  amount: string,
  { reason, reference = randomUUID() }: AdjustOptions,
  session: Session,
): Promise<ExitCode> {
  const account = await readAccount(session.store, accountId)
  if (account === null) return refuse(`there is no account ${accountId}`)
  const amountMinor = minorOf(amount, account.currency)
  if (typeof amountMinor !== 'number') return refuse(amountMinor.refused)
  if (amountMinor === 0) return refuse('the amount is zero: there is nothing to do')
  const operation = { type: 'adjust', amountMinor, reference } as const
  const engine = await session.engine()
  const outcome = await engine.operate(accountId, operation, reason)
  if (outcome.refused !== '') return refuse(outcome.refused)
  if (!outcome.changed) await printText(`${reference} was done already`)
  await printText(accountLine((await readAccount(session.store, accountId)) ?? account))
  return 0
}
