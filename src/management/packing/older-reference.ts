import { RecordUnreadable } from '../../engine/format/row-codec.ts'

/** What nearly every path begins with was not kept. */
const commonPath = '/api/v1/'
const methods = ['GET', 'POST', 'PATCH', 'DELETE', 'CLI']
/** Marks a path that was kept whole. */
const whole = '\t'
const timeDigits = 8

/** A Reference as lines of text, which it was before it was packed. */
export function decodeOlderReference(value: string) {
  const [first = '', hash = '', home = '', again = '', ended, status, ...words] = value.split('\n')
  const method = methods[Number(first[0])]
  const startedAtMs = readShortNumber(first.slice(1, 1 + timeDigits))
  if (method === undefined || hash === '' || Number.isNaN(startedAtMs)) {
    throw new RecordUnreadable('a Reference was written by another release')
  }
  const shortPath = first.slice(1 + timeDigits)
  const path = shortPath.startsWith(whole) ? shortPath.slice(1) : `${commonPath}${shortPath}`
  const [seen = '', count = ''] = again.split(' ')
  const seenAtMs = startedAtMs + readShortNumber(seen || '0')
  const attempt = readShortNumber(count || '0')
  const end =
    ended === undefined ? null : endOf(startedAtMs + readShortNumber(ended), status, words)
  return { hash, method, path, home, startedAtMs, seenAtMs, end, attempt }
}

function endOf(endedAtMs: number, status: string | undefined, words: readonly string[]) {
  if (status === undefined) {
    return { done: true, endedAtMs, httpStatus: 200, code: '000', message: 'Success' }
  }
  const [code = '', ...message] = words
  return { done: false, endedAtMs, httpStatus: Number(status), code, message: message.join('\n') }
}

/** Numbers were in base 36. */
export function readShortNumber(text: string): number {
  return Number.parseInt(text, 36)
}
