import { Validator } from '@seriousme/openapi-schema-validator'
import { isAxiosError } from 'axios'
import { type Document, OpenAPIClientAxios, type OpenAPIV3_1 } from 'openapi-client-axios'
import { describe, expect, it } from 'vitest'
import type { Schema } from '../../../src/api/document/field.ts'
import { eventSchema, relayExample } from '../../../src/api/document/relay-operation.ts'
import { scopes } from '../../../src/management/client.ts'
import { readEvent } from '../../../src/wire/event.ts'
import { isRefusal } from '../../../src/wire/refusal.ts'
import { openApi } from '../../support/api-world.ts'

/** Every operation that the contract names, with the scope that its token needs. */
const contract: readonly (readonly [operation: string, scope: string])[] = [
  ['POST /kyc/individual', 'CardAPIs'],
  ['POST /kyc/business', 'CardAPIs'],
  ['GET /kyc/{kycToken}', 'CardAPIs.Read'],
  ['POST /kyc/status', 'CardAPIs.Read'],
  ['GET /customers', 'CardAPIs.Read'],
  ['GET /customers/{customerId}', 'CardAPIs.Read'],
  ['POST /cards/retail', 'CardAPIs'],
  ['POST /cards/corporate', 'CardAPIs'],
  ['POST /cards/lite', 'CardAPIs'],
  ['POST /cards/reissue', 'CardAPIs'],
  ['GET /cards', 'CardAPIs.Read'],
  ['GET /cards/{cardId}', 'CardAPIs.Read'],
  ['GET /cards/{cardId}/full', 'CardAPIs.Pan'],
  ['PATCH /cards/{cardId}', 'CardAPIs'],
  ['POST /cards/{cardId}/freeze', 'CardAPIs'],
  ['POST /cards/{cardId}/unfreeze', 'CardAPIs'],
  ['POST /cards/{cardId}/terminate', 'CardAPIs'],
  ['GET /transactions', 'CardAPIs.Read'],
  ['GET /cards/{cardId}/transactions/{transactionId}', 'CardAPIs.Read'],
  ['POST /cards/{cardId}/topup', 'CardAPIs'],
  ['POST /cards/{cardId}/withdrawal', 'CardAPIs'],
  ['POST /cards/transfer', 'CardAPIs'],
  ['POST /cards/{cardId}/regularize', 'CardAPIs'],
  ['POST /cards/{cardId}/charges/reprocess', 'CardAPIs'],
  ['POST /cards/{cardId}/merchants/blacklist', 'CardAPIs'],
  ['POST /cards/{cardId}/merchants/blacklist/remove', 'CardAPIs'],
  ['POST /cards/{cardId}/merchants/whitelist', 'CardAPIs'],
  ['POST /cards/{cardId}/merchants/whitelist/remove', 'CardAPIs'],
  ['POST /cards/{cardId}/merchants/unblock-once', 'CardAPIs'],
  ['GET /wallets', 'CardAPIs.Read'],
  ['GET /wallets/{currency}/entries', 'CardAPIs.Read'],
  ['POST /wallets/{currency}/fund', 'CardAPIs.Fund'],
  ['POST /webhooks', 'CardAPIs'],
  ['GET /webhooks', 'CardAPIs'],
  ['PATCH /webhooks/{webhookId}', 'CardAPIs'],
  ['DELETE /webhooks/{webhookId}', 'CardAPIs'],
  ['POST /webhooks/{webhookId}/rotate-secret', 'CardAPIs'],
  ['POST /webhooks/{webhookId}/test', 'CardAPIs'],
  ['POST /webhooks/{webhookId}/replay', 'CardAPIs'],
  ['GET /events', 'CardAPIs'],
  ['GET /events/{eventId}', 'CardAPIs'],
  ['GET /requests/{reference}', 'CardAPIs.Read'],
  ['GET /organization', 'CardAPIs.Read'],
  ['POST /sandbox/kyc/{kycToken}', 'CardAPIs'],
  ['POST /sandbox/events', 'CardAPIs'],
]

interface Operation {
  readonly operationId: string
  readonly tags?: readonly string[]
  readonly 'x-scope'?: string
  readonly 'x-response-codes'?: readonly string[]
  readonly parameters?: readonly {
    readonly name?: string
    readonly in?: string
    readonly schema?: Schema
  }[]
  readonly requestBody?: {
    readonly required: boolean
    readonly content: Record<string, { readonly schema: Schema }>
  }
}

