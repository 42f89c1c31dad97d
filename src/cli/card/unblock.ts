import type { Command } from 'commander'
import type { BlockKind } from '../../domain/record/block.ts'
import { changeBlocks } from '../../engine/notice/block-list.ts'
import { blockValueOf } from '../../wire/block-value.ts'
import { reasonOption } from '../argument.ts'
import { inSession, type Session } from '../session.ts'
import { type ExitCode, printText, sayRefused } from '../terminal.ts'
import { kindArgument } from './block-argument.ts'

const help = `
Example:
  $ arbiter unblock mcc 7995 --reason "the attack is over"`

export function addUnblock(program: Command): void {
  program
    .command('unblock')
    .summary('end such a block')
    .description('End a block before its time.')
    .addArgument(kindArgument())
    .argument('<value>', 'as it was blocked')
    .addOption(reasonOption())
    .addHelpText('after', help)
    .action((kind: BlockKind, value: string, { reason }: { reason: string }) =>
      inSession((session) => unblock(kind, value, reason, session)),
    )
}

async function unblock(
  kind: BlockKind,
  text: string,
  reason: string,
  session: Session,
): Promise<ExitCode> {
  // One that no event can have may have been blocked by an earlier release.
  const found = blockValueOf(kind, text)
  const value = typeof found === 'string' ? found : text
  const operation = { type: 'unblock', kind, value } as const
  const refused = await changeBlocks(session, operation, reason, session.clock.nowMs())
  if (refused !== '') return sayRefused(`${refused}: see arbiter blocks`)
  await printText(`${kind} ${value} is no longer blocked`)
  return 0
}
