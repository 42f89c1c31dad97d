import { decodeEntry } from '../engine/format/entry-codec.ts'

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
