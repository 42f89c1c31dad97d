/** One line of a file, or why it cannot be used. */
export interface Line {
  /** From 1. */
  readonly number: number
  readonly text: string
  readonly problem: string
}

/** The longest row is a card with three lists of 10,000 MIDs of 64 characters, each of which JSON may escape. */
export const maxLineBytes = 4 * 2 ** 20

const lineFeed = 10

/** Reads a stream line by line in bounded memory, whatever is in it. */
export async function* readLines(
  chunks: AsyncIterable<Buffer>,
  maxBytes = maxLineBytes,
): AsyncGenerator<Line> {
  let number = 0
  let parts: Buffer[] = []
  let bytes = 0
  const decoder = new TextDecoder('utf-8', { fatal: true })

  function take(part: Buffer): void {
    bytes += part.length
    // What is too long is only counted.
    if (bytes <= maxBytes) parts.push(part)
    else parts = []
  }

  function finish(): Line {
    const line = { number: ++number, text: '', problem: '' }
    const tooLong = bytes > maxBytes
    const content = Buffer.concat(parts)
    parts = []
    bytes = 0
    if (tooLong) return { ...line, problem: `the line is longer than ${maxBytes} bytes` }
    try {
      return { ...line, text: decoder.decode(content).trim() }
    } catch {
      return { ...line, problem: 'the line is not UTF-8' }
    }
  }

  for await (const chunk of chunks) {
    let start = 0
    for (;;) {
      const end = chunk.indexOf(lineFeed, start)
      if (end < 0) break
      take(chunk.subarray(start, end))
      yield finish()
      start = end + 1
    }
    take(chunk.subarray(start))
  }
  if (bytes > 0) yield finish()
}
