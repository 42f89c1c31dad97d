import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { expect } from 'vitest'

type Json = { readonly [name: string]: unknown }

/** Of one document, by operation and status. */
const validators = new Map<string, ValidateFunction>()
const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
const documents = new Map<boolean, Promise<Json>>()

/** Every answer is as the document of the API says, and has nothing that it does not name. */
export async function expectDocumented(
  { url, sandbox }: { readonly url: string; readonly sandbox: boolean },
  method: string,
  target: string,
  { status, body }: { readonly status: number; readonly body: Json },
): Promise<void> {
  const document = documents.get(sandbox) ?? readDocument(url)
  documents.set(sandbox, document)
  const said = await document
  const [path] = target.split('?')
  const found = Object.keys(said.paths as Json).find((one) => patternOf(one).test(path!))
  const operation = (found &&
    (said.paths as Record<string, Json>)[found]?.[method.toLowerCase()]) as Operation | undefined
  if (operation === undefined) return
  const response = operation.responses[status]
  const name = `${method} ${found} ${status}`
  expect(response, `${name} is in the document`).toBeDefined()
  expect(operation['x-response-codes'], name).toContain(body.responseCode)
  const schema = response?.content?.['application/json']?.schema
  if (schema === undefined) return
  const key = `${sandbox} ${name}`
  const validate = validators.get(key) ?? ajv.compile(closed(said, schema) as Json)
  validators.set(key, validate)
  validate(JSON.parse(JSON.stringify(body)))
  expect(validate.errors ?? [], `${name}: ${JSON.stringify(body)}`).toEqual([])
}

interface Operation {
  readonly responses: Record<
    string,
    { readonly content?: Record<string, { readonly schema: unknown }> }
  >
  readonly 'x-response-codes': readonly string[]
}

async function readDocument(url: string): Promise<Json> {
  return (await (await fetch(`${url}/openapi.json`)).json()) as Json
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`)
}

/** The schema with what it refers to, which takes nothing beside what it names. */
function closed(document: Json, schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map((one) => closed(document, one))
  if (typeof schema !== 'object' || schema === null) return schema
  if ('$ref' in schema) return closed(document, pointedAt(document, String(schema.$ref)))
  const entries = Object.entries(schema).map(([name, one]) => [name, closed(document, one)])
  const made: Record<string, unknown> = Object.fromEntries(entries)
  if (made.properties !== undefined) made.additionalProperties ??= false
  return made
}

function pointedAt(document: Json, reference: string): unknown {
  const names = reference.slice(2).split('/')
  return names.reduce<unknown>((part, name) => (part as Json)[name], document)
}
