import {
  detailNames,
  maxDetailChars,
  maxMetadata,
  requestTypes,
} from '../../domain/record/event.ts'
import { responseCodes } from '../../domain/record/response-code.ts'
import { maxTextChars } from '../../wire/field-shape.ts'
import { refusalCodes } from '../../wire/refusal.ts'
import type { Schema as Json } from './field.ts'

/** What the relay sends and hears, on the port of its own: described beside the rest, served elsewhere. */

const id = { type: 'string', minLength: 1, maxLength: 64, pattern: '^[ -~]+$' }
const text = { type: 'string', maxLength: maxTextChars }
const detail = { type: 'string', maxLength: maxDetailChars }
const currency = { type: 'string', pattern: '^[A-Z]{3}$' }
const amount = { type: ['number', 'string'], description: 'Major units' }

export const relayExample = {
  eventId: 'evt-1',
  requestType: 'Authorization',
  transactionId: 'txn-1',
  cardId: 'card-1',
  amount: 12.5,
  currency: 'USD',
  merchant: { mid: 'MID1', mcc: '5411', name: 'Shop', city: 'Lagos', country: 'NG' },
  occurredAt: '2026-11-14T10:00:00Z',
}

export const eventSchema = {
  type: 'object',
  required: ['eventId', 'requestType', 'transactionId', 'cardId', 'currency', 'occurredAt'],
  properties: {
    eventId: id,
    requestType: { type: 'string', enum: Object.keys(requestTypes) },
    transactionId: {
      ...id,
      minLength: 0,
      pattern: '^[ -~]*$',
      description: 'Empty or all zeros: none',
    },
    originalTransactionId: id,
    cardId: { ...id, description: 'Never a card number' },
    amount: { ...amount, description: 'Major units; only a Reversal may leave it out' },
    currency,
    final: { type: 'boolean' },
    partialApprovalSupported: { type: 'boolean' },
    merchant: {
      type: 'object',
      description: 'Asks need mid and mcc',
      properties: {
        mid: id,
        mcc: { type: 'string', pattern: '^[0-9]{4}$' },
        name: text,
        city: text,
        country: { type: 'string', pattern: '^[A-Z]{2}$' },
      },
    },
    channel: id,
    entryMode: id,
    merchantAmount: amount,
    merchantCurrency: currency,
    details: {
      type: 'object',
      description: 'What rules may look at; never booked, and left out where it cannot be read',
      properties: Object.fromEntries(detailNames.map((name) => [name, detail])),
    },
    metadata: { type: 'object', additionalProperties: detail, maxProperties: maxMetadata },
    occurredAt: { type: 'string', format: 'date-time' },
  },
  examples: [relayExample],
}

const decisionSchema = {
  type: 'object',
  required: ['eventId', 'transactionId', 'decision', 'responseCode', 'reason', 'decidedBy'],
  properties: {
    eventId: { type: 'string' },
    transactionId: { type: 'string' },
    decision: { type: 'string', enum: ['approve', 'decline'] },
    responseCode: { type: 'string', enum: Object.keys(responseCodes) },
    reason: { type: 'string' },
    decidedBy: { type: 'string', enum: ['engine', 'default', 'gate'] },
    rulesVersion: { type: 'string' },
    ruleId: { type: 'string' },
    approvedAmount: { type: 'number', description: 'Only of a partial approval' },
    cause: { type: 'string', description: 'Why the default decision was said' },
    field: { type: 'string', description: 'The first field at fault' },
    message: { type: 'string' },
  },
}

const content = { 'application/json': { schema: { $ref: '#/components/schemas/Decision' } } }

function operationOf(operationId: string, summary: string): Json {
  const refused = Object.entries(refusalCodes).filter(([status]) => status !== '200')
  return {
    operationId,
    tags: ['relay'],
    summary,
    security: [{ relay: [] }, {}],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: { $ref: '#/components/schemas/CardEvent' } } },
    },
    responses: {
      200: { description: 'The decision, a decline included', content },
      ...Object.fromEntries(
        refused.map(([status, code]) => {
          return [status, { description: `${code} ${responseCodes[code].meaning}`, content }]
        }),
      ),
    },
  }
}

const servers = [
  {
    url: 'http://{relay}',
    description: 'The relay port (PORT), not this one',
    variables: { relay: { default: 'localhost:8080' } },
  },
]

const organizationId = { name: 'organizationId', in: 'path', required: true, schema: id }

export const relayPaths: Json = {
  '/authorize': { servers, post: operationOf('authorize', 'An event of the relay') },
  '/authorize/{organizationId}': {
    servers,
    parameters: [organizationId],
    post: operationOf(
      'authorize.organization',
      'An event of the relay, for the cards of one organization and by its default decision',
    ),
  },
}

export const relaySchemas: Json = { CardEvent: eventSchema, Decision: decisionSchema }

export const relaySecurity: Json = {
  type: 'apiKey',
  in: 'header',
  name: 'Relay-Signature',
  description:
    't=<unix ms>,v1=<hex of HMAC-SHA256 over t, a dot and the body>; with RELAY_AUTH=hmac',
}
