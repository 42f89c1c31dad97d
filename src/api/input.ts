import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { explainIssue } from '../document/schema-words.ts'
import { suggestion } from '../document/spelling.ts'
import { readBody } from './body.ts'
import {
  type Condition,
  type FieldError,
  isRefused,
  type Refused,
  refuse,
  refuseField,
} from './condition.ts'
import type { Route } from './route.ts'

/** What a field says when it is wrong, where that is not the general format error. */
export const fieldConditions = z.registry<{ readonly condition: Condition }>()

/** What a call gave, as its schema reads it. */
export interface Read<T> {
  readonly value: T
  /** Names that were not understood, and ignored. */
  readonly warnings: readonly string[]
}

type Fields = Readonly<Record<string, unknown>>

/** Names that stand for nothing: a slip is refused, others are ignored or, in a query, refused too. */
export type Unknown = 'ignored' | 'refused'

const noBody = { body: null } as const
const jsonType = /^application\/json\s*(?:;|$)/i

/** Checks 11: content type, JSON, path, query and fields. */
export function readInput(request: FastifyRequest, route: Route, target: string) {
  const hasBody = route.method !== 'GET'
  const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  if (hasBody && bytes.length > 0 && !jsonType.test(request.headers['content-type'] ?? '')) {
    const message = 'the content type must be application/json'
    return refuse('bodyMalformed', message, { errors: [{ field: 'Content-Type', message }] })
  }
  const given = hasBody ? readBody(bytes) : noBody
  if (isRefused(given)) return given
  const plain = given.body
  const params = readFields(route.params, request.params, 'ignored')
  if (isRefused(params)) return params
  const asked = queryOf(target)
  if (typeof asked === 'string') return refuseField('fieldNotAllowed', asked, 'stands twice')
  const query = readFields(route.query, asked, 'refused')
  if (isRefused(query)) return query
  const body = readFields(route.body, plain ?? {}, 'ignored')
  if (isRefused(body)) return body
  const { warnings } = body
  return { params: params.value, query: query.value, body: body.value, warnings, plain }
}

/** The name that stands twice, when one does. */
function queryOf(target: string): Readonly<Record<string, string>> | string {
  const at = target.indexOf('?')
  if (at < 0) return {}
  const pairs = [...new URLSearchParams(target.slice(at))]
  const seen = new Set<string>()
  const [twice] = pairs.find(([name]) => seen.size === seen.add(name).size) ?? []
  return twice ?? Object.fromEntries(pairs)
}

/** Reads a body, a path or a query; the code of a refusal is that of the first wrong field. */
export function readFields<S extends z.ZodObject>(
  schema: S,
  given: unknown,
  unknown: Unknown,
): Read<z.output<S>> | Refused {
  if (!isFields(given)) return refuse('bodyMalformed', 'the body must be an object')
  if (isNothing(schema, given)) return { value: given as z.output<S>, warnings: [] }
  const strangers = strangersIn(schema, given, '')
  const slips = strangers.filter(({ message }) => message !== '' || unknown === 'refused')
  const result = schema.safeParse(given, { error: explained })
  if (result.success && slips.length === 0) {
    return { value: result.data, warnings: strangers.map(({ field }) => field) }
  }
  const issues = result.error?.issues ?? []
  const errors = [
    ...slips.map(({ field, message }) => ({ field, message: `is not known${message}` })),
    ...issues.map((issue) => ({
      field: nameOf(issue.path),
      message: isMissing(issue, given) ? 'is required' : issue.message,
    })),
  ]
  const [first] = slips.length > 0 ? [] : issues
  return refuse(conditionOf(schema, first, given), textOf(errors[0]!), { errors })
}

/** Of what is refused; without an issue, for a name that is not known. */
function conditionOf(schema: z.ZodType, issue: z.core.$ZodIssue | undefined, given: Fields) {
  if (issue === undefined) return 'fieldNotAllowed'
  return isMissing(issue, given) ? 'fieldMissing' : conditionAt(schema, issue.path)
}

