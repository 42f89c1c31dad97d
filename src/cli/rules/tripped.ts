import type { Command } from 'commander'
import { readTripped } from '../../engine/notice/tripped-rules.ts'
import type { Store } from '../../store/port.ts'
import { timeText } from '../log/entry-line.ts'
import { inSession } from '../session.ts'
import { type ExitCode, printJson, printText } from '../terminal.ts'

const help = `
Examples:
  $ arbiter rules tripped
  $ arbiter rules tripped --json`

export function addTripped(rules: Command): void {
  rules
    .command('tripped')
    .description('List the rules whose breakers have tripped: rule, time, pack version, why.')
    .option('--json', 'as one JSON')
    .addHelpText('after', help)
    .action(({ json = false }: { json?: boolean }) =>
      inSession(({ store }) => showTripped(json, store)),
    )
}

async function showTripped(json: boolean, store: Store): Promise<ExitCode> {
  const tripped = await readTripped(store)
  if (json) {
    await printJson(
      tripped.map(({ atMs, ...rule }) => ({ ...rule, at: timeText(atMs) })),
      2,
    )
    return 0
  }
  if (tripped.length === 0) await printText('no rule has tripped')
  for (const { ruleId, rulesVersion, atMs, reason } of tripped) {
    await printText([ruleId, timeText(atMs), rulesVersion, reason].join('  '))
  }
  return 0
}
