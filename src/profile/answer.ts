import { suggestion } from '../document/spelling.ts'
import type { AddFault, Path } from '../document/yaml-document.ts'
import { decimalsOf } from '../domain/record/currency.ts'
import { type CardEvent, isAsk } from '../domain/record/event.ts'
import type { Answer } from '../domain/record/event-record.ts'
import { formatMinor } from '../domain/record/money.ts'
import { isResponseCode, type ResponseCode, reasonOf } from '../domain/record/response-code.ts'
import { quote } from '../wire/quote.ts'
import type { Refusal } from '../wire/refusal.ts'
import type { Echoes } from './echo.ts'
import type { AnswerFile } from './file.ts'
import { isPointer } from './pointer.ts'

export interface Rendered {
  readonly status: number
  readonly body: string
}

export interface AnswerStyle {
  renderReply(event: CardEvent, answer: Answer, echoes: Echoes): Rendered
  renderRefusal(refusal: Refusal, echoes: Echoes): Rendered
}

export interface AnswerOptions {
  readonly file: AnswerFile
  /** The decimals of this peer's minor units, where they are not those of ISO 4217. */
  readonly decimals: Readonly<Record<string, number>>
  /** Takes a pointer that a body repeats; the result is its place among the echoes. */
  readonly echo: (pointer: string) => number
  readonly fault: AddFault
}

/** What a placeholder stands for: a text is quoted, JSON goes in as it is, '' is nothing. */
interface Placeholder<Of extends unknown[]> {
  readonly kind: 'text' | 'json'
  read(...of: Of): string
}

type Placeholders<Of extends unknown[]> = Readonly<Record<string, Placeholder<Of>>>
type Write<Of extends unknown[]> = (...of: Of) => string
type Piece<Of extends unknown[]> = string | Write<Of>

type ReplyOf = [event: CardEvent, answer: Answer, echoes: Echoes]
type RefusalOf = [refusal: Refusal, echoes: Echoes]

/** Compiles the answers of a profile: what is left for an event is to join a few texts. */
export function createAnswerStyle(options: AnswerOptions): AnswerStyle {
  const { file, fault } = options
  const peerCode = compileCodes(file, fault)
  const reply = replyPlaceholders(peerCode, options.decimals)
  const refused = refusalPlaceholders(peerCode)
  const path = (...more: Path): Path => ['answer', ...more]

  const variant = (name: 'approve' | 'decline' | 'partial' | 'acknowledge') => {
    const given = file[name]
    if (given === undefined) return null
    const write = compileBody(given.body, {
      placeholders: reply,
      echo: options.echo,
      fault,
      path: path(name, 'body'),
    })
    return { status: given.status, write }
  }
  const refusal = (name: 'ignore' | 'refuse') =>
    compileBody(file[name]?.body ?? {}, {
      placeholders: refused,
      echo: options.echo,
      fault,
      path: path(name, 'body'),
    })

  const approve = variant('approve')!
  const decline = variant('decline')!
  const partial = variant('partial') ?? approve
  const acknowledge = variant('acknowledge') ?? approve
  const ignore = refusal('ignore')
  const refuse = refusal('refuse')
  for (const name of ['approve', 'partial', 'acknowledge'] as const) {
    const status = file[name]?.status ?? 200
    if (status > 299) fault(path(name, 'status'), 'must be from 200 to 299')
  }

  return {
    renderReply(event, answer, echoes) {
      let { status, write } = decline
      if (answer.code === '000') {
        if (!isAsk(event)) ({ status, write } = acknowledge)
        else ({ status, write } = answer.approvedAmountMinor === null ? approve : partial)
      }
      return { status, body: write(event, answer, echoes) }
    },
    renderRefusal(given, echoes) {
      if (given.status === 200)
        return { status: file.ignore?.status ?? 200, body: ignore(given, echoes) }
      // Only an ask: with the status of a decline the peer would take an advice for booked, and never
      // send it again.
      const status = given.about === 'ask' ? (file.refuse.status ?? given.status) : given.status
      return { status, body: refuse(given, echoes) }
    },
  }
}

function compileCodes(file: AnswerFile, fault: AddFault): ((code: ResponseCode) => string) | null {
  const { codes } = file
  if (codes === undefined) return null
  const otherwise = codes.default
  if (otherwise === undefined) fault(['answer', 'codes'], 'needs a default')
  const table = new Map<string, string>()
  for (const [code, theirs] of Object.entries(codes)) {
    if (code === 'default') continue
    if (isResponseCode(code)) table.set(code, theirs)
    else fault(['answer', 'codes', code], 'is not a response code, nor default', 'name')
  }
  return (code) => table.get(code) ?? otherwise ?? ''
}

