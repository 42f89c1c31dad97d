import type { OpenStates, WindowStates } from '../../domain/record/window-state.ts'
import { parseStored, RecordUnreadable } from '../format/row-codec.ts'
import { readWindowRows, windowRows } from '../format/window-codec.ts'

/** What windows over several cards have counted of one merchant, customer and so on. */
export function encodeCounts(key: string, states: WindowStates, writing = ''): string {
  return JSON.stringify([1, key, windowRows(states), writing])
}

/** Other instances may write as often between a writing whose answer was lost and its next try. */
const maxWritings = 8

/** Whether this writing is among the last that the record has had: its answer may have been lost. */
export function isWrittenBy(value: string | null, writing: string): boolean {
  return writingsOf(value).includes(writing)
}

/** What names the last writings, with one more. */
export function addWriting(value: string | null, writing: string): string {
  const others = writingsOf(value).filter((name) => name !== '' && name !== writing)
  return [...others, writing].slice(-maxWritings).join(' ')
}

/** They stand at the end, and the oldest comes first. */
function writingsOf(value: string | null): readonly string[] {
  const [, names = ''] = /,"([\w -]*)"\]$/.exec(value ?? '') ?? []
  return names.split(' ')
}

/** Nothing for a record that is missing, or that another key with the same hash has written. */
function decodeCounts(key: string, value: string | null): OpenStates {
  if (value === null || value === '') return {}
  const row = parseStored(value)
  if (!Array.isArray(row) || row[0] !== 1 || typeof row[1] !== 'string') {
    throw new RecordUnreadable('it holds no counts')
  }
  return row[1] === key ? { ...readWindowRows(row[2]) } : {}
}

/** Counts are approximate, so a record that cannot be read begins anew. */
export function readCounts(key: string, value: string | null): OpenStates {
  try {
    return decodeCounts(key, value)
  } catch (error) {
    if (error instanceof RecordUnreadable || error instanceof RangeError) return {}
    throw error
  }
}

export function checkCounts(value: string): void {
  decodeCounts('', value)
}

const idChars = 16

/** The ids of a partition stand in its root, of one width each, the one counted last at the end. */
export function withIds(
  root: string | null,
  counted: readonly string[],
  maxIds: number,
): { readonly root: string; readonly gone: readonly string[] } {
  const before = root ?? ''
  const ids = new Set<string>()
  for (let at = 0; at < before.length; at += idChars) ids.add(before.slice(at, at + idChars))
  for (const id of counted) {
    ids.delete(id)
    ids.add(id)
  }
  const all = [...ids]
  const gone = all.slice(0, Math.max(0, all.length - maxIds))
  return { root: all.slice(gone.length).join(''), gone }
}
