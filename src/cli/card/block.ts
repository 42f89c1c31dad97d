import { randomUUID } from 'node:crypto'
import { Argument, type Command, InvalidArgumentError } from 'commander'
import { accountIdOf } from '../../backoffice/show.ts'
import {
  type BlockKind,
  blockCodes,
  blockKinds,
  maxBlockDays,
  maxBlocks,
} from '../../domain/record/block.ts'
import { reasonOf } from '../../domain/record/response-code.ts'
import { changeBlocks, readBlocks } from '../../engine/notice/block-list.ts'
import { readDuration, readId, readMcc, reasonOption } from '../argument.ts'
import { timeText } from '../log/entry-line.ts'
import { inSession, type Session } from '../session.ts'
import { complain, type ExitCode, printJson, printText, refuse } from '../terminal.ts'

const codesHelp = blockKinds
  .map((kind) => `  ${kind} ${blockCodes[kind]} (${reasonOf(blockCodes[kind])})`)
  .join(',\n')

const blockHelp = `
It counts within a second on every server of the store, without a deployment, ends by itself, and is
in the log. Asks are declined before the rules of the pack:
${codesHelp}.
Advices are never declined. Blocked again, it ends at the new time. At most ${maxBlocks} at a time.

Examples:
  $ arbiter block mcc 7995 --for 2h --reason "attack on betting, case 4711"
  $ arbiter block mid MID-1 --for 30m --reason "card testing"
  $ arbiter block country NG --for 1d --reason "asked by the scheme"
  $ arbiter block card card-1 --for 2h --reason "holder cannot be reached"`

const unblockHelp = `
Example:
  $ arbiter unblock mcc 7995 --reason "the attack is over"`

const blocksHelp = `
Examples:
  $ arbiter blocks
  $ arbiter blocks --json`

interface BlockOptions {
  readonly for: number
  readonly reason: string
}

export function addBlocks(program: Command): void {
  const kind = () => new Argument('<kind>', 'what is blocked').choices(blockKinds)
  program
    .command('block')
    .summary('decline asks of an MCC, a merchant, a country or a card at once')
    .description('Decline the asks of an MCC, a merchant, a country or a card for some time.')
    .addArgument(kind())
    .argument('<value>', 'an MCC, a MID, an ISO 3166 alpha-2 country or a card')
    .requiredOption('--for <duration>', `such as 30m, 2h or 1d, at most ${maxBlockDays}d`, readFor)
    .addOption(reasonOption())
    .addHelpText('after', blockHelp)
    .action((of: BlockKind, value: string, options: BlockOptions) =>
      inSession((session) => block(of, value, options, session)),
    )
  program
    .command('unblock')
    .summary('end such a block')
    .description('End a block before its time.')
    .addArgument(kind())
    .argument('<value>', 'as it was blocked')
    .addOption(reasonOption())
    .addHelpText('after', unblockHelp)
    .action((of: BlockKind, value: string, { reason }: BlockOptions) =>
      inSession((session) => unblock(of, value, reason, session)),
    )
  program
    .command('blocks')
    .description('Show what is blocked, until when, and why.')
    .option('--json', 'as one JSON')
    .addHelpText('after', blocksHelp)
    .action(({ json = false }: { json?: boolean }) =>
      inSession((session) => showBlocks(json, session)),
    )
}

const dayMs = 86_400_000

function readFor(text: string): number {
  const ms = readDuration(text)
  if (ms > 0 && ms <= maxBlockDays * dayMs) return ms
  throw new InvalidArgumentError(`It must be from 1s to ${maxBlockDays}d.`)
}

function readCountry(text: string): string {
  if (/^[A-Za-z]{2}$/.test(text)) return text.toUpperCase()
  throw new InvalidArgumentError('It must be an ISO 3166 alpha-2 country.')
}

const readers: Record<BlockKind, (text: string) => string> = {
  mcc: readMcc,
  mid: readId,
  card: readId,
  country: readCountry,
}

/** What a value may be depends on the argument before it, which commander does not tell its parser. */
function readValue(kind: BlockKind, text: string): string | null {
  try {
    return readers[kind](text)
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error
    complain(`${text} is no ${kind}: ${error.message} See arbiter block --help`)
    return null
  }
}

async function block(
  kind: BlockKind,
  text: string,
  { for: forMs, reason }: BlockOptions,
  { store, clock }: Session,
): Promise<ExitCode> {
  const value = readValue(kind, text)
  if (value === null) return 2
  // It may be about to come, so it is only said.
  if (kind === 'card' && (await accountIdOf(store, value)) === null) {
    complain(`warning: there is no card ${value} yet`)
  }
  const nowMs = clock.nowMs()
  const operation = { type: 'block', kind, value, untilMs: nowMs + forMs } as const
  const { refused } = await changeBlocks(store, operation, reason, nowMs, randomUUID)
  if (refused !== '') return refuse(refused)
  const until = timeText(operation.untilMs)
  await printText(`${kind} ${value} is blocked until ${until}: asks are declined ${codeOf(kind)}`)
  return 0
}

function codeOf(kind: BlockKind): string {
  return `${blockCodes[kind]} (${reasonOf(blockCodes[kind])})`
}

async function unblock(
  kind: BlockKind,
  text: string,
  reason: string,
  { store, clock }: Session,
): Promise<ExitCode> {
  const value = readValue(kind, text)
  if (value === null) return 2
  const operation = { type: 'unblock', kind, value } as const
  const { refused } = await changeBlocks(store, operation, reason, clock.nowMs(), randomUUID)
  if (refused !== '') return refuse(`${refused}: see arbiter blocks`)
  await printText(`${kind} ${value} is no longer blocked`)
  return 0
}

async function showBlocks(json: boolean, { store, clock }: Session): Promise<ExitCode> {
  const blocks = await readBlocks(store, clock.nowMs())
  if (json) {
    const shown = blocks.map(({ sinceMs, untilMs, ...block }) => ({
      ...block,
      code: blockCodes[block.kind],
      since: timeText(sinceMs),
      until: timeText(untilMs),
    }))
    await printJson(shown, 2)
    return 0
  }
  if (blocks.length === 0) await printText('nothing is blocked')
  for (const { kind, value, untilMs, reason } of blocks) {
    const line = [kind.padEnd(7), value, `until ${timeText(untilMs)}`, codeOf(kind), reason]
    await printText(line.join('  '))
  }
  return 0
}
