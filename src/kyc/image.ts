import { dayMs } from '../clock.ts'
import type { SecretBox } from '../management/secret-box.ts'
import type { ChildKey, ChildPut, Store } from '../store/port.ts'
import type { Images } from './submission.ts'

const maxImageBytes = 4 * 2 ** 20
/** Records stay small: a picture lies in several. */
const partChars = 2 ** 19
/** As many as the pictures of one submission can have. */
const maxParts = 2 * Math.ceil((maxImageBytes * 4) / 3 / partChars + 1)

/** How long a picture is kept for a provider that cannot be reached. */
export const imagesKeptMs = dayMs

/** The first bytes of what may be sent, by the type that a data URI names. */
const signatures: Readonly<Record<string, readonly (readonly [number, string])[]>> = {
  'image/png': [[0, '89504e470d0a1a0a']],
  'image/jpeg': [[0, 'ffd8ff']],
  'image/webp': [
    [0, '52494646'],
    [8, '57454250'],
  ],
  'application/pdf': [[0, '255044462d']],
}

const dataUri = /^data:([a-z/]+);base64,/
const base64 = /^[A-Za-z0-9+/]+={0,2}$/

/** Why a text is no picture that can be taken; '' when it is one. */
export function imageProblem(text: string): string {
  const [prefix = '', type] = dataUri.exec(text.slice(0, 64)) ?? []
  const encoded = text.slice(prefix.length)
  if (Buffer.byteLength(encoded, 'base64') > maxImageBytes) return 'must be at most 4 MiB'
  if (encoded.length % 4 !== 0 || !base64.test(encoded)) {
    return 'must be Base64 in one line, or a data URI'
  }
  if (type !== undefined && signatures[type] === undefined) {
    return `must be one of ${Object.keys(signatures).join(', ')}`
  }
  const head = Buffer.from(encoded.slice(0, 24), 'base64').toString('hex')
  const found = Object.entries(signatures).filter(([, parts]) =>
    parts.every(([at, hex]) => head.startsWith(hex, 2 * at)),
  )
  const fits = type === undefined ? found.length > 0 : found.some(([name]) => name === type)
  return fits ? '' : 'must be a PNG, JPEG, WebP or PDF, as it says'
}

const placeOf = (kycToken: string, id: string) => ({ kind: 'kyc', id: kycToken, field: id })

/** Dropped by the store soon after the day, should nobody do it before. */
function groupAt(submittedAtMs: number): string {
  return `m@${Math.floor(submittedAtMs / dayMs) + 1}`
}

export function putImages(
  images: Images,
  kycToken: string,
  submittedAtMs: number,
  box: SecretBox,
): ChildPut[] {
  const parts = Object.entries(images).flatMap(([field, text]) =>
    Array.from({ length: Math.ceil(text.length / partChars) }, (_, i) => ({
      field,
      text: text.slice(i * partChars, (i + 1) * partChars),
    })),
  )
  return parts.map(({ field, text }, i) => {
    const id = String(i)
    const sealed = box.seal(placeOf(kycToken, id), JSON.stringify([field, text]))
    return { group: groupAt(submittedAtMs), id, value: sealed }
  })
}

/** Where pictures may lie, so that they can be removed. */
export function imageKeys(submittedAtMs: number, parts: number): ChildKey[] {
  const group = groupAt(submittedAtMs)
  return Array.from({ length: Math.min(parts, maxParts) }, (_, i) => ({ group, id: String(i) }))
}

/** The same pictures, sealed with the key that seals now; those that no key opens stay as they are. */
export function rewrappedImages(
  kycToken: string,
  keys: readonly ChildKey[],
  child: (key: ChildKey) => string | null,
  box: SecretBox,
): ChildPut[] {
  return keys.flatMap((key) => {
    const sealed = child(key)
    const text = sealed === null ? null : box.open(placeOf(kycToken, key.id), sealed)
    return text === null ? [] : { ...key, value: box.seal(placeOf(kycToken, key.id), text) }
  })
}

/** null when a part of them is gone, or no key opens it: half a picture shows nobody. */
export async function readImages(
  store: Store,
  aggregate: string,
  kycToken: string,
  keys: readonly ChildKey[],
  box: SecretBox,
): Promise<Images | null> {
  const found = await store.load(keys.map((key) => ({ aggregate, ...key })))
  const images: Record<string, string> = {}
  for (const [i, one] of found.entries()) {
    const text = one === undefined ? null : box.open(placeOf(kycToken, keys[i]!.id), one.value)
    if (text === null) return null
    const [field, part] = JSON.parse(text) as [string, string]
    images[field] = (images[field] ?? '') + part
  }
  return images
}
