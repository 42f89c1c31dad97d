import type { z } from 'zod'
import { responseCodes } from '../../domain/record/response-code.ts'
import { type Condition, conditions } from '../condition.ts'
import { conditionsIn } from '../input.ts'
import { describedPath, type Route } from '../route.ts'
import { type Schema as Json, schemaOf } from './field.ts'
import { relayPaths, relaySchemas, relaySecurity } from './relay-operation.ts'
import { webhookOperations } from './webhook-operation.ts'

/** What every call may be refused for, whatever it asks. */
const ofEveryCall: readonly Condition[] = [
  'headerMissing',
  'headerMalformed',
  'notAuthenticated',
  'uniqueKeyWrong',
  'clientDisabled',
  'organizationDisabled',
  'rateLimited',
  'scopeMissing',
  'referenceSeen',
  'bodyMalformed',
  'fieldMissing',
  'fieldNotAllowed',
  'outcomeUnknown',
  'unavailable',
  'bug',
]

/** What each call carries besides its token. */
export const callHeaders: Readonly<Record<string, string>> = {
  Reference:
    'Names the call, by 1 to 30 printable characters without & or spaces: repeated within a day, it has one effect',
  Signature:
    'Base64 of the SHA-1, as 40 hex digits in small letters, of METHOD&address&Reference&clientId&clientSecret; the address is whole, with its query, as encodeURIComponent writes it',
  UniqueKey: 'The uniqueKey of the client',
  ServiceAuthorization: 'ServiceAuth, a space, and the clientId in Base64',
}

/** What operations are about, by the first part of their names. */
const topics: Readonly<Record<string, string>> = {
  token: 'Who may call',
  organization: 'What the caller belongs to',
  requests: 'What became of calls',
  customers: 'Who has cards',
  kyc: 'Verifying them',
  cards: 'Issuing, changing and ending cards, and their money',
  merchants: 'Where a card may be used',
  transactions: 'What happened',
  wallets: 'The money that cards are funded with',
  webhooks: 'Who is told of events',
  events: 'What they are told',
  sandbox: 'For tests, in a sandbox only',
  relay: 'Events of the card network, on a port of their own',
}

export function topicOf(operation: string): string {
  return operation.split('.')[0]!
}

/** What the document says of the server. */
export interface Described {
  readonly version: string
  /** Where callers reach it; none when it was not said. */
  readonly publicUrls: readonly string[]
}

/** The OpenAPI 3.1 document of the routes, from the schemas that they validate with. */
export function openApiOf(
  routes: readonly Route[],
  prefix: string,
  { version, publicUrls }: Described,
): Json {
  const paths: Record<string, Record<string, Json>> = {}
  for (const route of routes) {
    const path = describedPath(route, prefix)
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Arbiter',
      version,
      description: 'Customers, cards, money and merchant controls of a card programme.',
    },
    // Without one a client goes by where it found the document.
    ...(publicUrls.length > 0 && { servers: publicUrls.map((url) => ({ url })) }),
    tags: Object.entries(topics).map(([name, description]) => ({ name, description })),
    paths: { '/connect/token': { post: tokenOperation }, ...paths, ...relayPaths },
    webhooks: webhookOperations(),
    components: {
      securitySchemes: {
        basic: { type: 'http', scheme: 'basic', description: 'clientId and clientSecret' },
        bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
        relay: relaySecurity,
      },
      headers: {
        RequestId: { description: 'Also in the log', schema: { type: 'string' } },
      },
      parameters: Object.fromEntries(
        Object.keys(callHeaders).map((name) => [name, headerOf(name)]),
      ),
      schemas: { Refusal: refusalSchema, ...relaySchemas },
    },
  }
}

function headerOf(name: string): Json {
  const description = callHeaders[name]
  return { name, in: 'header', required: true, description, schema: { type: 'string' } }
}

function operationOf(route: Route): Json {
  const refusals = [...new Set([...ofEveryCall, ...ownRefusalsOf(route)])]
  const codes = [...new Set(['000', ...refusals.map((one) => conditions[one].code)])].sort()
  const body = schemaOf(route.body) as {
    readonly required?: readonly string[]
    readonly description?: string
  }
  const isSaid = Object.keys(route.body.shape).length > 0 || body.description !== undefined
  const hasBody = route.method !== 'GET' && isSaid
  return {
    operationId: route.operation,
    tags: [topicOf(route.operation)],
    summary: route.summary,
    security: [{ bearer: [] }],
    'x-scope': route.scope,
    'x-response-codes': codes,
    parameters: [
      ...Object.keys(callHeaders).map((name) => ({ $ref: `#/components/parameters/${name}` })),
      ...parametersOf(route.params, 'path'),
      ...parametersOf(route.query, 'query'),
    ],
    ...(hasBody && {
      requestBody: { required: body.required !== undefined, content: jsonContent(body) },
    }),
    responses: { 200: successOf(route), ...refusalsOf(refusals) },
  }
}

