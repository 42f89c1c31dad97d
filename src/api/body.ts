import { createHmac, hash, hkdfSync } from 'node:crypto'
import {
  isJsonNumber,
  isJsonObject,
  isJsonProblem,
  type JsonValue,
  parseJson,
} from '../wire/json.ts'
import { type Refused, refuse } from './condition.ts'

/** A number of more digits than a double keeps, by its decimals: no schema knows symbols, so no field takes it. */
type LongNumber = symbol

/** A body as the schemas read it. */
export type Plain =
  | string
  | number
  | boolean
  | null
  | LongNumber
  | readonly Plain[]
  | { readonly [name: string]: Plain }

/** In a shell of its own: a body may have any names, also those that a refusal has. */
interface GivenBody {
  readonly body: Plain
}

/** As many as a body of the usual size can have: of a larger one only texts are long, such as pictures. */
const maxCommas = 65_536
const comma = 0x2c

/** An empty body is an empty object: some operations have nothing to say. */
export function readBody(bytes: Buffer): GivenBody | Refused {
  if (bytes.length === 0) return { body: {} }
  // Reading millions of values would keep all other calls waiting for seconds.
  if (hasTooMany(bytes)) return refuse('bodyMalformed', 'the body has too many values')
  const value = parseJson(bytes)
  if (!isJsonProblem(value)) return { body: plainOf(value) }
  const { problem, offsetBytes } = value
  return refuse('bodyMalformed', `the body is not JSON: ${problem} at byte ${offsetBytes}`)
}

function hasTooMany(bytes: Buffer): boolean {
  let count = 0
  for (let at = bytes.indexOf(comma); at >= 0; at = bytes.indexOf(comma, at + 1)) {
    if (++count > maxCommas) return true
  }
  return false
}

/** As many as a double keeps, whatever they are. */
const maxDigits = 15

function plainOf(value: JsonValue): Plain {
  if (isJsonNumber(value)) {
    const digits = value.decimal.replace(/e.*$/i, '').replace(/[^0-9]/g, '')
    return digits.length > maxDigits ? Symbol(value.decimal) : Number(value.decimal)
  }
  if (isJsonObject(value)) {
    return Object.fromEntries(value.names.map((name, i) => [name, plainOf(value.values[i]!)]))
  }
  if (Array.isArray(value)) return value.map(plainOf)
  return value as string | boolean | null
}

function decimalOf(long: LongNumber): string {
  return long.description ?? ''
}

/** A body as JSON again; of a number that is too long, its decimals as text. */
export function bodyText(body: unknown): string {
  return JSON.stringify(body, (_name, value) =>
    typeof value === 'symbol' ? decimalOf(value) : value,
  )
}

/** Of a hash: a client could only mislead itself by another payload with the same, and cannot find one by chance. */
const keptHashBytes = 9

/** What is kept of a payload's hash, for a day, to tell a retry from another call. */
export function shortHash(hash: string): string {
  return shortened(Buffer.from(hash, 'hex'))
}

function shortened(bytes: Buffer): string {
  return bytes.subarray(0, keptHashBytes).toString('base64url')
}

/** What may be kept of a hash: by the newest key first, and at last as releases up to 0.3.0 kept it. */
export type KeyedHashes = (hash: string) => readonly string[]

/**
 * Where the payload has an identity number, and most of the rest is known, whoever has the store could try all numbers:
 * of such a payload only a hash with a key is kept.
 */
export function createKeyedHashes(keys: readonly Buffer[]): KeyedHashes {
  const none = Buffer.alloc(0)
  const hashings = keys.map((key) =>
    Buffer.from(hkdfSync('sha256', key, none, 'arbiter/payload/v1', 32)),
  )
  return (hash) => {
    const bytes = Buffer.from(hash, 'hex')
    const keyed = hashings.map((key) => shortened(createHmac('sha256', key).update(bytes).digest()))
    return [...keyed, shortened(bytes)]
  }
}

/**
 * What tells a retry from another call under the same Reference: method, target as it came, and the body
 * with its names in order and no spaces.
 */
export function payloadHash(method: string, target: string, body: Plain | null): string {
  const text = body === null ? '' : canonical(body)
  return hash('sha256', `${method}\n${target}\n${text}`)
}

function canonical(value: Plain): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value === 'symbol') return decimalOf(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value as Record<string, Plain>).sort(([a], [b]) =>
    a < b ? -1 : 1,
  )
  return `{${members.map(([name, each]) => `${JSON.stringify(name)}:${canonical(each)}`).join(',')}}`
}