/** In words that go on after the name of the field; what is null is there, and not missing. */
function explained(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type' && issue.input === null) return 'must not be null'
  const words = explainIssue(issue)
  const isSize = issue.code === 'too_big' || issue.code === 'too_small'
  const counted = isSize ? countedIn[issue.origin] : undefined
  return counted === undefined ? words : `${words} ${counted} long`
}

/** What the length of a text or a list is counted in. */
const countedIn: Readonly<Record<string, string>> = { string: 'characters', array: 'entries' }

/** Nothing was asked for and nothing given, as with the query of most calls. */
function isNothing(schema: z.ZodObject, given: Fields): boolean {
  for (const _ in given) return false
  for (const _ in schema.shape) return false
  return true
}

function textOf({ field, message }: FieldError): string {
  return field === '' ? message : `${field} ${message}`
}

function nameOf(path: readonly PropertyKey[]): string {
  return path.map(String).join('.')
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isMissing(issue: z.core.$ZodIssue, given: Fields): boolean {
  let at: unknown = given
  for (const step of issue.path) {
    if (typeof at !== 'object' || at === null) return false
    at = (at as Record<PropertyKey, unknown>)[step]
  }
  return at === undefined
}

/** Fields that the schema does not have; the message suggests the one that was meant. */
function strangersIn(schema: z.ZodType, given: unknown, prefix: string): FieldError[] {
  const inner = unwrapped(schema).at(-1)
  if (!isFields(given)) return []
  // The one name that zod passes over where any may stand.
  if (inner instanceof z.ZodRecord && Object.hasOwn(given, '__proto__')) {
    return [{ field: `${prefix}__proto__`, message: '' }]
  }
  if (!(inner instanceof z.ZodObject)) return []
  // What takes any name knows them all.
  if (inner.def.catchall instanceof z.ZodUnknown) return []
  const shape = inner.shape as Record<string, z.ZodType>
  return Object.entries(given).flatMap(([name, value]) => {
    const field = `${prefix}${name}`
    const known = Object.hasOwn(shape, name) ? shape[name] : undefined
    if (known !== undefined) return strangersIn(known, value, `${field}.`)
    return [{ field, message: suggestion(name, Object.keys(shape)) }]
  })
}

/** A schema and what it wraps: optional, nullable, with a default, refined or transformed. */
function unwrapped(schema: z.ZodType): z.ZodType[] {
  const layers = [schema]
  for (;;) {
    const { def } = layers.at(-1)! as unknown as {
      def: { innerType?: z.ZodType; in?: z.ZodType }
    }
    const inner = def.innerType ?? def.in
    if (inner === undefined) return layers
    layers.push(inner)
  }
}

/** What the fields of a body, a path or a query say when they are wrong, beside the general format error. */
export function conditionsIn(schema: z.ZodType): Condition[] {
  const layers = unwrapped(schema)
  const own = layers.flatMap((layer) => fieldConditions.get(layer)?.condition ?? [])
  const inner = layers.at(-1)!
  const fields = inner instanceof z.ZodObject ? Object.values(inner.shape as z.ZodRawShape) : []
  const items = inner instanceof z.ZodArray ? [inner.element] : []
  return [...own, ...[...fields, ...items].flatMap((one) => conditionsIn(one as z.ZodType))]
}

/** The condition of the innermost field on the way that has one. */
function conditionAt(schema: z.ZodType, path: readonly PropertyKey[]): Condition {
  let at: z.ZodType | undefined = schema
  let found: Condition = 'bodyMalformed'
  for (let i = 0; at !== undefined; i++) {
    const layers = unwrapped(at)
    for (const layer of layers) found = fieldConditions.get(layer)?.condition ?? found
    const inner = layers.at(-1)!
    const step = path[i]
    if (step === undefined) return found
    if (inner instanceof z.ZodObject) at = (inner.shape as Record<PropertyKey, z.ZodType>)[step]
    else if (inner instanceof z.ZodArray) at = inner.element as z.ZodType
    else return found
  }
  return found
}
