import { isMap, isScalar, isSeq, Lexer, parseDocument, type YAMLMap } from 'yaml'
import { packFile } from './file.ts'
import { ruleFile } from './rule-file.ts'
import { windowFields } from './window-file.ts'

/** The text as it should be; null for what is no YAML that can be written again without a loss. */
export function formatFile(file: string, text: string): string | null {
  if (file === 'pack.seal') return text
  if (file.startsWith('lists/')) return formattedList(text)
  const clean = text.replace(/^\ufeff/, '').replaceAll('\r\n', '\n')
  let next = formattedOnce(file, clean)
  // Comments find their place beside fields that moved only when they are written again.
  for (let again = 0; next !== null && again < maxAgain; again++) next = formattedOnce(file, next)
  return next
}

/** A comment was seen to move twice. */
const maxAgain = 3

function formattedOnce(file: string, clean: string): string | null {
  const document = parseDocument(clean, { keepSourceTokens: false })
  if (document.errors.length > 0) return null
  const names = orderIn(file)
  const { contents } = document
  if (isMap(contents)) order(contents, names)
  if (isSeq(contents)) for (const item of contents.items) if (isMap(item)) order(item, names)
  const written = document.toString({
    indent: 2,
    // Folding would break conditions in places that nobody chose.
    lineWidth: 0,
    flowCollectionPadding: true,
    singleQuote: null,
  })
  const tight = `${withTightLists(written).trimEnd()}\n`
  const trimmed = tight.replaceAll(/[^\S\n]+$/gm, '')
  // A space at the end of a line may be one of a text that is written over several lines.
  return [trimmed, tight].find((next) => saysTheSame(clean, next)) ?? null
}

/** `[a, b]` beside `{ a: 1 }`, as our pages write them; the library pads both or neither. */
function withTightLists(text: string): string {
  // The lexer marks plain scalars and beginnings by characters that are not in the text.
  const tokens = [...new Lexer().lex(text)]
  return tokens
    .filter((token, i) => {
      const opened = tokens[i - 1] === '[' && tokens[i - 2] !== scalarMark
      return !(token === ' ' && (opened || tokens[i + 1] === ']')) && !lexerMarks.includes(token)
    })
    .join('')
}

const scalarMark = '\u001f'
const lexerMarks: readonly string[] = ['\u0002', '\u0018', scalarMark]

/** Spaces before and after the lines go; the order of the values is their author's. */
function formattedList(text: string): string {
  const lines = text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .map((line) => line.trim())
  return `${lines.join('\n').trimEnd()}\n`
}

/** Fields in the order in which the pages show them; others after them, as they were. */
function orderIn(file: string): readonly string[] {
  if (file === 'windows.yaml') return Object.keys(windowFields.shape)
  if (file === 'pack.yaml') return ['name', 'zone', 'currency', ...Object.keys(packFile.shape)]
  return file.endsWith('.rules.yaml') ? Object.keys(ruleFile.shape) : []
}

function order(map: YAMLMap, names: readonly string[]): void {
  const rank = (key: unknown) => {
    const at = isScalar(key) ? names.indexOf(String(key.value)) : -1
    return at < 0 ? names.length : at
  }
  map.items.sort((a, b) => rank(a.key) - rank(b.key))
}

function saysTheSame(before: string, after: string): boolean {
  const again = parseDocument(after)
  if (again.errors.length > 0) return false
  const value = (text: string) => JSON.stringify(sorted(parseDocument(text).toJS()))
  return value(before) === value(after)
}

/** Only the order of fields may change. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return entries.map(([name, one]) => [name, sorted(one)])
}
