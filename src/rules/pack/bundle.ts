import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { z } from 'zod'
import { faultOfFile, type PackFiles } from './folder.ts'
import { PackRefused } from './refusal.ts'

/** A pack in one file, which a server takes whole: every file with its hash, and a signature over all of them. */
export const bundleFile = 'pack.bundle'

const bundle = z.strictObject({
  format: z.literal(1),
  name: z.string(),
  /** A bundle that is older than the one in use is no news. */
  madeAtMs: z.int(),
  /** By name. */
  files: z.record(z.string(), z.string()),
  /** The key that signed it, as its id; '' for none. */
  key: z.string(),
  signature: z.string(),
})

type Bundle = z.output<typeof bundle>

export interface OpenedBundle {
  readonly files: PackFiles
  readonly madeAtMs: number
}

/** What is signed: the name, the time, and a line for each file as sha256sum writes it. */
function manifestOf({ name, madeAtMs, files }: Omit<Bundle, 'key' | 'signature'>): Buffer {
  const names = Object.keys(files).sort()
  const lines = names.map((one) => `${sha256(files[one]!)}  ${JSON.stringify(one)}`)
  return Buffer.from(['arbiter rules 1', JSON.stringify(name), madeAtMs, ...lines].join('\n'))
}

function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

/** The text of a bundle; `privateKey` is a PEM, null leaves it unsigned. Throws for any other key than of Ed25519. */
export function bundleOf(
  files: PackFiles,
  name: string,
  madeAtMs: number,
  privateKey: string | null,
): { readonly text: string; readonly key: string } {
  const content = { format: 1 as const, name, madeAtMs, files: Object.fromEntries(files) }
  if (privateKey === null) return { text: textOf({ ...content, key: '', signature: '' }), key: '' }
  const secret = createPrivateKey(privateKey)
  // RULES_KEYS has no other kind, so no server could take it.
  if (secret.asymmetricKeyType !== 'ed25519') throw new TypeError('a key of another kind')
  const key = idOf(createPublicKey(secret))
  const signature = sign(null, manifestOf(content), secret).toString('base64')
  return { text: textOf({ ...content, key, signature }), key }
}

function textOf(content: Bundle): string {
  return `${JSON.stringify(content)}\n`
}

/** Throws PackRefused. Where there are keys, one of them must have signed it. */
export function openBundle(text: string, keys: readonly PackKey[]): OpenedBundle {
  const found = parse(text)
  if (found === null) refuse('is no bundle of this release: make it with arbiter rules pack')
  if (keys.length > 0) checkSignature(found, keys)
  return { files: new Map(Object.entries(found.files)), madeAtMs: found.madeAtMs }
}

function parse(text: string): Bundle | null {
  try {
    return bundle.parse(JSON.parse(text))
  } catch {
    return null
  }
}

function checkSignature(found: Bundle, keys: readonly PackKey[]): void {
  if (found.signature === '') refuse('is not signed: arbiter rules pack --key signs it')
  const key = keys.find(({ id }) => id === found.key)
  if (key === undefined) refuse('is signed by a key that is not in RULES_KEYS')
  const signature = Buffer.from(found.signature, 'base64')
  if (!verify(null, manifestOf(found), key.publicKey, signature)) {
    refuse('is not as it was signed')
  }
}

function refuse(message: string): never {
  throw new PackRefused([faultOfFile(bundleFile, message)])
}

/** A public key that bundles may be signed by. */
export interface PackKey {
  readonly id: string
  readonly publicKey: KeyObject
}

const keyPrefix = 'ed25519:'
/** What stands before the 32 bytes of an Ed25519 key in its usual encoding. */
const spkiStart = Buffer.from('302a300506032b6570032100', 'hex')

/** null for what is no key. */
export function packKeyIn(text: string): PackKey | null {
  const raw = Buffer.from(text.startsWith(keyPrefix) ? text.slice(keyPrefix.length) : '', 'base64')
  if (raw.length !== 32) return null
  const der = Buffer.concat([spkiStart, raw])
  const publicKey = createPublicKey({ key: der, format: 'der', type: 'spki' })
  return { id: idOf(publicKey), publicKey }
}

/** A public key as RULES_KEYS has it. */
export function packKeyText(publicKey: KeyObject): string {
  return `${keyPrefix}${rawOf(publicKey).toString('base64')}`
}

function idOf(publicKey: KeyObject): string {
  return sha256(rawOf(publicKey)).slice(0, 12)
}

function rawOf(publicKey: KeyObject): Buffer {
  return publicKey.export({ format: 'der', type: 'spki' }).subarray(spkiStart.length)
}
