import type { YAMLError } from 'yaml'

/** A place in a text, and what its author should know about it. */
export interface Pitfall {
  readonly offset: number
  readonly message: string
}

/** The parser descends into each level, and no file here needs more than a few. */
const maxNesting = 64
const maxIndentChars = 200

const byCode: Readonly<Record<string, string>> = {
  TAG_RESOLVE_FAILED:
    'begins with !, which makes a tag in YAML: put the whole text in quotes, such as "!merchant_seen"',
  BLOCK_AS_IMPLICIT_KEY:
    'has a colon and a space, which begin a map in YAML: put the whole text in quotes, also for a ? b : c',
}

const afterQuote =
  'goes on after its closing quote or bracket: put the whole text in quotes of the other kind'

/** Says a parser's error in the words of the slip that mostly causes it. */
export function pitfallOf({ code, message, pos }: YAMLError): Pitfall {
  const [offset] = pos
  const known = byCode[code]
  if (known !== undefined) return { offset, message: known }
  if (message === 'Unexpected scalar at node end') return { offset, message: afterQuote }
  return { offset, message }
}

/** The first tab that indents, which the parser finds many faults with; null for none. */
export function tabPitfall(text: string): Pitfall | null {
  const found = /^ *\t\s*[^\s#]/m.exec(text)
  if (found === null) return null
  const offset = found.index + found[0].indexOf('\t')
  return { offset, message: 'is indented with a tab: YAML takes spaces only' }
}

/** The first place that is nested too deeply, found before the parser has to descend to it. */
export function nestingPitfall(text: string): Pitfall | null {
  const message = `is nested deeper than ${maxNesting}`
  let open = 0
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf('\n', start)
    const end = newline < 0 ? text.length : newline
    const line = text.slice(start, end)
    const indent = /^[ -]*/.exec(line)![0]
    const dashes = indent.length - indent.replaceAll('-', '').length
    if (line.length > indent.length && indent.length - dashes > maxIndentChars) {
      return { offset: start, message: `is indented by more than ${maxIndentChars}` }
    }
    // A word or one dash in the first column begins anew, so that brackets in prose do not add up.
    if (/^(\w|- )/.test(line)) open = 0
    for (const char of line) {
      if (char === '[' || char === '{') open++
      else if (char === ']' || char === '}') open = Math.max(0, open - 1)
      if (open > maxNesting || dashes > maxNesting) return { offset: start, message }
    }
    start = end + 1
  }
  return null
}
