import {
  type Document,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
} from 'yaml'
import type { z } from 'zod'
import type { Fault, Path } from './profile-answer.ts'
import { explainIssue } from './profile-file.ts'

/** One thing that is wrong with a profile, said so that its author finds it. */
export interface ProfileFault {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly message: string
}

export class ProfileRefused extends Error {
  override readonly name = 'ProfileRefused'
  readonly faults: readonly ProfileFault[]

  constructor(faults: readonly ProfileFault[]) {
    const sorted = [...faults].sort((a, b) => a.line - b.line || a.column - b.column)
    super(sorted.map((one) => `${one.file}:${one.line}:${one.column} ${one.message}`).join('\n'))
    this.faults = sorted
  }
}

/** A YAML file that knows where everything in it stands. */
export interface ProfileDocument {
  readonly faults: ProfileFault[]
  /** Adds a fault; where the path leads nowhere, at the nearest thing around it. */
  readonly fault: Fault
  /** The content, checked; null when it has faults. */
  parse<T extends z.ZodType>(schema: T, value: unknown, path: Path): z.output<T> | null
  readonly value: unknown
}

export const maxProfileBytes = 65_536
const maxFaults = 50

export function openProfileDocument(file: string, text: string): ProfileDocument {
  const faults: ProfileFault[] = []
  const lines = new LineCounter()

  function faultAt(offset: number, message: string): void {
    if (faults.length >= maxFaults) return
    const { line, col } = lines.linePos(offset)
    // Line 0 is what an empty file has.
    faults.push({ file, line: Math.max(line, 1), column: Math.max(col, 1), message })
  }

  const document = parse(text, lines)
  if (document === null) faultAt(0, 'cannot be read: it is nested too deeply')
  else checkDocument(document, faultAt)
  const value = document === null || faults.length > 0 ? undefined : document.toJS()

  const fault: Fault = (path, message, at = 'value') => {
    const { node, key } = nearest(document?.contents ?? null, path)
    const name = path.length === 0 ? '' : `${path.join('.')} `
    // A map is better found by its name than by its first entry.
    const shown = key !== null && (at === 'name' || isMap(node) || isSeq(node)) ? key : node
    faultAt(shown?.range?.[0] ?? 0, `${name}${message}`)
  }

  return {
    faults,
    fault,
    value,
    parse(schema, given, path) {
      const result = schema.safeParse(given, { error: explainIssue })
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

  /** Without the steps that only the schema knows: a short form has fewer names than the long one. */
  function written(path: Path): Path {
    return nearest(document?.contents ?? null, path).path
  }
}

function parse(text: string, lineCounter: LineCounter): Document | null {
  try {
    // The library's own faults would quote the file; positions are ours to tell.
    return parseDocument(text, { uniqueKeys: true, prettyErrors: false, lineCounter })
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

function checkDocument(
  document: Document,
  faultAt: (offset: number, message: string) => void,
): void {
  for (const { pos, message } of [...document.errors, ...document.warnings]) {
    faultAt(pos[0], message)
  }
  visit(document, {
    // A few of them make a small file large, and a profile has no use for them.
    Alias: (_, node) => faultAt(node.range?.[0] ?? 0, 'aliases are not allowed'),
    Pair(_, { key }) {
      // 0742 is the number 742, and 000 is 0.
      if (!isScalar(key) || typeof key.value === 'string') return
      if (String(key.value) !== key.source) {
        faultAt(key.range?.[0] ?? 0, `${key.source} is not a text: put it in quotes`)
      }
    },
  })
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