type Described = Omit<OpenAPIV3_1.Document, 'paths'> & {
  readonly paths: Record<string, Record<string, Operation>>
}

const prefix = '/api/v1'

/** Each described operation of the API, such as `GET /cards/{cardId}`. */
function operationsIn({ paths }: Described): Map<string, Operation> {
  const found = Object.entries(paths).filter(([path]) => path.startsWith(prefix))
  return new Map(
    found.flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => [
        `${method.toUpperCase()} ${path.slice(prefix.length)}`,
        operation,
      ]),
    ),
  )
}

async function openDocument() {
  const world = await openApi({ sandbox: true, scopes: [...scopes] })
  const document = (await (await fetch(`${world.url}/openapi.json`)).json()) as Described
  return { world, document }
}

describe('the OpenAPI document', () => {
  it('is one by the rules of OpenAPI', async () => {
    const { document } = await openDocument()
    const { valid, errors } = await new Validator().validate(structuredClone(document) as never)
    expect(errors).toBeUndefined()
    expect(valid).toBe(true)
    expect([document.openapi, document.info.version]).toEqual(['3.1.0', '1.2.3'])
  })

  it('names the addresses that the server is reached at, where these were said', async () => {
    const publicUrls = ['https://cards.example.com', 'https://b.example.com/arbiter']
    const { url } = await openApi({ sandbox: true, publicUrls })
    const document = (await (await fetch(`${url}/openapi.json`)).json()) as Described
    expect(document.servers).toEqual(publicUrls.map((one) => ({ url: one })))
    const { valid } = await new Validator().validate(structuredClone(document) as never)
    expect(valid).toBe(true)
    expect((await openDocument()).document.servers).toBeUndefined()
  })

  it('says what each operation is about, and what the headers of a call must be', async () => {
    const { document } = await openDocument()
    const topics = (document.tags ?? []).map(({ name }) => name)
    const operations = Object.values(document.paths).flatMap((methods) => {
      return Object.entries(methods).flatMap(([name, one]) => (/^[a-z]+$/.test(name) ? one : []))
    })
    const named = operations.flatMap(({ tags = [] }) => tags)
    expect([...new Set(named)].sort()).toEqual([...topics].sort())
    expect(named.length).toBe(operations.filter(({ operationId }) => operationId).length)
    for (const [name, header] of Object.entries(document.components?.parameters ?? {})) {
      expect(header, name).toMatchObject({ name, description: expect.stringMatching(/.{20}/) })
    }
  })

  it('has every operation of the contract with its scope, and no other', async () => {
    const { document } = await openDocument()
    const described = operationsIn(document)
    const named = new Map(contract)
    expect([...described.keys()].sort()).toEqual([...named.keys()].sort())
    for (const [operation, { 'x-scope': scope }] of described) {
      expect([operation, scope]).toEqual([operation, named.get(operation)])
    }
    const ids = [...described.values()].map(({ operationId }) => operationId)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('has a body for an event of a sandbox, and says what stands for a kycToken', async () => {
    const { document } = await openDocument()
    const bodyOf = (name: string) =>
      operationsIn(document).get(name)?.requestBody?.content['application/json']?.schema
    expect(bodyOf('POST /sandbox/events')).toMatchObject({
      type: 'object',
      additionalProperties: {},
      description: expect.stringContaining('CardEvent'),
    })
    expect(JSON.stringify(bodyOf('POST /kyc/status'))).toContain('BVN')
    expect(JSON.stringify(document)).toContain('at most four, with spaces between')
  })

  it('says of every text that a call may have what it must be', async () => {
    const { document } = await openDocument()
    const silent = [...operationsIn(document)].flatMap(([name, { parameters, requestBody }]) => {
      const fields = (parameters ?? []).flatMap(({ name, schema }) => silentTexts(name, schema))
      const body = requestBody?.content['application/json']?.schema
      return [...fields, ...silentTexts('', body)].map((field) => `${name} ${field}`)
    })
    expect(silent).toEqual([])
  })

  it('says of a parameter that it is a number or a yes or no, as clients made from it then take it', async () => {
    const { parameters } = operationsIn((await openDocument()).document).get('GET /cards')!
    const said = parameters!.map(({ name, schema }) => [name, schema])
    expect(said).toContainEqual([
      'limit',
      expect.objectContaining({ type: 'integer', maximum: 100 }),
    ])
    expect(said).toContainEqual(['negative', { type: 'boolean' }])
  })

  it('demands a body of those operations that say without one what is missing', async () => {
    const { world, document } = await openDocument()
    for (const [name, { requestBody }] of operationsIn(document)) {
      if (requestBody === undefined) continue
      const [method, path] = name.replace(/{\w+}/g, 'USD').split(' ') as [string, string]
      const { errors = [] } = await world.send(method, path)
      const isMissing = errors.some(({ message }) => message === 'is required')
      expect([name, isMissing]).toEqual([name, requestBody.required])
    }
  })

  it('makes a client that calls each operation, and gets a code that the document names', async () => {
    const { world, document } = await openDocument()
    const definition = document as unknown as Document
    const api = new OpenAPIClientAxios({ definition, axiosConfigDefaults: { baseURL: world.url } })
    const client = await api.init()
    client.interceptors.request.use(async (config) => {
      const target = client.getUri(config).slice(world.url.length)
      const method = (config.method ?? 'get').toUpperCase()
      for (const [name, value] of Object.entries(await world.headersOf(method, target))) {
        config.headers.set(name, value)
      }
      return config
    })
    const said = new Map<string, string>()
    for (const [name, operation] of operationsIn(document)) {
      const { operationId, parameters = [], 'x-response-codes': codes = [] } = operation
      const inPath = parameters.filter((one) => one.in === 'path')
      const given = Object.fromEntries(inPath.map((one) => [one.name ?? '', sampleOf(one.name)]))
      const body = name.startsWith('GET') ? undefined : {}
      const answer = await client[operationId]!(given, body).catch((error: unknown) => {
        if (isAxiosError(error) && error.response !== undefined) return error.response
        throw error
      })
      const { responseCode } = answer.data as { responseCode: string }
      expect([name, codes]).toEqual([name, expect.arrayContaining([responseCode])])
      said.set(name, responseCode)
      world.time.ms += 1_000
    }
    // What a field says when it is wrong is listed wherever that field is.
    for (const name of ['POST /cards/{cardId}/topup', 'POST /cards/transfer']) {
      const codes = operationsIn(document).get(name)?.['x-response-codes']
      expect([name, codes]).toEqual([name, expect.arrayContaining(['112'])])
    }
    const lists = ['customers', 'cards', 'transactions', 'wallets', 'webhooks', 'events']
    for (const list of ['organization', ...lists]) expect(said.get(`GET /${list}`)).toBe('000')
    expect(world.bugs).toEqual([])
  })

  it('describes what the relay sends, as it is read', () => {
    const read = (event: object) => readEvent(Buffer.from(JSON.stringify(event)))
    expect(isRefusal(read(relayExample))).toBe(false)
    const names = Object.keys(relayExample) as (keyof typeof relayExample)[]
    const needed = names.filter((name) => {
      const { [name]: _, ...rest } = relayExample
      return isRefusal(read({ ...rest, requestType: 'Reversal' })) || name === 'requestType'
    })
    expect(needed.sort()).toEqual([...eventSchema.required].sort())
    const { transactionId } = eventSchema.properties
    expect([transactionId.minLength, new RegExp(transactionId.pattern).test('')]).toEqual([0, true])
    expect(isRefusal(read({ ...relayExample, transactionId: '' }))).toBe(false)
  })

  it('tells how long a text for rules may be, as it is read', () => {
    const { maxLength } = eventSchema.properties.metadata.additionalProperties
    expect(eventSchema.properties.details.properties.wallet).toMatchObject({ maxLength })
    for (const [length, isKept] of [
      [maxLength, true],
      [maxLength + 1, false],
    ] as const) {
      const text = 'x'.repeat(length)
      const event = { ...relayExample, details: { wallet: text }, metadata: { basket: text } }
      const read = JSON.stringify(readEvent(Buffer.from(JSON.stringify(event))))
      expect([length, read.split(text).length - 1]).toEqual([length, isKept ? 2 : 0])
    }
  })
})

/** The names of fields that are text of which nothing more is said. */
function silentTexts(name = '', schema: Schema = {}): string[] {
  const { properties, items, ...says } = schema
  const inner = { ...(properties as Schema | undefined), ...(items ? { '[]': items } : {}) }
  const told = ['pattern', 'enum', 'maxLength', 'description'].some((word) => word in says)
  const own = says.type === 'string' && !told ? [name] : []
  return [
    ...own,
    ...Object.entries(inner).flatMap(([part, one]) =>
      silentTexts(`${name}.${part}`, one as Schema),
    ),
  ]
}

function sampleOf(name: string | undefined): string {
  return name === 'currency' ? 'USD' : 'sample-1'
}
