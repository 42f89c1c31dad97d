import type { ResponseCode } from '../domain/record/response-code.ts'

type Status = 400 | 401 | 403 | 404 | 422 | 429 | 500 | 502 | 503 | 504

/** Everything that a call can be refused for: the one table from condition to HTTP status and code. */
export const conditions = {
  headerMissing: { status: 400, code: '158' },
  headerMalformed: { status: 400, code: '136' },
  notAuthenticated: { status: 401, code: '146' },
  uniqueKeyWrong: { status: 401, code: '113' },
  clientDisabled: { status: 403, code: '149' },
  organizationDisabled: { status: 403, code: '115' },
  rateLimited: { status: 429, code: '170' },
  routeUnknown: { status: 404, code: '131' },
  scopeMissing: { status: 403, code: '149' },
  referenceSeen: { status: 400, code: '139' },
  outcomeUnknown: { status: 504, code: '151' },

  bodyMalformed: { status: 400, code: '136' },
  fieldMissing: { status: 400, code: '158' },
  fieldNotAllowed: { status: 400, code: '131' },
  amountMalformed: { status: 400, code: '111' },
  cardIdMalformed: { status: 400, code: '112' },
  currencyMalformed: { status: 400, code: '121' },
  nameOnCardMalformed: { status: 400, code: '123' },
  mccMalformed: { status: 400, code: '127' },
  midMalformed: { status: 400, code: '134' },
  dateMalformed: { status: 400, code: '132' },
  identityInUrl: { status: 400, code: '137' },

  cardUnknown: { status: 404, code: '148' },
  recordUnknown: { status: 404, code: '157' },

  amountTooLarge: { status: 422, code: '111' },
  topUpTooLarge: { status: 422, code: '114' },
  customerNotApproved: { status: 422, code: '115' },
  fundsMissing: { status: 422, code: '116' },
  cardNotActive: { status: 422, code: '117' },
  notPermitted: { status: 422, code: '119' },
  currencyNotSupported: { status: 422, code: '121' },
  countryNotSupported: { status: 422, code: '126' },
  midRefused: { status: 422, code: '134' },
  cardClosed: { status: 422, code: '143' },
  negativeBalance: { status: 422, code: '161' },

  bug: { status: 500, code: '911' },
  providerFailed: { status: 502, code: '152' },
  unavailable: { status: 503, code: '150' },
  changedMeanwhile: { status: 503, code: '170' },
  providerTimedOut: { status: 504, code: '172' },
} as const satisfies Record<string, { readonly status: Status; readonly code: ResponseCode }>

export type Condition = keyof typeof conditions

/** One field of a body, path or query, or one header, that is wrong. */
export interface FieldError {
  /** '' for what concerns none alone, as a body that is not JSON. */
  readonly field: string
  readonly message: string
}

/** Why a call was not done. */
export interface Refused {
  readonly condition: Condition
  /** For people, behind the code's meaning; never a secret, an identity number or a card number. */
  readonly detail: string
  readonly errors?: readonly FieldError[]
  readonly data?: unknown
  /** For 429 and 503. */
  readonly retryAfterSeconds?: number
  /** For 401: what WWW-Authenticate says; without it Bearer. */
  readonly challenge?: string
}

export function refuse(
  condition: Condition,
  detail = '',
  more: Omit<Refused, 'condition' | 'detail'> = {},
): Refused {
  return { condition, detail, ...more }
}

/** Because of one field of a body, path or query, or of one header. */
export function refuseField(condition: Condition, field: string, message: string): Refused {
  return refuse(condition, `${field} ${message}`, { errors: [{ field, message }] })
}

export function isRefused(result: object): result is Refused {
  return 'condition' in result
}
