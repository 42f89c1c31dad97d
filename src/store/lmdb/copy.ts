import type { OwnedRecord, StoreRecord } from '../port.ts'
import { checkKey, decodeTreeRoot, encodeTreeRoot } from './commands.ts'
import {
  childKey,
  cursorOf,
  indexKey,
  type KeyRange,
  logKey,
  microsOfCursor,
  parseChildKey,
  parseIndexKey,
  rootKey,
  scanRanges,
} from './keys.ts'

const pageRecords = 1_000

interface Pair {
  readonly key: string
  readonly value: string
}

/** Walks the whole tree in the order of its keys, a page at a time. */
export async function* scanTree(
  today: number,
  entriesIn: (range: KeyRange, limit: number) => readonly Pair[],
): AsyncGenerator<readonly StoreRecord[]> {
  for (const whole of scanRanges(today)) {
    let range = whole
    for (;;) {
      const pairs = entriesIn(range, pageRecords)
      if (pairs.length > 0) yield pairs.map(toRecord)
      if (pairs.length < pageRecords) break
      // The smallest key above the last one.
      range = { start: `${pairs.at(-1)?.key}\0`, end: whole.end }
      // Others may use the loop between two pages.
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

function toRecord({ key, value }: Pair): StoreRecord {
  switch (key[0]) {
    case 'i':
      return { kind: 'index', ...parseIndexKey(key), value }
    case 'l':
      return { kind: 'log', writtenMicros: microsOfCursor(cursorOf(key)), entry: value }
    default: {
      const place = parseChildKey(key)
      if (place.group !== '' || place.id !== '') return { kind: 'child', ...place, value }
      const root = decodeTreeRoot(value)
      const { aggregate } = place
      return { kind: 'root', aggregate, version: root.version, value: root.value }
    }
  }
}

export interface TreePut {
  readonly key: string
  readonly value: string
  /** The version token of a root; null for everything else. */
  readonly version: string | null
}

/** `logMicrosAt` gives each log entry its place: its own time, or right behind the one before it. */
export function toPut(
  record: OwnedRecord,
  nonce: string,
  logMicrosAt: (micros: number) => number,
): TreePut {
  const put = putOf(record, nonce, logMicrosAt)
  checkKey(put.key)
  return put
}

function putOf(
  record: OwnedRecord,
  nonce: string,
  logMicrosAt: (micros: number) => number,
): TreePut {
  switch (record.kind) {
    case 'root': {
      const { aggregate, version, value } = record
      // No log time is kept: a store that is opened later logs after the newest entry that was filled in.
      return { key: rootKey(aggregate), value: encodeTreeRoot(version, 0, value), version }
    }
    case 'child':
      return { key: childKey(record.aggregate, record), value: record.value, version: null }
    case 'index':
      return { key: indexKey(record.index, record.sortKey), value: record.value, version: null }
    case 'log': {
      const key = logKey(logMicrosAt(record.writtenMicros), nonce)
      return { key, value: record.entry, version: null }
    }
  }
}
