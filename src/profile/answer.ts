import type { AddFault, Path } from '../document/yaml-document.ts'
import { decimalsOf } from '../domain/record/currency.ts'
import { type CardEvent, isAsk, type RequestType, requestTypes } from '../domain/record/event.ts'
import type { Answer } from '../domain/record/event-record.ts'
import { formatMinor } from '../domain/record/money.ts'
import { isResponseCode, type ResponseCode, reasonOf } from '../domain/record/response-code.ts'
import type { Refusal } from '../wire/refusal.ts'
import type { Echoes } from './echo.ts'
import type { AnswerFile } from './file.ts'
import { compileBody, type Placeholder, type Placeholders, type WriteBody } from './template.ts'

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
  /** The decimals of this peer's minor units in such a message, where they are not those of ISO 4217. */
  readonly decimalsIn: DecimalsIn
  /** Takes a pointer that a body repeats; the result is its place among the echoes. */
  readonly echo: (pointer: string) => number
  readonly fault: AddFault
}

type DecimalsIn = (requestType: RequestType) => Readonly<Record<string, number>>

type ReplyOf = [event: CardEvent, answer: Answer, echoes: Echoes]
type RefusalOf = [refusal: Refusal, echoes: Echoes]

/** Compiles the answers of a profile: what is left for an event is to join a few texts. */
export function createAnswerStyle(options: AnswerOptions): AnswerStyle {
  const { file, fault } = options
  const peerCode = compileCodes(file, fault)
  const reply = replyPlaceholders(peerCode, options.decimalsIn)
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
  decimalsIn: DecimalsIn,
): Placeholders<ReplyOf> {
  const text = (read: WriteBody<ReplyOf>): Placeholder<ReplyOf> => ({ kind: 'text', read })
  const json = (read: WriteBody<ReplyOf>): Placeholder<ReplyOf> => ({ kind: 'json', read })
  const theirMinor = minorWriter(decimalsIn)
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
    amountMinor: json((event) => theirMinor(event.amountMinor ?? 0, event)),
    approvedAmount: json((event, answer) => formatMinor(approved(event, answer), event.currency)),
    approvedAmountMinor: json((event, answer) => theirMinor(approved(event, answer), event)),
  }
}

function approved({ amountMinor }: CardEvent, { code, approvedAmountMinor }: Answer): number {
  return code === '000' ? (approvedAmountMinor ?? amountMinor ?? 0) : 0
}

function minorWriter(decimalsIn: DecimalsIn): (minor: number, event: CardEvent) => string {
  const names = Object.keys(requestTypes) as RequestType[]
  const theirs = new Map(names.map((name) => [name, new Map(Object.entries(decimalsIn(name)))]))
  return (minor, { requestType, currency }) => {
    const ours = decimalsOf(currency)
    const shift = (theirs.get(requestType)?.get(currency) ?? ours) - ours
    if (shift >= 0) return minor === 0 ? '0' : String(minor) + '0'.repeat(shift)
    // Never more than was approved.
    return String(Math.floor(minor / 10 ** -shift))
  }
}

function refusalPlaceholders(
  peerCode: ((code: ResponseCode) => string) | null,
): Placeholders<RefusalOf> {
  const text = (read: WriteBody<RefusalOf>): Placeholder<RefusalOf> => ({ kind: 'text', read })
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
