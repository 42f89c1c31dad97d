import type { Command } from 'commander'
import { armRule } from '../../engine/notice/tripped-rules.ts'
import { reasonOption } from '../argument.ts'
import { inSession, type Session } from '../session.ts'
import { type ExitCode, printText, sayRefused } from '../terminal.ts'

const help = `
A rule whose breaker has tripped only records, on every server of the store, until the pack is loaded
with another version or the rule is armed. Its breaker then counts anew.

Example:
  $ arbiter rules arm gambling-cap --reason "the declines were right, case 4711"`

export function addArm(rules: Command): void {
  rules
    .command('arm')
    .summary('enforce a rule again whose breaker has tripped')
    .description('Enforce a rule again whose breaker has tripped.')
    .argument('<id>', 'the rule')
    .addOption(reasonOption())
    .addHelpText('after', help)
    .action((id: string, { reason }: { reason: string }) =>
      inSession((session) => arm(id, reason, session)),
    )
}

async function arm(id: string, reason: string, { aggregates, clock }: Session): Promise<ExitCode> {
  const armed = await armRule(aggregates, id, reason, clock.nowMs())
  if (!armed) return sayRefused(`rule ${id} has not tripped: see arbiter rules tripped`)
  await printText(`rule ${id} is enforced again, within a second on every server`)
  return 0
}
