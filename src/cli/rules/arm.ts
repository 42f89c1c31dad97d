import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { armRule, readTripped } from '../../engine/notice/tripped-rules.ts'
import { reasonOption } from '../argument.ts'
import { timeText } from '../log/entry-line.ts'
import { inSession, type Session } from '../session.ts'
import { type ExitCode, printJson, printText, refuse } from '../terminal.ts'

const armHelp = `
A rule whose breaker has tripped only records, on every server of the store, until the pack is loaded
with another version or the rule is armed. Its breaker then counts anew.

Example:
  $ arbiter rules arm gambling-cap --reason "the declines were right, case 4711"`

const trippedHelp = `
Examples:
  $ arbiter rules tripped
  $ arbiter rules tripped --json`

export function addArm(rules: Command): void {
  rules
    .command('arm')
    .summary('enforce a rule again whose breaker has tripped')
    .description('Enforce a rule again whose breaker has tripped.')
    .argument('<id>', 'the rule')
    .addOption(reasonOption())
    .addHelpText('after', armHelp)
    .action((id: string, { reason }: { reason: string }) =>
      inSession((session) => arm(id, reason, session)),
    )
  rules
    .command('tripped')
    .description('List the rules whose breakers have tripped: rule, time, pack version, why.')
    .option('--json', 'as one JSON')
    .addHelpText('after', trippedHelp)
    .action(({ json = false }: { json?: boolean }) =>
      inSession(({ store }) => showTripped(json, store)),
    )
}

async function arm(id: string, reason: string, { store, clock }: Session): Promise<ExitCode> {
  const armed = await armRule(store, id, reason, clock.nowMs(), randomUUID)
  if (!armed) return refuse(`rule ${id} has not tripped: see arbiter rules tripped`)
  await printText(`rule ${id} is enforced again, within a second on every server`)
  return 0
}

async function showTripped(json: boolean, store: Session['store']): Promise<ExitCode> {
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
