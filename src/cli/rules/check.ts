import type { Command } from 'commander'
import { costText } from '../../rules/pack/cost.ts'
import type { Rule } from '../../rules/pack/rule.ts'
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
  const { name, version, rules, parts, warnings, cost } = pack
  const { lists, windows } = parts
  if (json) {
    const warned = warnings.map((warning) => placed(dir, warning))
    const { decisionMs } = cost
    const ofSome = rules.filter(({ mode, currencies }) => mode !== 'off' && currencies !== null)
    const currencies = Object.fromEntries(ofSome.map((rule) => [rule.id, rule.currencies]))
    const counted = { name, version, rules: rules.length, decisionMs, currencies }
    const report = { ...counted, faults: [], warnings: warned }
    await printJson(report, 2)
    return 0
  }
  for (const warning of warnings) await print(`${lineIn(dir, warning)} (warning)`)
  const tests = [...files.keys()].filter((file) => file.endsWith('.test.yaml')).length
  const counts = [
    countOf(rules.length, 'rule'),
    countOf(windows.length, 'window'),
    countOf(lists.size, 'list'),
    countOf(tests, 'test file'),
  ]
  await print(`${name} ${version} can be loaded: ${counts.join(', ')}`)
  for (const line of skippingLines(rules)) await print(line)
  await print(
    `a decision takes at most ${costText(cost)} of the engine, on the card with most to count`,
  )
  return 0
}

const maxNamed = 10

/** Rules that compare amounts pass over accounts in other currencies, which their author may not know. */
function skippingLines(rules: readonly Rule[]): string[] {
  const byCurrencies = new Map<string, string[]>()
  for (const { id, mode, currencies } of rules) {
    if (mode === 'off' || currencies === null) continue
    const key = currencies.join(', ')
    byCurrencies.set(key, [...(byCurrencies.get(key) ?? []), id])
  }
  return Array.from(byCurrencies, ([currencies, ids]) => {
    const more = ids.length > maxNamed ? ` and ${ids.length - maxNamed} more` : ''
    const named = `${ids.slice(0, maxNamed).join(', ')}${more}`
    return `only accounts in ${currencies} are looked at by ${countOf(ids.length, 'rule')}: ${named}`
  })
}

function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
