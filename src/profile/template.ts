import { suggestion } from '../document/spelling.ts'
import type { AddFault, Path } from '../document/yaml-document.ts'
import { quote } from '../wire/quote.ts'
import type { Echoes } from './echo.ts'
import { isPointer } from './pointer.ts'

/** What a placeholder stands for: a text is quoted, JSON goes in as it is, '' is nothing. */
export interface Placeholder<Of extends unknown[]> {
  readonly kind: 'text' | 'json'
  read(...of: Of): string
}

export type Placeholders<Of extends unknown[]> = Readonly<Record<string, Placeholder<Of>>>
export type WriteBody<Of extends unknown[]> = (...of: Of) => string
type Piece<Of extends unknown[]> = string | WriteBody<Of>

interface TemplateContext<Of extends unknown[]> {
  readonly placeholders: Placeholders<Of>
  readonly echo: (pointer: string) => number
  readonly fault: AddFault
  readonly path: Path
}

/** Compiles a body with placeholders; what goes in for an echo is the last argument of the result. */
export function compileBody<Of extends unknown[]>(
  body: unknown,
  context: TemplateContext<Of>,
): WriteBody<Of> {
  const pieces = joined(piecesOf(body, context))
  const [only = ''] = pieces
  if (pieces.length <= 1) return typeof only === 'string' ? () => only : only
  return (...of) => {
    let json = ''
    for (const piece of pieces) json += typeof piece === 'string' ? piece : piece(...of)
    return json
  }
}

function joined<Of extends unknown[]>(pieces: readonly Piece<Of>[]): Piece<Of>[] {
  const result: Piece<Of>[] = []
  for (const piece of pieces) {
    const last = result.at(-1)
    if (typeof piece === 'string' && typeof last === 'string') {
      result[result.length - 1] = last + piece
    } else {
      result.push(piece)
    }
  }
  return result
}

function piecesOf<Of extends unknown[]>(value: unknown, context: TemplateContext<Of>): Piece<Of>[] {
  if (typeof value === 'string') return textPieces(value, context)
  if (Array.isArray(value)) {
    const items = value.map((item, i) => piecesOf(item, { ...context, path: [...context.path, i] }))
    return ['[', ...items.flatMap((item, i) => (i === 0 ? item : [',', ...item])), ']']
  }
  if (typeof value === 'object' && value !== null) return mapPieces(value, context)
  return [JSON.stringify(value) ?? 'null']
}

function mapPieces<Of extends unknown[]>(map: object, context: TemplateContext<Of>): Piece<Of>[] {
  const pieces: Piece<Of>[] = ['{']
  for (const [i, [name, value]] of Object.entries(map).entries()) {
    const inner = { ...context, path: [...context.path, name] }
    const label = `${i === 0 ? '' : ','}${JSON.stringify(name)}:`
    const optional = typeof value === 'string' ? /^\{\{([^{}]*)\?\}\}$/.exec(value)?.[1] : undefined
    if (optional === undefined) {
      pieces.push(label, ...piecesOf(value, inner))
      continue
    }
    if (i === 0) context.fault(inner.path, 'is left out at times, so it cannot be the first')
    const write = placeholderAsJson(optional, inner)
    pieces.push((...of: Of) => {
      const json = write(...of)
      return json === '' || json === '""' ? '' : label + json
    })
  }
  pieces.push('}')
  return pieces
}

/** A text that is one placeholder takes the type of what it stands for; in others it is text. */
function textPieces<Of extends unknown[]>(text: string, context: TemplateContext<Of>): Piece<Of>[] {
  const whole = /^\{\{([^{}]*)\}\}$/.exec(text)?.[1]
  if (whole !== undefined) {
    const write = placeholderAsJson(whole, context)
    return [(...of: Of) => write(...of) || 'null']
  }
  const pieces: Piece<Of>[] = ['"']
  let at = 0
  for (const match of text.matchAll(/\{\{([^{}]*)\}\}/g)) {
    pieces.push(literal(text.slice(at, match.index)))
    const write = placeholderAsJson(match[1] ?? '', context)
    pieces.push((...of: Of) => {
      const json = write(...of)
      return json.charCodeAt(0) === 0x22 ? json.slice(1, -1) : json
    })
    at = match.index + match[0].length
  }
  pieces.push(literal(text.slice(at)), '"')
  return pieces

  function literal(plain: string): string {
    if (plain.includes('{{')) context.fault(context.path, 'has a placeholder without its }}')
    return JSON.stringify(plain).slice(1, -1)
  }
}

/** After the name of a number: the peer takes it as a text. */
const textMark = ':text'

function placeholderAsJson<Of extends unknown[]>(
  name: string,
  context: TemplateContext<Of>,
): WriteBody<Of> {
  if (name.startsWith('/')) return echoAsJson(name, context)
  const { placeholders } = context
  const asText = name.endsWith(textMark)
  const plain = asText ? name.slice(0, -textMark.length) : name
  const placeholder = Object.hasOwn(placeholders, plain) ? placeholders[plain] : undefined
  if (placeholder === undefined) {
    const why = plain === 'peerCode' ? ' without answer.codes' : ''
    const meant = suggestion(plain, Object.keys(placeholders))
    context.fault(context.path, `{{${name}}} is not known here${why}${meant}`)
    return () => ''
  }
  const { kind, read } = placeholder
  return kind === 'json' && !asText ? read : (...of) => quote(read(...of))
}

function echoAsJson<Of extends unknown[]>(
  pointer: string,
  { echo, fault, path }: TemplateContext<Of>,
): WriteBody<Of> {
  if (!isPointer(pointer)) {
    fault(path, `{{${pointer}}} must be a JSON pointer (RFC 6901)`)
    return () => ''
  }
  const place = echo(pointer)
  return (...of) => (of[of.length - 1] as Echoes)[place] ?? ''
}
