import type { Command } from 'commander'
import { addArm } from './arm.ts'
import { addBacktest } from './backtest.ts'
import { addKeys, addPack } from './bundle.ts'
import { addCheck } from './check.ts'
import { addCi } from './ci.ts'
import { addDiff } from './diff.ts'
import { addExplain } from './explain.ts'
import { addFacts } from './facts.ts'
import { addFmt } from './fmt.ts'
import { addNewTest } from './new-test.ts'
import { addReport } from './report.ts'
import { addSchema } from './schema.ts'
import { addSeal } from './seal.ts'
import { addTest } from './test.ts'
import { addTripped } from './tripped.ts'

const help = `
A rule pack is a folder or a bundle; DIR is RULES_DIR, by default ./rules, where it is not given. check, test, facts,
explain without --card and diff --no-log need neither a server nor a store; the others read the store's log.

Examples:
  $ arbiter rules check
  $ arbiter rules test rules --min-coverage 100
  $ arbiter rules explain --event event.json
  $ arbiter rules facts
  $ arbiter rules diff rules new-rules
  $ arbiter rules backtest new-rules --from 7d`

export function addRules(program: Command): void {
  const rules = program
    .command('rules')
    .summary('check, test and explain a rule pack')
    .description('Check, test and explain a rule pack.')
    .addHelpText('after', help)
  addCheck(rules)
  addTest(rules)
  addExplain(rules)
  addFacts(rules)
  addBacktest(rules)
  addDiff(rules)
  addCi(rules)
  addReport(rules)
  addFmt(rules)
  addSchema(rules)
  addSeal(rules)
  addPack(rules)
  addKeys(rules)
  addNewTest(rules)
  addArm(rules)
  addTripped(rules)
}
