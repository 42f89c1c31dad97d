import { hasExponent } from '../wire/field-shape.ts'
import { isJsonNumber } from '../wire/json.ts'
import type { PartFile } from './file.ts'
import type { Found, PointerPlan } from './pointer.ts'

/** '' when nothing is there, undefined when what is there is no text. */
export type ReadText = (found: Found) => string | undefined

export const nothing: ReadText = () => ''

/** An amount may be a number with an exponent, but not a text with one. */
type Kind = 'text' | 'amount'

function readAt(plan: PointerPlan, pointer: string, kind: Kind): ReadText {
  const at = plan.place(pointer)
  return (found) => {
    const value = found.at(at)
    if (typeof value === 'string') {
      return kind === 'amount' && hasExponent(value) ? undefined : value
    }
    if (value === undefined || value === null) return ''
    if (typeof value === 'boolean') return String(value)
    return isJsonNumber(value) ? value.decimal : undefined
  }
}

/** The parts one after the other; '' when one of them is missing. */
function compileConcat(plan: PointerPlan, concat: readonly string[], kind: Kind): ReadText {
  const reads = concat.map((part): ReadText => {
    return part.startsWith('/') ? readAt(plan, part, kind) : () => part
  })
  return (found) => {
    let joined = ''
    for (const read of reads) {
      const part = read(found)
      if (part === undefined || part === '') return part
      joined += part
    }
    return joined
  }
}

/** The first that is there. */
export function compileParts(
  plan: PointerPlan,
  parts: readonly PartFile[],
  kind: Kind = 'text',
): ReadText {
  const reads = parts.map(({ pointer, concat, header }): ReadText => {
    if (header !== undefined) {
      const name = header.toLowerCase()
      return (found) => found.header(name)
    }
    return pointer === undefined
      ? compileConcat(plan, concat ?? [], kind)
      : readAt(plan, pointer, kind)
  })
  const [only] = reads
  if (reads.length === 1 && only !== undefined) return only
  return (found) => {
    for (const read of reads) {
      const value = read(found)
      if (value !== '') return value
    }
    return ''
  }
}

interface SourceFile {
  readonly pointer?: readonly PartFile[] | undefined
  readonly coalesce?: readonly PartFile[] | undefined
  readonly concat?: readonly string[] | undefined
}

export function compileSource(plan: PointerPlan, file: SourceFile, kind: Kind = 'text'): ReadText {
  if (file.concat !== undefined) return compileConcat(plan, file.concat, kind)
  const parts = file.pointer ?? file.coalesce
  return parts === undefined ? nothing : compileParts(plan, parts, kind)
}

export function whereOf(file: SourceFile): string {
  const parts: readonly PartFile[] = file.pointer ?? file.coalesce ?? [{ concat: [] }]
  return parts
    .map(({ pointer, header, concat = file.concat ?? [] }) => {
      return header === undefined ? (pointer ?? concat.join('')) : `header ${header}`
    })
    .join(' or ')
}
