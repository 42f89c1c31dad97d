import type { CardEvent } from '../domain/record/event.ts'
import type { ResponseCode } from '../domain/record/response-code.ts'

/** A request that never became an event. Ids are '' unless the request gave well-formed ones. */
export interface Refusal {
  readonly status: keyof typeof refusalCodes
  readonly responseCode: ResponseCode
  /** The field at fault, '' when it is none in particular. */
  readonly field: string
  readonly message: string
  readonly eventId: string
  readonly transactionId: string
  /**
   * What was refused. An advice tells of money that has moved, so its refusal must not look like a
   * receipt. What never was a readable request is told so in HTTP's own words.
   */
  readonly about: 'ask' | 'advice' | 'request'
  /** What the peer calls a message of a kind that its profile does not know; '' otherwise. */
  readonly unknownKind: string
}

/** Codes of a body that is refused with HTTP 400. */
export const bodyCodes = ['136', '131'] as const satisfies readonly ResponseCode[]
export type BodyCode = (typeof bodyCodes)[number]

/**
 * A body that is refused has a code of `bodyCodes`. 911 may be tried again: an advice we could not write down. 200 is a
 * message that a relay profile leaves aside: it is acknowledged, and nothing is decided.
 */
export const refusalCodes = {
  200: '000',
  400: '136',
  401: '146',
  404: '131',
  408: '178',
  413: '136',
  415: '136',
  503: '911',
} as const satisfies Record<number, ResponseCode>

export function isRefusal(result: CardEvent | Refusal): result is Refusal {
  return 'status' in result
}

/** A refusal that is not about the content of the body. */
export function refusalOf(
  status: keyof typeof refusalCodes,
  message: string,
  ids: { readonly eventId: string; readonly transactionId: string } = {
    eventId: '',
    transactionId: '',
  },
): Refusal {
  const { eventId, transactionId } = ids
  return {
    status,
    responseCode: refusalCodes[status],
    field: '',
    message,
    eventId,
    transactionId,
    about: 'request',
    unknownKind: '',
  }
}
