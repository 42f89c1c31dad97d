import { Lexer, type YAMLError } from 'yaml'

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
  MULTILINE_IMPLICIT_KEY:
    'is followed by a line that is indented deeper: the names of a map begin in one column',
  BAD_INDENT:
    'is indented otherwise: the names of a map, and the dashes of a list, begin in one column',
  BAD_SCALAR_START: 'begins with a sign that YAML keeps for itself: put the whole text in quotes',
  BAD_DQ_ESCAPE: 'has a backslash in double quotes: write two, or put the text in single quotes',
  MULTIPLE_DOCS: 'begins a second document: a file has one, and no line of ---',
  BLOCK_IN_FLOW: 'lacks a comma before what follows',
  BAD_DIRECTIVE: 'begins with %, which YAML keeps for itself',
}

/** Where one code has several causes. */
const byMessage: readonly (readonly [pattern: RegExp, says: string])[] = [
  [
    /^Unexpected scalar at node end/,
    'goes on after its closing quote or bracket: put the whole text in quotes of the other kind',
  ],
  [/^Missing closing/, 'has a quote that never closes'],
  [/^Flow .* end with a (.)$/, 'ends where $1 is missing'],
  [
    /^Sequence item without/,
    'is no item of the list: begin it with a dash, or indent it as the lines before',
  ],
  [/^Implicit map keys need/, 'is a name without a value: write a colon and a space after it'],
  [
    /^Not a YAML token/,
    'follows > or |, which begin a text of several lines in YAML: put the whole text in quotes',
  ],
  [/^Unexpected .*token in YAML stream/, 'cannot stand here: what is before it has ended already'],
]

/** Says a parser's error in the words of the slip that mostly causes it. */
function pitfallOf({ code, message, pos }: YAMLError): Pitfall {
  const [offset] = pos
  for (const [pattern, says] of byMessage) {
    const found = pattern.exec(message)
    if (found !== null) return { offset, message: says.replace('$1', found[1] ?? '') }
  }
  return { offset, message: byCode[code] ?? message }
}

/** All of them, one for each place: of several there the last names the cause, and the first what followed from it. */
export function pitfallsOf(errors: readonly YAMLError[]): Pitfall[] {
  return [...new Map(errors.map((error) => [error.pos[0], pitfallOf(error)])).values()]
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
  return linePitfall(text) ?? bracketPitfall(text)
}

const deepMessage = `is nested deeper than ${maxNesting}`

function linePitfall(text: string): Pitfall | null {
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf('\n', start)
    const end = newline < 0 ? text.length : newline
    const line = text.slice(start, end)
    const indent = /^[ -]*/.exec(line)![0]
    const dashes = indent.length - indent.replaceAll('-', '').length
    if (line.length > indent.length && indent.length - dashes > maxIndentChars) {
      return { offset: start, message: `is indented by more than ${maxIndentChars}` }
    }
    if (dashes > maxNesting) return { offset: start, message: deepMessage }
    start = end + 1
  }
  return null
}

/** Put before a text by the lexer, which else gives what stands in the file, piece by piece. */
const textMark = '\u001f'
const otherMarks = ['\u0002', '\u0018']

/** The lexer tells brackets from those in a text, and descends nowhere. */
function bracketPitfall(text: string): Pitfall | null {
  let open = 0
  let at = 0
  let isText = false
  for (const piece of new Lexer().lex(text)) {
    if (!isText && (piece === textMark || otherMarks.includes(piece))) {
      isText = piece === textMark
      continue
    }
    if (!isText && (piece === '[' || piece === '{')) open++
    if (!isText && (piece === ']' || piece === '}')) open = Math.max(0, open - 1)
    if (open > maxNesting) {
      return { offset: text.lastIndexOf('\n', at) + 1, message: deepMessage }
    }
    isText = false
    at += piece.length
  }
  return null
}
