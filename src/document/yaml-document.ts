import {
  type Document,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  Scalar,
  visit,
  type YAMLMap,
} from 'yaml'
import type { z } from 'zod'
import { explainInFile } from './schema-words.ts'
import { nestingPitfall, pitfallsOf, tabPitfall } from './yaml-pitfall.ts'

/** A fault in a file, with the place where its author finds it. */
export interface FileFault {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly message: string
}

export type Path = readonly (string | number)[]

/** Adds a fault at the value that a path leads to, or at its name. */
export type AddFault = (path: Path, message: string, at?: 'value' | 'name') => void

/** A YAML file, with the line and column of everything in it. */
export interface YamlDocument {
  readonly faults: FileFault[]
  /** A path that leads nowhere puts the fault at the nearest thing around it. */
  readonly fault: AddFault
  /** Adds a fault at a character of a text, whatever quotes and folds the file writes it with. */
  faultInText(path: Path, offset: number, message: string): void
  placeOf(path: Path): { readonly line: number; readonly column: number }
  /** Checks a value of the document; null when it has faults. */
  parse<T extends z.ZodType>(schema: T, value: unknown, path: Path): z.output<T> | null
  readonly value: unknown
}

/** More faults than this do not help their reader. */
export const maxFileFaults = 50
/** No person writes longer lines, and the parser can take very long over them. */
const maxLineChars = 8192

export function openYaml(file: string, given: string): YamlDocument {
  // Some editors write a byte order mark, which the parser takes for an indentation.
  const text = given.startsWith('\ufeff') ? given.slice(1) : given
  const faults: FileFault[] = []
  const lines = new LineCounter()

  function positionOf(offset: number): { line: number; column: number } {
    const { line, col } = lines.linePos(offset)
    // The library says line 0 for an empty file.
    return { line: Math.max(line, 1), column: Math.max(col, 1) }
  }

  function faultAt(offset: number, message: string): void {
    if (faults.length < maxFileFaults) faults.push({ file, ...positionOf(offset), message })
  }

  const longLine = findLongLine(text)
  if (longLine > 0) {
    const message = `is longer than ${maxLineChars} characters`
    faults.push({ file, line: longLine, column: 1, message })
  }
  const { document, value } = longLine > 0 ? unread : read(text, lines, faultAt)
  const root = (document?.contents ?? null) as Node | null

  const fault: AddFault = (path, message, at = 'value') => {
    const { node, key } = nearest(root, path)
    const name = nameOf(path)
    // A map is shown at its name, not at its first entry.
    const shown = key !== null && (at === 'name' || isMap(node) || isSeq(node)) ? key : node
    faultAt(shown?.range?.[0] ?? 0, name === '' ? message : `${name} ${message}`)
  }

  return {
    faults,
    fault,
    value,
    faultInText(path, offset, message) {
      const { node } = nearest(root, path)
      const start = node?.range?.[0] ?? 0
      const at = isScalar(node) ? sourceOffset(text, node, offset) : start
      faultAt(at, `${nameOf(path)}: ${message}`)
    },
    placeOf: (path) => positionOf(nearest(root, path).node?.range?.[0] ?? 0),
    parse(schema, given, path) {
      const result = schema.safeParse(given, { error: explainInFile })
      if (result.success) return result.data
      for (const issue of result.error.issues) {
        const at = [...path, ...(issue.path as (string | number)[])]
        const messages = issue.message.split('\n')
        if (issue.code === 'unrecognized_keys') {
          issue.keys.forEach((key, i) => {
            fault([...written(at), key], messages[i] ?? 'is not known', 'name')
          })
        } else {
          const path = issue.message === 'is required' ? at : written(at)
          fault(path, issue.message, issue.code === 'invalid_key' ? 'name' : 'value')
        }
      }
      return null
    },
  }

  /** The steps of a path that the file has: a short form leaves out names of the long one. */
  function written(path: Path): Path {
    return nearest(root, path).path
  }
}

/** The path for a message, without a leading index: line and column say which item it is. */
function nameOf(path: Path): string {
  return (typeof path[0] === 'number' ? path.slice(1) : path).join('.')
}

/** The number of the first line that is too long; 0 for none. */
function findLongLine(text: string): number {
  let start = 0
  for (let line = 1; start <= text.length; line++) {
    const end = text.indexOf('\n', start)
    const stop = end < 0 ? text.length : end
    if (stop - start > maxLineChars) return line
    start = stop + 1
  }
  return 0
}

