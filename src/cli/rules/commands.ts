import type { Command } from 'commander'
import { addArm } from './arm.ts'
import { addBacktest } from './backtest.ts'
import { addDiff } from './diff.ts'
import { addNewTest } from './new-test.ts'
import { addReport } from './report.ts'

/** The group may have been made by whoever adds the other commands about rules. */
export function rulesGroup(program: Command): Command {
  const there = program.commands.find((command) => command.name() === 'rules')
  if (there !== undefined) return there
  return program
    .command('rules')
    .summary('try a rule pack before it decides')
    .description('Work on rule packs.')
    .addHelpText('after', '\nExample:\n  $ arbiter rules backtest new-rules --from 7d')
}

/** What makes a pack trustworthy before it touches a card. */
export function addRuleTrust(program: Command): void {
  const rules = rulesGroup(program)
  addBacktest(rules)
  addDiff(rules)
  addReport(rules)
  addNewTest(rules)
  addArm(rules)
}
