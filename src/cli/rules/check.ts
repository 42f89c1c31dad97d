import type { Command } from 'commander'
import { costText } from '../../rules/pack/cost.ts'
import { type ExitCode, print, printJson } from '../terminal.ts'
import { lineIn, packFolder, placed, readPack } from './pack.ts'

const help = `
Says what a server would say of the pack, its own tests included. Exit codes: 0 it can be loaded,
1 it has faults, 2 there is no such folder.

Example:
  $ arbiter rules check rules`

export function addCheck(rules: Command): void {
  rules
    .command('check')
    .argument('[dir]', 'folder of the pack')
    .description('List all faults of a pack as file:line:column, and what is hardly meant.')
    .option('--json', 'print the report as JSON')
    .addHelpText('after', help)
    .action(async (dir: string | undefined, options: { json?: boolean }) => {
      process.exitCode = await check(dir ?? packFolder(), options.json === true)
    })
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
