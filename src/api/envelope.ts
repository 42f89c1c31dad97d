import { type Finality, type ResponseCode, responseCodes } from '../domain/record/response-code.ts'
import { conditions, type FieldError, type Refused } from './condition.ts'

/** The body of every answer under /api/v1. */
export interface Envelope {
  readonly responseCode: ResponseCode
  readonly message: string
  readonly finality: Finality
  /** null when the header was malformed. */
  readonly reference: string | null
  readonly data: unknown
  /** Names of fields that were not understood. */
  readonly warnings?: readonly string[]
  readonly errors?: readonly FieldError[]
}

const maxErrors = 20

export function successOf(
  reference: string,
  data: unknown,
  warnings: readonly string[] = [],
): Envelope {
  const { meaning: message, finality } = responseCodes['000']
  const envelope: Envelope = { responseCode: '000', message, finality, reference, data }
  return warnings.length === 0 ? envelope : { ...envelope, warnings }
}

export function refusalEnvelope(reference: string | null, refused: Refused): Envelope {
  const { code, status } = conditions[refused.condition]
  const { meaning, finality } = responseCodes[code]
  const message = refused.detail === '' ? meaning : `${meaning}: ${refused.detail}`
  const data = refused.data ?? null
  const envelope: Envelope = { responseCode: code, message, finality, reference, data }
  // What is wrong with a call is always in the same place, also where no field of it has a name.
  const whole = status === 400 ? [{ field: '', message: refused.detail || meaning }] : []
  const { errors = whole } = refused
  return errors.length === 0 ? envelope : { ...envelope, errors: errors.slice(0, maxErrors) }
}
