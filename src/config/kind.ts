import { z } from 'zod'
import { namesDatabase } from './redis-url.ts'

const minSecretChars = 16

function text(must: string, pattern: RegExp) {
  return z.string().regex(pattern, must)
}

function wholeNumber(min: number, max: number) {
  const must = `must be a whole number from ${min} to ${max}`
  return z
    .string()
    .regex(/^[0-9]{1,9}$/, must)
    .transform(Number)
    .refine((number) => number >= min && number <= max, must)
}

function oneOf<const T extends readonly string[]>(values: T) {
  return z.enum(values, `must be one of ${values.join(', ')}`)
}

const host = text('must be a host name or an IP address', /^[A-Za-z0-9.:_%-]{1,253}$/)
const path = text('must be a path', /^[^\0]{1,4096}$/)
const key = text('must be 32 bytes in Base64', /^[A-Za-z0-9+/]{43}=$/)
const secret = z.string().min(minSecretChars, `must be at least ${minSecretChars} characters`)
const webhookSecret = text(
  'must be whsec_ and 16 to 64 bytes in Base64',
  /^whsec_[A-Za-z0-9+/]{22,86}={0,2}$/,
)
const redisUrls = text(
  'must be redis:// or rediss:// addresses, comma-separated',
  /^rediss?:\/\/[^\s,]+(,rediss?:\/\/[^\s,]+)*$/,
).refine(
  (urls) => urls.split(',').every(namesDatabase),
  'must name a database by its number, as redis://HOST:PORT/1 does, or none',
)

/** Kinds of settings, each with what it must be. */
export const settingKinds = {
  text,
  wholeNumber,
  oneOf,
  host,
  path,
  key,
  secret,
  webhookSecret,
  redisUrls,
}
