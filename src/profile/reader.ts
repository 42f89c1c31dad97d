import type { IncomingHttpHeaders } from 'node:http'
import { type CardEvent, type RequestType, requestTypes } from '../domain/record/event.ts'
import { isId } from '../wire/field-shape.ts'
import { isJsonObject, isJsonProblem, parseJson } from '../wire/json.ts'
import type { Refusal } from '../wire/refusal.ts'
import { type Choice, compileChoice } from './choice.ts'
import { noEchoes, type ReadBody, repeat } from './echo.ts'
import { compileFields, type Fault, override, type ReadFields } from './event.ts'
import { compileId, type TextField } from './field.ts'
import type { FieldsFile, OverridesFile } from './file.ts'
import type { Found, PointerPlan } from './pointer.ts'
import { compileParts, nothing } from './source.ts'

export interface ReaderOptions {
  readonly plan: PointerPlan
  readonly choice: Choice
  readonly fields: FieldsFile
  readonly overrides: Readonly<Partial<Record<RequestType, OverridesFile | undefined>>>
  /** Pointers of what the answer repeats, in the order of its places. */
  readonly echoed: readonly string[]
}

/** Compiles a profile's mapping; the result reads one body into a true CardEvent or an answer. */
export function createProfileReader(
  options: ReaderOptions,
): (bytes: Buffer, headers?: IncomingHttpHeaders) => ReadBody {
  const { plan, fields, overrides } = options
  const eventId = compileId(plan, 'eventId', fields.eventId)
  const transactionId = compileId(plan, 'transactionId', fields.transactionId)
  const echoed = options.echoed.map((pointer) => plan.place(pointer))

  function refuse(
    found: Found | null,
    faults: readonly Fault[],
    about: Refusal['about'] = 'ask',
  ): Refusal {
    const idAt = ({ read }: TextField): string => {
      const given = found === null ? '' : (read(found) ?? '')
      return isId(given) ? given : ''
    }
    return {
      status: 400,
      responseCode: '136',
      field: faults[0]?.[0] ?? '',
      message: faults.map(([, message]) => message).join('; '),
      eventId: idAt(eventId),
      transactionId: idAt(transactionId),
      about,
      unknownKind: '',
    }
  }

  /** Of a body that cannot be read nobody knows whether money has moved: then it gets no receipt. */
  const unread = refuse(null, [], mayBeAdvice(options.choice) ? 'request' : 'ask')
  const readers = new Map<RequestType, ReadFields>()
  const choose = compileChoice(plan, options.choice, (requestType) => {
    const known = readers.get(requestType)
    if (known !== undefined) return known
    const merged = override(fields, overrides[requestType])
    const reader = compileFields(plan, requestType, merged, refuse)
    readers.set(requestType, reader)
    return reader
  })
  /** What the peer calls its messages: what the first choice looks at. */
  const readKind =
    'target' in options.choice
      ? nothing
      : compileParts(
          plan,
          options.choice.pointers.map((pointer) => ({ pointer })),
        )

  function readFound(found: Found): CardEvent | Refusal {
    const outcome = choose(found)
    if (typeof outcome === 'function') return outcome(found)
    const { what, code, message } = outcome
    if (what === 'refuse') {
      return { ...refuse(found, [['requestType', message]]), responseCode: code }
    }
    const unknownKind = what === 'unknown' ? readKind(found) || 'without a kind' : ''
    return { ...refuse(found, [['', message]]), status: 200, responseCode: '000', unknownKind }
  }

  return (bytes, headers = {}) => {
    const body = parseJson(bytes)
    if (isJsonProblem(body)) {
      const message = `not JSON: ${body.problem} at byte ${body.offsetBytes}`
      return { event: { ...unread, message }, echoes: noEchoes }
    }
    if (!isJsonObject(body)) {
      return { event: { ...unread, message: 'the body must be a JSON object' }, echoes: noEchoes }
    }
    const found = plan.find(body, headers)
    const event = readFound(found)
    return { event, echoes: echoed.length === 0 ? noEchoes : repeat(found, echoed) }
  }
}

/** Whether any message that the peer sends is an advice. */
function mayBeAdvice(choice: Choice): boolean {
  if ('map' in choice) {
    const { map, otherwise } = choice
    return [...map.values(), ...(otherwise === null ? [] : [otherwise])].some(mayBeAdvice)
  }
  const { target } = choice
  return Object.hasOwn(requestTypes, target) && requestTypes[target as RequestType] === 'advice'
}
