import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { readAccount } from '../../backoffice/show.ts'
import { minorOf } from '../../wire/amount.ts'
import { readId, readSignedAmount, reasonOption } from '../argument.ts'
import { inSession, type Session } from '../session.ts'
import { type ExitCode, printText, sayRefused } from '../terminal.ts'
import { accountLine } from './account-line.ts'

interface AdjustOptions {
  readonly reason: string
  readonly reference?: string
}

const help = `
With --reference it is done once within EVENT_RETENTION_DAYS (45), however often it is repeated; a script
should give one. Later the reference is forgotten, and the same again is done again.

Examples:
  $ arbiter adjust account-1 25.00 --reason "goodwill, case 4711"
  $ arbiter adjust account-1 -3.50 --reason "fee" --reference fee-2026-11-account-1`

export function addAdjust(program: Command): void {
  program
    .command('adjust')
    .summary('add to or take from what an account has')
    .description("Add an amount to an account, or take it away, in its currency's major units.")
    .argument('<account>', 'the account')
    .argument('<amount>', 'such as 12.50 or -12.50', readSignedAmount)
    .addOption(reasonOption())
    .option('--reference <id>', 'what it is known by, so that it is done once', readId)
    .addHelpText('after', help)
    .action((account: string, amount: string, options: AdjustOptions) =>
      inSession((session) => adjust(account, amount, options, session)),
    )
}

async function adjust(
  accountId: string,
  amount: string,
  { reason, reference = randomUUID() }: AdjustOptions,
  session: Session,
): Promise<ExitCode> {
  const account = await readAccount(session.store, accountId)
  if (account === null) return sayRefused(`there is no account ${accountId}`)
  const amountMinor = minorOf(amount, account.currency)
  if (typeof amountMinor !== 'number') return sayRefused(amountMinor.refused)
  if (amountMinor === 0) return sayRefused('the amount is zero: there is nothing to do')
  const operation = { type: 'adjust', amountMinor, reference } as const
  const engine = await session.engine()
  const outcome = await engine.operate(accountId, operation, reason)
  if (outcome.refused !== '') return sayRefused(outcome.refused)
  if (!outcome.changed) await printText(`${reference} was done already`)
  await printText(accountLine((await readAccount(session.store, accountId)) ?? account))
  return 0
}
