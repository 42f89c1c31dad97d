import { createReadStream } from 'node:fs'
import type { Command } from 'commander'
import type { Engine } from '../engine/engine.ts'
import { importRows } from '../engine/import.ts'
import { type Line, readLines } from './line-reader.ts'
import { inSession, type Session } from './session.ts'
import { complain, type ExitCode, printText, showProgress } from './terminal.ts'

const rowsPerCommit = 500
const maxProblemsShown = 100

const help = `
Each line is a card as JSON: cardId, customerId, type (retail, corporate, lite) and currency, and
optionally accountId, balance, status, expiry, cardLimits, the lists, swipeCount and more: "arbiter
export" shows them all. Cards that share an accountId share its balance, which the first of them gives.
A row is imported whole or not at all. Cards that are there already stay as they are, so an import
that was cut off, or had refused rows, can simply be repeated.

Examples:
  $ arbiter import cards.ndjson
  $ echo '{"cardId":"card-9","customerId":"customer-9","type":"retail","currency":"USD",
    "balance":"100.00"}' | tr -d '\\n' | arbiter import -`

export function addImport(program: Command): void {
  program
    .command('import')
    .summary('import cards and balances')
    .description('Import cards with their balances, limits and lists from a file, one JSON a line.')
    .argument('<file>', 'the file, or - for standard input')
    .addHelpText('after', help)
    .action((file: string) => inSession((session) => importFile(file, session), { creates: true }))
}

async function importFile(file: string, session: Session): Promise<ExitCode> {
  // First: a file that fails to open while nobody reads it yet would be a bug to Node.
  const importing = createImport(await session.engine())
  const input = file === '-' ? process.stdin : createReadStream(file)
  try {
    for await (const line of readLines(input)) await importing.take(line)
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (syscall !== 'open' && syscall !== 'read') throw error
    complain(`${file} cannot be read (${code}): name a file of cards, or - for standard input`)
    return 2
  }
  return importing.finish()
}

interface Import {
  take(line: Line): Promise<void>
  finish(): Promise<ExitCode>
}

function createImport(engine: Engine): Import {
  let rows: { readonly line: number; readonly json: unknown }[] = []
  const counts = { imported: 0, present: 0, refused: 0, problems: 0 }

  function note(line: number, message: string): void {
    counts.problems++
    if (counts.problems <= maxProblemsShown) {
      showProgress('')
      complain(`line ${line}: ${message}`)
    }
  }

  async function commit(): Promise<void> {
    const taken = rows
    rows = []
    const result = await importRows(
      taken.map(({ json }) => json),
      engine,
    )
    counts.imported += result.imported
    counts.present += result.present
    counts.refused += new Set(result.problems.map(({ row }) => row)).size
    for (const { row, field, message } of result.problems) {
      note(taken[row]!.line, field === '' ? message : `${field}: ${message}`)
    }
    showProgress(summaryOf())
  }

  function summaryOf(): string {
    const { imported, present, refused } = counts
    return `imported ${imported}, already there ${present}, refused ${refused}`
  }

  return {
    async take({ number, text, problem }) {
      if (problem !== '') {
        counts.refused++
        note(number, problem)
      } else if (text !== '') {
        try {
          rows.push({ line: number, json: JSON.parse(text) })
        } catch {
          counts.refused++
          note(number, 'the line is not JSON')
        }
      }
      if (rows.length >= rowsPerCommit) await commit()
    },
    async finish() {
      if (rows.length > 0) await commit()
      showProgress('')
      const more = counts.problems - maxProblemsShown
      if (more > 0) complain(`and ${more} more`)
      await printText(summaryOf())
      return counts.refused > 0 ? 1 : 0
    },
  }
}
