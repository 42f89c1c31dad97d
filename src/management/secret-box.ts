import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

/** Where a secret is kept. A ciphertext opens at the place it was made for and nowhere else. */
interface SecretPlace {
  readonly kind: string
  readonly id: string
  readonly field: string
}

/** Encrypts what must be read back, such as the secret that every Signature is checked with. */
export interface SecretBox {
  seal(place: SecretPlace, text: string): string
  /** Null when no key opens it, or when it was made for another place. */
  open(place: SecretPlace, sealed: string): string | null
  /** Whether it was sealed with another key than the one that seals now. */
  isOld(sealed: string): boolean
}

export const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16
const sealedPattern = /^v1\.([0-9a-f]{8})\.([A-Za-z0-9_-]{16})\.([A-Za-z0-9_-]{22,})$/

/** The first key seals; all of them open. */
export function createSecretBox(keys: readonly [Buffer, ...Buffer[]]): SecretBox {
  const byId = new Map(keys.map((key) => [keyIdOf(key), key]))
  const [key] = keys
  const keyId = keyIdOf(key)
  return {
    seal(place, text) {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes })
      cipher.setAAD(placeText(place))
      const parts = [cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]
      return `v1.${keyId}.${nonce.toString('base64url')}.${Buffer.concat(parts).toString('base64url')}`
    },
    open(place, sealed) {
      const [, id = '', nonce = '', rest = ''] = sealedPattern.exec(sealed) ?? []
      const opens = byId.get(id)
      if (opens === undefined) return null
      const bytes = Buffer.from(rest, 'base64url')
      const iv = Buffer.from(nonce, 'base64url')
      const decipher = createDecipheriv('aes-256-gcm', opens, iv, { authTagLength: tagBytes })
      decipher.setAAD(placeText(place))
      decipher.setAuthTag(bytes.subarray(-tagBytes))
      try {
        const text = decipher.update(bytes.subarray(0, -tagBytes), undefined, 'utf8')
        return text + decipher.final('utf8')
      } catch {
        return null
      }
    },
    isOld: (sealed) => !sealed.startsWith(`v1.${keyId}.`),
  }
}

function keyIdOf(key: Buffer): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 8)
}

/** An id may have a slash in it, so its length stands before it: no two places share a text. */
function placeText({ kind, id, field }: SecretPlace): Buffer {
  return Buffer.from(`${kind}/${id.length}:${id}/${field}`, 'utf8')
}
