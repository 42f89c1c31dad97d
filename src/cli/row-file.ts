import { maxLineBytes, readLines } from '../backoffice/line-reader.ts'
import type { RowProblem } from '../wire/card-row.ts'
import { Interrupted, onInterrupt } from './interrupt.ts'
import { explain, inSession, type Session, type SessionOptions } from './session.ts'
import { complain, type ExitCode, showProgress } from './terminal.ts'
import { openTwice, type TwiceRead } from './twice-read.ts'

const rowsPerBatch = 500
const maxProblemsShown = 100

/** Reads a row of a file, or says everything that is wrong with it. */
type ReadRowOf<T> = (json: unknown) => T | RowProblem[]

/** What an import has written so far: the store may cut it off at any row. */
export interface WrittenRows {
  imported: number
  present: number
  /** From the first row that is written until all were, or it has said itself that they were not. */
  isOpen: boolean
}

type ImportWork = (
  input: TwiceRead,
  session: Session,
  signal: AbortSignal,
  written: WrittenRows,
) => Promise<ExitCode>

/** Runs an import of a file, or of standard input, and says what stands against reading or keeping it. */
export async function inRowFile(
  file: string,
  work: ImportWork,
  options: SessionOptions = {},
): Promise<void> {
  const written = { imported: 0, present: 0, isOpen: false }
  const stopping = new AbortController()
  const undo = onInterrupt(() => stopping.abort())
  let input: TwiceRead | null = null
  try {
    // Before the session: no store is made for a file that is not there.
    const opened = await openTwice(file, stopping.signal)
    input = opened
    await inSession(
      (session) =>
        work(opened, session, stopping.signal, written).catch((error) =>
          sayUnreadable(file, error),
        ),
      options,
    )
  } catch (error) {
    process.exitCode = await sayUnreadable(file, error).catch(explain)
  } finally {
    undo()
    await input?.close()
    if (written.isOpen) complain(cutOffText(written))
  }
}

function cutOffText({ imported, present }: WrittenRows): string {
  return `cut off: at least ${imported} rows are imported, ${present} were already there; import the file again for the rest, it leaves these as they are`
}

/** Throws what has nothing to do with reading the file. */
async function sayUnreadable(file: string, error: unknown): Promise<ExitCode> {
  const { code, name, syscall } = error as NodeJS.ErrnoException
  if (name === 'AbortError') throw new Interrupted()
  if (syscall === 'write') {
    complain(`the rows cannot be kept in the meantime (${code}): name a file instead of a pipe`)
    return 2
  }
  if (syscall !== 'open' && syscall !== 'read') throw error
  complain(`${file} cannot be read (${code}): name a file of rows, or - for standard input`)
  return 2
}

interface NumberedRow<T> {
  readonly line: number
  readonly row: T
}

/** The rows of a file, some hundreds at a time; what is no row is a problem. */
export async function* batchesOf<T extends object>(
  bytes: AsyncIterable<Buffer>,
  read: ReadRowOf<T>,
  problems: ProblemList,
): AsyncGenerator<NumberedRow<T>[]> {
  let rows: NumberedRow<T>[] = []
  let chars = 0
  for await (const { number: line, text, problem } of readLines(bytes)) {
    if (problem !== '') problems.add(line, [problem])
    if (text === '') continue
    const row = readText(text, read)
    if (Array.isArray(row)) problems.add(line, row)
    else rows.push({ line, row })
    chars += text.length
    // Hundreds of cards with long lists would not fit into memory.
    if (rows.length < rowsPerBatch && chars < maxLineBytes) continue
    yield rows
    rows = []
    chars = 0
  }
  yield rows
}

function readText<T extends object>(text: string, read: ReadRowOf<T>): T | string[] {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return ['the line is not JSON']
  }
  const row = read(json)
  if (!Array.isArray(row)) return row
  return row.map(({ field, message }) => (field === '' ? message : `${field}: ${message}`))
}

export interface ProblemList {
  /** How many rows have a problem. */
  readonly rows: number
  add(line: number, messages: readonly string[]): void
  end(): void
}

/** Problems are printed as they are found, up to a bound. */
export function createProblemList(): ProblemList {
  let rows = 0
  let said = 0
  return {
    get rows() {
      return rows
    },
    add(line, messages) {
      rows++
      for (const message of messages) {
        if (said++ >= maxProblemsShown) continue
        showProgress('')
        complain(`line ${line}: ${message}`)
      }
    },
    end() {
      if (said > maxProblemsShown) complain(`and ${said - maxProblemsShown} more`)
    },
  }
}
