import type { Command } from 'commander'
import { blockCodes } from '../../domain/record/block.ts'
import { readBlocks } from '../../engine/notice/block-list.ts'
import { timeText } from '../log/entry-line.ts'
import { inSession, type Session } from '../session.ts'
import { type ExitCode, printJson, printText } from '../terminal.ts'
import { codeText } from './block-argument.ts'

const help = `
Examples:
  $ arbiter blocks
  $ arbiter blocks --json`

export function addBlocks(program: Command): void {
  program
    .command('blocks')
    .description('Show what is blocked, until when, and why.')
    .option('--json', 'as one JSON')
    .addHelpText('after', help)
    .action(({ json = false }: { json?: boolean }) =>
      inSession((session) => showBlocks(json, session)),
    )
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
    const line = [kind.padEnd(7), value, `until ${timeText(untilMs)}`, codeText(kind), reason]
    await printText(line.join('  '))
  }
  return 0
}
