import { type Command, InvalidArgumentError } from 'commander'
import { accountIdOf } from '../../backoffice/show.ts'
import { dayMs } from '../../clock.ts'
import { type BlockKind, blockKinds, maxBlockDays, maxBlocks } from '../../domain/record/block.ts'
import { changeBlocks } from '../../engine/notice/block-list.ts'
import { readDuration, reasonOption } from '../argument.ts'
import { timeText } from '../log/entry-line.ts'
import { inSession, type Session } from '../session.ts'
import { complain, type ExitCode, printText, sayRefused } from '../terminal.ts'
import { codeText, kindArgument, readValue } from './block-argument.ts'

const codesHelp = blockKinds.map((kind) => `  ${kind} ${codeText(kind)}`).join(',\n')

const help = `
It counts within a second on every server of the store, without a deployment, ends by itself, and is
in the log. Asks are declined before the rules of the pack:
${codesHelp}.
Advices are never declined. Blocked again, it ends at the new time. At most ${maxBlocks} at a time.

Examples:
  $ arbiter block mcc 7995 --for 2h --reason "attack on betting, case 4711"
  $ arbiter block mid MID-1 --for 30m --reason "card testing"
  $ arbiter block country NG --for 1d --reason "asked by the scheme"
  $ arbiter block card card-1 --for 2h --reason "holder cannot be reached"`

interface BlockOptions {
  readonly for: number
  readonly reason: string
}

export function addBlock(program: Command): void {
  program
    .command('block')
    .summary('decline asks of an MCC, a merchant, a country or a card at once')
    .description('Decline the asks of an MCC, a merchant, a country or a card for some time.')
    .addArgument(kindArgument())
    .argument('<value>', 'an MCC, a MID, an ISO 3166 alpha-2 country or a card')
    .requiredOption('--for <duration>', `such as 30m, 2h or 1d, at most ${maxBlockDays}d`, readFor)
    .addOption(reasonOption())
    .addHelpText('after', help)
    .action((of: BlockKind, value: string, options: BlockOptions) =>
      inSession((session) => block(of, value, options, session)),
    )
}

function readFor(text: string): number {
  const ms = readDuration(text)
  if (ms > 0 && ms <= maxBlockDays * dayMs) return ms
  throw new InvalidArgumentError(`It must be from 1s to ${maxBlockDays}d.`)
}

async function block(
  kind: BlockKind,
  text: string,
  { for: forMs, reason }: BlockOptions,
  session: Session,
): Promise<ExitCode> {
  const { store, clock } = session
  const value = readValue(kind, text)
  if (value === null) return 2
  // The card may be imported later, so a warning is enough.
  if (kind === 'card' && (await accountIdOf(store, value)) === null) {
    complain(`warning: there is no card ${value} yet`)
  }
  const nowMs = clock.nowMs()
  const operation = { type: 'block', kind, value, untilMs: nowMs + forMs } as const
  const refused = await changeBlocks(session, operation, reason, nowMs)
  if (refused !== '') return sayRefused(refused)
  const until = timeText(operation.untilMs)
  await printText(`${kind} ${value} is blocked until ${until}: asks are declined ${codeText(kind)}`)
  return 0
}
