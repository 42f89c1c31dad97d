import { entryKinds } from '../domain/change/change.ts'
import type { Entry } from '../domain/ledger/entry.ts'
import type { LogLine, Store } from '../store/port.ts'
import { decodeEntry, entryFormat } from './format/entry-codec.ts'
import { unlessUnreadable } from './format/row-codec.ts'

const pageLines = 1000

/** The whole log, oldest first, page by page. */
export async function* logPages(store: Pick<Store, 'readLog'>): AsyncGenerator<readonly LogLine[]> {
  for (let cursor = ''; ; ) {
    const page = await store.readLog(cursor, pageLines)
    if (page.length === 0) return
    cursor = page.at(-1)!.cursor
    yield page
  }
}

/** null when the line cannot be read. */
export function entryIn({ entry }: Pick<LogLine, 'entry'>): Entry | null {
  return unlessUnreadable(() => decodeEntry(entry))
}

/** One after the other, for lines that were read before: all at once they take ten times the memory. */
export function* decodedLines(lines: Iterable<string>): Generator<Entry> {
  for (const line of lines) yield decodeEntry(line)
}

const noticeStart = `[${entryFormat},${entryKinds.indexOf('notice')},`

/** All notices that can be read. Most lines are seen to be others by their first characters. */
export async function* noticeEntries(store: Pick<Store, 'readLog'>): AsyncGenerator<Entry> {
  for await (const page of logPages(store)) {
    for (const line of page) {
      if (!line.entry.startsWith(noticeStart)) continue
      const entry = entryIn(line)
      if (entry !== null) yield entry
    }
  }
}

/** The part, of so many, that replays an entry: by a hash of its account, without decoding the line. */
export function partOfLine(line: string, places: number): number {
  if (places === 1) return 0
  const [from, to] = line.startsWith('[') ? accountIn(line) : [0, 0]
  const account =
    to > 0 ? line.slice(from, to) : JSON.stringify(decodeEntry(line).accountId).slice(0, -1)
  let hash = 0
  for (let i = 0; i < account.length; i++) hash = (Math.imul(hash, 31) + account.charCodeAt(i)) | 0
  return (hash >>> 0) % places
}

const comma = 44

/** Finds the account id after the fourth comma, from its first quote to before its last. */
function accountIn(line: string): [from: number, to: number] {
  let at = 0
  for (let commas = 0; commas < 4 && at < line.length; at++) {
    if (line.charCodeAt(at) === comma) commas++
  }
  return [at, line.indexOf('",', at + 1)]
}

/** The replay of a log does not fit into memory. */
export class LogTooLong extends Error {
  override readonly name = 'LogTooLong'

  constructor(problem: string, ...ways: readonly string[]) {
    const all = [...ways, 'backtest a backup that was made earlier', 'shorten LOG_RETENTION_DAYS']
    super(`${problem}: ${all.join(', or ')}`)
  }
}