interface ReadDocument {
  readonly document: Document | null
  /** undefined when the document has faults. */
  readonly value: unknown
}

const unread: ReadDocument = { document: null, value: undefined }

function read(text: string, lineCounter: LineCounter, faultAt: FaultAt): ReadDocument {
  const deep = nestingPitfall(text)
  if (deep !== null) {
    // Counting lines is the parser's task, and it must not see this text.
    for (const { index } of text.matchAll(/^/gm)) lineCounter.addNewLine(index)
    faultAt(deep.offset, deep.message)
    return unread
  }
  try {
    // The library's pretty errors quote the file, and its search for duplicate keys compares all
    // with all: checkDocument does both.
    const document = parseDocument(text, { uniqueKeys: false, prettyErrors: false, lineCounter })
    const tab = document.errors.length > 0 ? tabPitfall(text) : null
    if (tab !== null) {
      faultAt(tab.offset, tab.message)
      return unread
    }
    const clean = checkDocument(document, faultAt)
    return { document, value: clean ? document.toJS() : undefined }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    faultAt(0, 'cannot be read: it is nested too deeply')
    return unread
  }
}

type FaultAt = (offset: number, message: string) => void

function checkDocument(document: Document, faultAt: FaultAt): boolean {
  let clean = true
  const found: FaultAt = (offset, message) => {
    clean = false
    faultAt(offset, message)
  }
  const errors = [...document.errors, ...document.warnings]
  for (const { offset, message } of pitfallsOf(errors)) found(offset, message)
  visit(document, {
    // A few aliases can make a small file large, and no file here needs them.
    Alias: (_, node) => found(node.range?.[0] ?? 0, 'aliases are not allowed'),
    Map: (_, node) => checkKeys(node, found),
    Pair(_, { key }) {
      // YAML reads the key 0742 as the number 742.
      if (!isScalar(key)) {
        const at = (key as Node | null)?.range?.[0] ?? 0
        found(at, 'is a map or a list where a name should be: put a text with brackets in quotes')
        return
      }
      if (typeof key.value === 'string') return
      if (String(key.value) !== key.source) {
        found(key.range?.[0] ?? 0, `${key.source} is not a text: put it in quotes`)
      }
    },
  })
  return clean
}

function checkKeys(map: YAMLMap, faultAt: FaultAt): void {
  const seen = new Set<string>()
  for (const { key } of map.items) {
    if (!isScalar(key)) continue
    const name = String(key.value)
    if (seen.has(name)) faultAt(key.range?.[0] ?? 0, `${name} is there twice`)
    seen.add(name)
  }
}

/**
 * Follows a path into the document. Steps that are not there are left out: the path of a short form
 * goes through names that the file does not have.
 */
function nearest(
  root: Node | null,
  path: Path,
): { readonly node: Node | null; readonly key: Node | null; readonly path: Path } {
  let node = root
  let key: Node | null = null
  const taken: (string | number)[] = []
  for (const step of path) {
    let next: unknown
    if (isMap(node)) {
      const pair = node.items.find(
        (item) => isPair(item) && isScalar(item.key) && String(item.key.value) === String(step),
      )
      if (pair === undefined) continue
      key = pair.key as Node
      next = pair.value ?? pair.key
    } else if (isSeq(node) && typeof step === 'number') {
      next = node.items[step]
      if (next === undefined) continue
      key = null
    } else {
      continue
    }
    taken.push(step)
    node = next as Node
  }
  return { node, key, path: taken }
}

/**
 * Where a character of a text stands in the file. Quotes, escapes, folds and indents only add
 * characters between those of the text, so it is found by going along both.
 */
function sourceOffset(source: string, node: Scalar, offset: number): number {
  const [start, end] = node.range ?? [0, 0]
  const value = String(node.value)
  let at = start
  if (node.type === Scalar.BLOCK_FOLDED || node.type === Scalar.BLOCK_LITERAL) {
    at = source.indexOf('\n', start) + 1
  } else if (node.type === Scalar.QUOTE_DOUBLE || node.type === Scalar.QUOTE_SINGLE) {
    at = start + 1
  }
  for (let i = 0; i <= offset && i < value.length; i++) {
    const char = value[i]!
    if (/\s/.test(char)) continue
    while (at < end && source[at] !== char) at++
    if (i < offset) at++
  }
  return at < end ? at : Math.max(start, end - 1)
}
