import type { Command } from 'commander'
import { factRows } from '../../rules/condition/fact-reference.ts'
import { costText } from '../../rules/pack/cost.ts'
import { createPaint, type ExitCode, print, printJson } from '../terminal.ts'
import { addExplain } from './explain.ts'
import { lineIn, packFolder, placed, readPack } from './pack.ts'
import { addTest } from './test.ts'

const help = `
A rule pack is a folder; DIR is RULES_DIR, by default ./rules, where it is not given. check, test, facts,
explain without --card and diff --no-log need neither a server nor a store; the others read the store's log.

Examples:
  $ arbiter rules check
  $ arbiter rules test rules --min-coverage 100
  $ arbiter rules explain --event event.json
  $ arbiter rules facts
  $ arbiter rules diff rules new-rules
  $ arbiter rules backtest new-rules --from 7d`

const checkHelp = `
Says what a server would say of the pack, its own tests included. Exit codes: 0 it can be loaded,
1 it has faults, 2 there is no such folder.

Example:
  $ arbiter rules check rules`

export function addRules(program: Command): void {
  const rules = program
    .command('rules')
    .summary('check, test and explain a rule pack')
    .description('Check, test and explain a rule pack.')
    .addHelpText('after', help)
  rules
    .command('check')
    .argument('[dir]', 'folder of the pack')
    .description('List all faults of a pack as file:line:column, and what is hardly meant.')
    .option('--json', 'print the report as JSON')
    .addHelpText('after', checkHelp)
    .action(async (dir: string | undefined, options: { json?: boolean }) => {
      process.exitCode = await check(dir ?? packFolder(), options.json === true)
    })
  addTest(rules)
  addExplain(rules)
  rules
    .command('facts')
    .description('List what conditions can name and do.')
    .option('--json', 'print it as JSON')
    .addHelpText('after', '\nExample:\n  $ arbiter rules facts | grep merchant')
    .action((options: { json?: boolean }) => facts(options.json === true))
}

async function check(dir: string, json: boolean): Promise<ExitCode> {
  const read = await readPack(dir, { json, tested: true })
  if (typeof read === 'number') return read
  const { files, pack } = read
  const { name, version, rules, windows, parts, warnings, cost } = pack
  const { lists } = parts
  if (json) {
    const warned = warnings.map((warning) => placed(dir, warning))
    const { decisionMs } = cost
    const report = { name, version, rules: rules.length, decisionMs, faults: [], warnings: warned }
    await printJson(report, 2)
    return 0
  }
  for (const warning of warnings) await print(`${lineIn(dir, warning)} (warning)`)
  const tests = [...files.keys()].filter((file) => file.endsWith('.test.yaml')).length
  const counts = [
    countOf(rules.length, 'rule'),
    countOf(windows.length - 1, 'window'),
    countOf(lists.size, 'list'),
    countOf(tests, 'test file'),
  ]
  await print(`${name} ${version} can be loaded: ${counts.join(', ')}`)
  await print(
    `a decision takes at most ${costText(cost)} of the engine, on the card with most to count`,
  )
  return 0
}

function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

async function facts(json: boolean): Promise<void> {
  const { names, operations } = factRows()
  if (json) return printJson({ facts: names, operations }, 2)
  const paint = createPaint()
  const width = Math.max(...names.map(({ name }) => name.length))
  for (const { name, type, says } of names) {
    await print(`${paint.strong(name)}${pad(name, width)}  ${type.padEnd(6)}  ${says}`)
  }
  await print('')
  for (const { what, says } of operations) await print(`${paint.strong(what)}\n    ${says}`)
  await print('')
  await print('An absent text is "", an absent number or amount is 0, an absent yes/no is false.')
}

function pad(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - text.length))
}
