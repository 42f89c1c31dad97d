export interface Codec<T> {
  encode(record: T): string
  decode(text: string): T
}

/** The message says what is wrong with a record, never what is in it. */
export class RecordUnreadable extends Error {
  override readonly name = 'RecordUnreadable'
}

/** null for a record that cannot be read: `arbiter verify` tells of it, and what reads many goes on without it. */
export function unlessUnreadable<T>(read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    if (error instanceof RecordUnreadable) return null
    throw error
  }
}

/** The parser's own message would quote the text. */
export function parseStored(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new RecordUnreadable('it is no JSON')
  }
}

/** A row as one literal that asks for its fields cell by cell: one for each, and none twice. */
type Write<T> = (record: T) => [format: number, ...cells: unknown[]]

/** For fields whose cell is not the value itself, or a flag. */
type Reads<T> = { readonly [name in keyof T]?: (json: never) => T[name] }

/**
 * Records are kept as JSON arrays, column by column, because names would be most of their bytes. A
 * column that is at its default at the end of the row is left out, so a newer release that adds
 * columns reads older rows. The first element is the format of the row. What was written by somebody else,
 * or has lost a part, is refused: the first column names the record, so a row without it is none.
 *
 * What the columns are is seen from `write`. It is not made from a list of them, because a loop over
 * names takes twice as long, and every decision writes four records.
 */
export function createCodec<T extends object>(
  blank: T,
  write: Write<T>,
  reads: Reads<T> = {},
): Codec<T> {
  const defaults = write(blank)
  const [format] = defaults
  const names = columnsOf(blank, write)
  if (defaults.length !== names.length + 1 || new Set(names).size !== names.length) {
    throw new Error('a row has a cell for each column')
  }
  const columns = names.map((name) => ({
    name,
    read: reads[name],
    kind: kindOf(blank[name], isAmountName(name)),
  }))

  /** A default is a plain value or an empty list. */
  function isDefault(value: unknown, cell: number): boolean {
    return value === defaults[cell] || (Array.isArray(value) && value.length === 0)
  }

  return {
    encode(record) {
      const row = write(record)
      let { length } = row
      while (length > 1 && isDefault(row[length - 1], length - 1)) length--
      row.length = length
      return row.some(isWritten) ? joinedText(row) : JSON.stringify(row)
    },
    decode(text) {
      const row = rowOf(text, format)
      const record = { ...blank } as Record<keyof T, unknown>
      const known = Math.min(columns.length, row.length - 1)
      for (let i = 0; i < known; i++) {
        const { name, read, kind } = columns[i]!
        const json = row[i + 1]
        if (read !== undefined) record[name] = readCell(read, json, name)
        else if (!fits(json, kind)) throw notThis(name)
        else record[name] = kind === 'boolean' ? json === 1 : json
      }
      return record as T
    },
  }
}

/** A cell that is JSON already, because most of it was written before. */
export class WrittenCell {
  readonly json: string

  constructor(json: string) {
    this.json = json
  }
}

function isWritten(cell: unknown): cell is WrittenCell {
  return cell instanceof WrittenCell
}

/** What stands between written cells is written at once: cell by cell would take three times as long. */
function joinedText(row: readonly unknown[]): string {
  const parts: string[] = []
  let from = 0
  for (let at = 0; at <= row.length; at++) {
    const cell = row[at]
    if (at < row.length && !isWritten(cell)) continue
    if (at > from) parts.push(JSON.stringify(row.slice(from, at)).slice(1, -1))
    if (isWritten(cell)) parts.push(cell.json)
    from = at + 1
  }
  return `[${parts.join(',')}]`
}

function rowOf(text: string, format: number): readonly unknown[] {
  const row = parseStored(text)
  if (!Array.isArray(row)) throw new RecordUnreadable('it is no row')
  if (row[0] !== format) {
    const other = Number.isSafeInteger(row[0]) ? `format ${row[0]}` : 'no format'
    throw new RecordUnreadable(`it has ${other}, and this release reads format ${format}`)
  }
  if (typeof row[1] !== 'string') throw new RecordUnreadable('it names nothing')
  return row
}

const [quote, comma, backslash] = [34, 44, 92]

/** The first cells of a row, of which none is a list; what follows may be long, and is not read. */
export function firstCells(text: string, format: number, count: number): readonly unknown[] {
  let inText = false
  let cells = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) inText = !inText
    else if (code === backslash) at++
    else if (code === comma && !inText && ++cells === count) {
      return rowOf(`${text.slice(0, at)}]`, format)
    }
  }
  return rowOf(text, format)
}

type Kind = 'string' | 'number' | 'boolean' | 'list' | 'optional' | 'amount' | 'optional amount'

function kindOf(value: unknown, isAmount: boolean): Kind {
  if (value === null) return isAmount ? 'optional amount' : 'optional'
  return isAmount ? 'amount' : Array.isArray(value) ? 'list' : (typeof value as Kind)
}

/** Whether a field is money, of which there is no part of a minor unit; nobody can show one. */
export function isAmountName(name: PropertyKey): boolean {
  return String(name).endsWith('Minor')
}

function fits(json: unknown, kind: Kind): boolean {
  switch (kind) {
    case 'list':
      return Array.isArray(json) && json.every((one) => typeof one === 'string')
    case 'amount':
      return Number.isSafeInteger(json)
    case 'optional amount':
      return json === null || Number.isSafeInteger(json)
    case 'optional':
      return json === null || typeof json === 'number'
    case 'boolean':
      return json === 1 || json === 0
    default:
      return typeof json === kind
  }
}

/** What a column's reader stumbles over was not written by us. */
function readCell(read: (json: never) => unknown, json: unknown, name: PropertyKey): unknown {
  try {
    return read(json as never)
  } catch {
    throw notThis(name)
  }
}

function notThis(name: PropertyKey): RecordUnreadable {
  return new RecordUnreadable(`its column ${String(name)} holds something else`)
}

/** The fields in the order in which `write` asks for them. */
function columnsOf<T extends object>(blank: T, write: Write<T>): (keyof T)[] {
  const asked: (keyof T)[] = []
  const watched = {} as T
  for (const name of Object.keys(blank) as (keyof T)[]) {
    const get = (): T[keyof T] => {
      asked.push(name)
      return blank[name]
    }
    Object.defineProperty(watched, name, { get })
  }
  write(watched)
  return asked
}

export const flag = (given: boolean) => (given ? 1 : 0)
