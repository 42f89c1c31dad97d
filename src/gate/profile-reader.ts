import type { CardEvent, RequestType } from '../domain/event.ts'
import { isId } from './field-shape.ts'
import { isJsonObject, isJsonProblem, parseJson } from './json.ts'
import { type Choice, compileChoice } from './profile-choice.ts'
import { compileFields, override, type ReadFields } from './profile-event.ts'
import { compileId, type TextField } from './profile-field.ts'
import type { FieldsFile, OverridesFile } from './profile-file.ts'
import type { Found, PointerPlan } from './profile-pointer.ts'
import type { Refusal } from './refusal.ts'

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
): (bytes: Buffer) => CardEvent | Refusal {
  const { plan, fields, overrides } = options
  const eventId = compileId(plan, 'eventId', fields.eventId)
  const transactionId = compileId(plan, 'transactionId', fields.transactionId)

  function refuse(
    found: Found | null,
    field: string,
    message: string,
    responseCode: '136' | '131' = '136',
  ): Refusal {
    const idAt = ({ read }: TextField): string => {
      const given = found === null ? '' : (read(found) ?? '')
      return isId(given) ? given : ''
    }
    return {
      status: 400,
      responseCode,
      field,
      message,
      eventId: idAt(eventId),
      transactionId: idAt(transactionId),
    }
  }

  const echoed = options.echoed.map((pointer) => plan.place(pointer))
  const readers = new Map<RequestType, ReadFields>()
  const choose = compileChoice(plan, options.choice, (requestType) => {
    const known = readers.get(requestType)
    if (known !== undefined) return known
    const merged = override(fields, overrides[requestType])
    const reader = compileFields(plan, requestType, merged, echoed, refuse)
    readers.set(requestType, reader)
    return reader
  })

  return (bytes) => {
    const body = parseJson(bytes)
    if (isJsonProblem(body)) {
      return refuse(null, '', `not JSON: ${body.problem} at byte ${body.offsetBytes}`)
    }
    if (!isJsonObject(body)) return refuse(null, '', 'the body must be a JSON object')
    const found = plan.find(body)
    const outcome = choose(found)
    if (typeof outcome === 'function') return outcome(found)
    if (outcome.ignored) return { ...refuse(found, '', outcome.message), ...acknowledged }
    return refuse(found, 'requestType', outcome.message, outcome.code)
  }
}

const acknowledged = { status: 200, responseCode: '000' } as const
