import type { Command } from 'commander'
import { accountIdOf } from '../../backoffice/show.ts'
import type { Operation } from '../../domain/operation/operation.ts'
import { reasonOption } from '../argument.ts'
import { inSession, type Session } from '../session.ts'
import { type ExitCode, printText, sayRefused } from '../terminal.ts'

export interface Reasoned {
  readonly reason: string
}

/** Operates on the account of a card, and says how things are then. */
export async function changeCard(
  cardId: string,
  operation: Operation,
  reason: string,
  session: Session,
  done: string,
): Promise<ExitCode> {
  const accountId = await accountIdOf(session.store, cardId)
  if (accountId === null) return sayRefused(`there is no card ${cardId}`)
  const engine = await session.engine()
  const { refused, changed } = await engine.operate(accountId, operation, reason)
  if (refused !== '') return sayRefused(refused)
  await printText(changed ? done : `${done} already`)
  return 0
}

/** Freeze, unfreeze and terminate differ by the operation alone. */
export function addStatusCommand(
  program: Command,
  name: string,
  says: string,
  status: string,
  operationOn: (cardId: string) => Operation,
): void {
  program
    .command(name)
    .description(says)
    .argument('<card>', 'the card')
    .addOption(reasonOption())
    .addHelpText('after', `\nExample:\n  $ arbiter ${name} card-1 --reason "customer called"`)
    .action((card: string, { reason }: Reasoned) =>
      inSession((session) =>
        changeCard(card, operationOn(card), reason, session, `card ${card} is ${status}`),
      ),
    )
}
