import { hash, timingSafeEqual } from 'node:crypto'

/** What a call says about itself, as far as its Signature covers it. */
export interface SignedCall {
  readonly method: string
  /** The addresses that clients may have written, each without a last slash. */
  readonly baseUrls: readonly string[]
  /** Path and query, exactly as they came. */
  readonly target: string
  readonly reference: string
  readonly clientId: string
}

/** How libraries escape a URL: which characters stay, besides letters and digits, and what a space becomes. */
interface Encoding {
  readonly keeps: string
  readonly space: '%20' | '+'
}

/** The first is the canonical one, JavaScript's encodeURIComponent. */
const encodings: readonly Encoding[] = [
  { keeps: "-_.!~*'()", space: '%20' },
  { keeps: '-_.~', space: '%20' },
  { keeps: '-_.*', space: '+' },
  { keeps: '-_.', space: '+' },
  { keeps: '-_.~', space: '+' },
  { keeps: '-_.!*()', space: '+' },
]

/** 40 digits of a SHA-1 as Base64: always 54 characters and two of padding. */
const signaturePattern = /^[A-Za-z0-9+/]{54}==$/

/** Without these all libraries escape a URL alike, and it reads the same before and after: nearly every one. */
const differing = /[!~*'()%+ ]/

/** Escapes that a decoded URL would no longer tell from the query's own punctuation. */
const tellingEscape = /%(?:25|26|3d|23|3f|2f|2b)/i

/** Whether a Signature header fits the call, signed with any of the secrets. */
export function isSigned(header: string, call: SignedCall, secrets: readonly string[]): boolean {
  if (!signaturePattern.test(header)) return false
  const given = Buffer.from(header, 'latin1')
  let fits = 0
  for (const secret of secrets) {
    for (const text of textsOf(call)) {
      // Without an early end, so that the time tells nothing about which candidate was near.
      fits |= Number(timingSafeEqual(given, Buffer.from(signatureOf(text, secret), 'latin1')))
    }
  }
  return fits !== 0
}

/** The header of a call, for clients of ours. */
export function signCall(call: SignedCall, secret: string): string {
  return signatureOf(canonicalText(call), secret)
}

/** What is signed, up to the secret, by the canonical encoding. */
export function canonicalText(call: SignedCall): string {
  return textOf(call, encodeURIComponent(`${call.baseUrls[0] ?? ''}${call.target}`))
}

/** Whether a header that does not fit is the digest's bytes in Base64, a common slip of clients. */
export function isRawDigest(header: string): boolean {
  return /^[A-Za-z0-9+/]{27}=$/.test(header)
}

function signatureOf(text: string, secret: string): string {
  return Buffer.from(hash('sha1', `${text}${secret}`), 'latin1').toString('base64')
}

/** All texts that a client may have signed; they do not depend on the secret. */
function textsOf(call: SignedCall): Iterable<string> {
  const texts: string[] = []
  for (const base of call.baseUrls) {
    if (!differing.test(base) && !differing.test(call.target)) {
      const encoded = encodeURIComponent(`${base}${call.target}`)
      texts.push(textOf(call, encoded), textOf(call, withSmallHex(encoded)))
      continue
    }
    for (const target of readingsOf(call.target)) {
      for (const encoding of encodings) {
        const encoded = encode(`${base}${target}`, encoding)
        texts.push(textOf(call, encoded), textOf(call, withSmallHex(encoded)))
      }
    }
  }
  // The two of most calls differ.
  return texts.length > 2 ? new Set(texts) : texts
}

function textOf({ method, reference, clientId }: SignedCall, encodedUrl: string): string {
  return `${method}&${encodedUrl}&${reference}&${clientId}&`
}

/** The target as it came and, for clients that sign before their library escapes, as it was before. */
function readingsOf(target: string): readonly string[] {
  if (tellingEscape.test(target)) return [target]
  const at = target.indexOf('?')
  const path = at < 0 ? target : target.slice(0, at)
  const query = at < 0 ? '' : target.slice(at).replaceAll('+', ' ')
  try {
    return [target, decodeURIComponent(`${path}${query}`)]
  } catch {
    // What is not UTF-8 was escaped by nobody's library.
    return [target]
  }
}

function encode(url: string, { keeps, space }: Encoding): string {
  const escaped = encodeURIComponent(url).replace(/[!~*'()]/g, (character) =>
    keeps.includes(character) ? character : escapeOf(character),
  )
  return space === '+' ? escaped.replaceAll('%20', '+') : escaped
}

function escapeOf(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`
}

function withSmallHex(encoded: string): string {
  return encoded.replace(/%[0-9A-F]{2}/g, (escaped) => escaped.toLowerCase())
}
