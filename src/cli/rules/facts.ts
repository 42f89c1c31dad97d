import type { Command } from 'commander'
import { factRows } from '../../rules/condition/fact-reference.ts'
import { createPaint, print, printJson } from '../terminal.ts'

export function addFacts(rules: Command): void {
  rules
    .command('facts')
    .description('List what conditions can name and do.')
    .option('--json', 'print it as JSON')
    .addHelpText('after', '\nExample:\n  $ arbiter rules facts | grep merchant')
    .action((options: { json?: boolean }) => facts(options.json === true))
}

async function facts(json: boolean): Promise<void> {
  const { names, operations } = factRows()
  if (json) return printJson({ facts: names, operations }, 2)
  const paint = createPaint()
  const width = Math.max(...names.map(({ name }) => name.length))
  for (const { name, type, says } of names) {
    await print(
      `${paint.strong(name)}${' '.repeat(width - name.length)}  ${type.padEnd(6)}  ${says}`,
    )
  }
  await print('')
  for (const { what, says } of operations) await print(`${paint.strong(what)}\n    ${says}`)
  await print('')
  await print('An absent text is "", an absent number or amount is 0, an absent yes/no is false.')
}
