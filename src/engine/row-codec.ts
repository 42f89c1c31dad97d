export interface Codec<T> {
  encode(record: T): string
  decode(text: string): T
}

export class RecordUnreadable extends Error {
  override readonly name = 'RecordUnreadable'
}

/** A row as one literal that asks for its fields cell by cell: one for each, and none twice. */
type Write<T> = (record: T) => [format: number, ...cells: unknown[]]

/** For fields whose cell is not the value itself, or a flag. */
type Reads<T> = { readonly [name in keyof T]?: (json: never) => T[name] }

/**
 * Records are kept as JSON arrays, column by column, because names would be most of their bytes. A
 * column that is at its default at the end of the row is left out, so a newer release that adds
 * columns reads older rows. The first element is the format of the row.
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
  const columns = names.map((name) => ({ name, read: reads[name] }))
  const booleans = names.map((name) => typeof blank[name] === 'boolean')

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
      return JSON.stringify(row)
    },
    decode(text) {
      const row = JSON.parse(text) as unknown[]
      if (!Array.isArray(row) || row[0] !== format) {
        throw new RecordUnreadable(
          `a record has format ${String(row?.[0])}, this release reads ${format}`,
        )
      }
      const record = { ...blank } as Record<keyof T, unknown>
      const known = Math.min(columns.length, row.length - 1)
      for (let i = 0; i < known; i++) {
        const { name, read } = columns[i]!
        const json = row[i + 1]
        if (booleans[i]) record[name] = json === 1
        else record[name] = read ? (read as (json: unknown) => unknown)(json) : json
      }
      return record as T
    },
  }
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
