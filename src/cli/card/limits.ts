import type { Command } from 'commander'
import { accountOfCard } from '../../backoffice/show.ts'
import type { CardSettings } from '../../domain/operation/operation.ts'
import { type AmountRefused, minorOf } from '../../wire/amount.ts'
import { readLimit, reasonOption } from '../argument.ts'
import { inSession, type Session } from '../session.ts'
import { complain, type ExitCode, sayRefused } from '../terminal.ts'
import { changeCard, type Reasoned } from './card-change.ts'

interface LimitOptions extends Reasoned {
  readonly daily?: string
  readonly transaction?: string
}

const help = `
Example:
  $ arbiter limits card-1 --daily 400.00 --transaction none --reason "asked by the holder"`

export function addLimits(program: Command): void {
  program
    .command('limits')
    .summary('set the limits of a card')
    .description('Set the limits of a card, in major units of its currency; none removes one.')
    .argument('<card>', 'the card')
    .option('--daily <amount>', 'for all transactions of a day, or none', readLimit)
    .option('--transaction <amount>', 'for each transaction, or none', readLimit)
    .addOption(reasonOption())
    .addHelpText('after', help)
    .action(async (card: string, options: LimitOptions) => {
      if (options.daily === undefined && options.transaction === undefined) {
        complain('give --daily or --transaction: see arbiter limits --help')
        process.exitCode = 2
        return
      }
      await inSession((session) => setLimits(card, options, session))
    })
}

async function setLimits(
  cardId: string,
  { daily, transaction, reason }: LimitOptions,
  session: Session,
): Promise<ExitCode> {
  const account = await accountOfCard(session.store, cardId)
  if (account === null) return sayRefused(`there is no card ${cardId}`)
  const limitOf = (text: string) => (text === 'none' ? null : minorOf(text, account.currency))
  const dailyLimitMinor = daily === undefined ? undefined : limitOf(daily)
  const transactionLimitMinor = transaction === undefined ? undefined : limitOf(transaction)
  if (isRefused(dailyLimitMinor)) return sayRefused(dailyLimitMinor.refused)
  if (isRefused(transactionLimitMinor)) return sayRefused(transactionLimitMinor.refused)
  const set: CardSettings = {
    ...(dailyLimitMinor === undefined ? {} : { dailyLimitMinor }),
    ...(transactionLimitMinor === undefined ? {} : { transactionLimitMinor }),
  }
  const said = Object.entries({ daily, transaction }).filter(([, text]) => text !== undefined)
  const done = `card ${cardId} has limits ${said.map((pair) => pair.join(' ')).join(', ')}`
  return changeCard(cardId, { type: 'changeCard', cardId, set }, reason, session, done)
}

function isRefused(minor: number | AmountRefused | null | undefined): minor is AmountRefused {
  return typeof minor === 'object' && minor !== null
}