function replyPlaceholders(
  peerCode: ((code: ResponseCode) => string) | null,
  decimals: Readonly<Record<string, number>>,
): Placeholders<ReplyOf> {
  const text = (read: Write<ReplyOf>): Placeholder<ReplyOf> => ({ kind: 'text', read })
  const json = (read: Write<ReplyOf>): Placeholder<ReplyOf> => ({ kind: 'json', read })
  const theirMinor = minorWriter(decimals)
  return {
    decision: text((_, { code }) => (code === '000' ? 'approve' : 'decline')),
    responseCode: text((_, { code }) => code),
    reason: text((_, { code }) => reasonOf(code)),
    ...(peerCode === null ? {} : { peerCode: text((_, { code }) => peerCode(code)) }),
    decidedBy: text((_, { decidedBy }) => decidedBy),
    rulesVersion: text((_, { rulesVersion }) => rulesVersion),
    ruleId: text((_, { ruleId }) => ruleId),
    cause: text((_, { cause }) => cause),
    eventId: text(({ eventId }) => eventId),
    requestType: text(({ requestType }) => requestType),
    transactionId: text(({ transactionId }) => transactionId),
    originalTransactionId: text(({ originalTransactionId }) => originalTransactionId),
    cardId: text(({ cardId }) => cardId),
    currency: text(({ currency }) => currency),
    amount: json(({ amountMinor, currency }) => formatMinor(amountMinor ?? 0, currency)),
    amountMinor: json(({ amountMinor, currency }) => theirMinor(amountMinor ?? 0, currency)),
    approvedAmount: json((event, answer) => formatMinor(approved(event, answer), event.currency)),
    approvedAmountMinor: json((event, answer) =>
      theirMinor(approved(event, answer), event.currency),
    ),
  }
}

function approved({ amountMinor }: CardEvent, { code, approvedAmountMinor }: Answer): number {
  return code === '000' ? (approvedAmountMinor ?? amountMinor ?? 0) : 0
}

function minorWriter(
  decimals: Readonly<Record<string, number>>,
): (minor: number, currency: string) => string {
  const theirs = new Map(Object.entries(decimals))
  if (theirs.size === 0) return String
  return (minor, currency) => {
    const ours = decimalsOf(currency)
    const shift = (theirs.get(currency) ?? ours) - ours
    if (shift >= 0) return minor === 0 ? '0' : String(minor) + '0'.repeat(shift)
    // Never more than was approved.
    return String(Math.floor(minor / 10 ** -shift))
  }
}

function refusalPlaceholders(
  peerCode: ((code: ResponseCode) => string) | null,
): Placeholders<RefusalOf> {
  const text = (read: Write<RefusalOf>): Placeholder<RefusalOf> => ({ kind: 'text', read })
  return {
    decision: text(() => 'decline'),
    responseCode: text(({ responseCode }) => responseCode),
    reason: text(({ responseCode }) => reasonOf(responseCode)),
    ...(peerCode === null ? {} : { peerCode: text(({ responseCode }) => peerCode(responseCode)) }),
    decidedBy: text(() => 'gate'),
    eventId: text(({ eventId }) => eventId),
    transactionId: text(({ transactionId }) => transactionId),
    field: text(({ field }) => field),
    message: text(({ message }) => message),
  }
}

interface TemplateContext<Of extends unknown[]> {
  readonly placeholders: Placeholders<Of>
  readonly echo: (pointer: string) => number
  readonly fault: AddFault
  readonly path: Path
}

function compileBody<Of extends unknown[]>(body: unknown, context: TemplateContext<Of>): Write<Of> {
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

function placeholderAsJson<Of extends unknown[]>(
  name: string,
  context: TemplateContext<Of>,
): Write<Of> {
  if (name.startsWith('/')) return echoAsJson(name, context)
  const { placeholders } = context
  const placeholder = Object.hasOwn(placeholders, name) ? placeholders[name] : undefined
  if (placeholder === undefined) {
    const why = name === 'peerCode' ? ' without answer.codes' : ''
    const meant = suggestion(name, Object.keys(placeholders))
    context.fault(context.path, `{{${name}}} is not known here${why}${meant}`)
    return () => ''
  }
  const { kind, read } = placeholder
  return kind === 'json' ? read : (...of) => quote(read(...of))
}

function echoAsJson<Of extends unknown[]>(
  pointer: string,
  { echo, fault, path }: TemplateContext<Of>,
): Write<Of> {
  if (!isPointer(pointer)) {
    fault(path, `{{${pointer}}} must be a JSON pointer (RFC 6901)`)
    return () => ''
  }
  const place = echo(pointer)
  return (...of) => (of[of.length - 1] as Echoes)[place] ?? ''
}
