import type { Command } from 'commander'
import { codeRows } from './code-rows.ts'
import { print, printJson } from './terminal.ts'

const help = `
For each code: meaning, whether it is final, and where Arbiter says it. It needs neither a server nor a store.

Examples:
  $ arbiter codes
  $ arbiter codes 116
  $ arbiter codes --json`

export function addCodes(program: Command): void {
  program
    .command('codes')
    .summary('what response codes mean, and who says them')
    .description('List the response codes, what they mean, and where Arbiter says them.')
    .argument('[code...]', 'only these')
    .option('--json', 'as one JSON')
    .addHelpText('after', help)
    .action(async (codes: readonly string[], { json }: { json?: boolean }, command: Command) => {
      const all = codeRows()
      const unknown = codes.find((code) => !all.some((row) => row.code === code))
      if (unknown !== undefined) return command.error(`${unknown} is no response code`)
      const rows = all.filter(({ code }) => codes.length === 0 || codes.includes(code))
      if (json) return printJson(rows, 2)
      for (const { code, meaning, finality, said } of rows) {
        await print(
          `${code}  ${meaning.padEnd(42)}  ${finality.padEnd(15)}  ${said.join('; ') || '-'}`,
        )
      }
    })
}