/** What one operation may be refused for that not every one may. */
export function ownRefusalsOf({ params, query, body, refusals }: Route): Condition[] {
  return [...new Set([...[params, query, body].flatMap(conditionsIn), ...refusals])]
}

function parametersOf(fields: z.ZodObject, where: 'path' | 'query'): Json[] {
  const { properties = {}, required = [] } = schemaOf(fields) as {
    properties?: Record<string, Json>
    required?: readonly string[]
  }
  return Object.entries(properties).map(([name, schema]) => {
    return { name, in: where, required: where === 'path' || required.includes(name), schema }
  })
}

function jsonContent(schema: Json): Json {
  return { 'application/json': { schema } }
}

function successOf(route: Route): Json {
  return {
    description: responseCodes['000'].meaning,
    headers: { 'Request-Id': { $ref: '#/components/headers/RequestId' } },
    content: jsonContent(envelopeOf(['000'], schemaOf(route.data))),
  }
}

/** One answer for each status, with the codes that it may carry. */
function refusalsOf(refusals: readonly Condition[]): Record<string, Json> {
  const statuses = [...new Set(refusals.map((one) => conditions[one].status))].sort()
  const entries = statuses.map((status) => {
    const list = refusals.filter((one) => conditions[one].status === status)
    const codes = [...new Set(list.map((one) => conditions[one].code))].sort()
    const description = codes.map((code) => `${code} ${responseCodes[code].meaning}`).join(' · ')
    const schema = { $ref: '#/components/schemas/Refusal' }
    return [String(status), { description, content: jsonContent(schema) }]
  })
  return Object.fromEntries(entries)
}

function envelopeOf(codes: readonly string[], data: Json): Json {
  return {
    type: 'object',
    required: ['responseCode', 'message', 'finality', 'reference', 'data'],
    properties: {
      responseCode: { type: 'string', enum: codes },
      message: { type: 'string' },
      finality: { type: 'string', enum: ['TerminalSuccess', 'TerminalFailure', 'Indeterminate'] },
      reference: { type: ['string', 'null'] },
      data,
      warnings: { type: 'array', items: { type: 'string' } },
    },
  }
}

const fieldError = {
  type: 'object',
  required: ['field', 'message'],
  properties: { field: { type: 'string' }, message: { type: 'string' } },
}

const refusalSchema: Json = (() => {
  const codes = [...new Set(Object.values(conditions).map(({ code }) => code))].sort()
  const envelope = envelopeOf(codes, {}) as { properties: Json }
  const errors = { type: 'array', maxItems: 20, items: fieldError }
  return { ...envelope, properties: { ...envelope.properties, errors } }
})()

const tokenOperation: Json = {
  operationId: 'token',
  tags: ['token'],
  summary: 'A token for the calls below',
  security: [{ basic: [] }],
  requestBody: {
    required: true,
    content: {
      'application/x-www-form-urlencoded': {
        schema: {
          type: 'object',
          required: ['grant_type'],
          properties: {
            grant_type: { type: 'string', enum: ['client_credentials'] },
            scope: { type: 'string', description: 'Separated by spaces; without it, all' },
          },
        },
      },
    },
  },
  responses: {
    200: {
      description: 'A token',
      content: jsonContent({
        type: 'object',
        required: ['access_token', 'token_type', 'expires_in', 'scope'],
        properties: {
          access_token: { type: 'string' },
          token_type: { type: 'string', enum: ['Bearer'] },
          expires_in: { type: 'integer' },
          scope: { type: 'string' },
        },
      }),
    },
    ...Object.fromEntries(
      [400, 401, 403, 405, 429, 500, 503].map((status) => [
        status,
        {
          description: 'As RFC 6749 says',
          content: jsonContent({
            type: 'object',
            required: ['error'],
            properties: { error: { type: 'string' }, error_description: { type: 'string' } },
          }),
        },
      ]),
    ),
  },
}
