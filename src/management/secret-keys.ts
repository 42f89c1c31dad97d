import { randomBytes } from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { keyBytes } from './secret-box.ts'

/** The key that seals, then any that still open. */
export type SecretKeys = readonly [Buffer, ...Buffer[]]

export interface SecretKeySettings {
  /** 32 bytes in Base64; null: the embedded store has its own file. */
  readonly secretsKey: string | null
  readonly secretsKeyOld: string | null
  readonly dataDir: string
}

export class SecretKeyMissing extends Error {
  override readonly name = 'SecretKeyMissing'
}

const fileName = 'secrets.key'

/** Reads the keys, or makes the first one for an embedded store. */
export function readSecretKeys(
  settings: SecretKeySettings,
  onMade: (file: string) => void,
): SecretKeys {
  const { secretsKey, secretsKeyOld, dataDir } = settings
  const key = secretsKey === null ? ownKey(join(dataDir, fileName), onMade) : decodeKey(secretsKey)
  return secretsKeyOld === null ? [key] : [key, decodeKey(secretsKeyOld)]
}

function isKey(text: string): boolean {
  return /^[A-Za-z0-9+/]{43}=$/.test(text) && Buffer.from(text, 'base64').length === keyBytes
}

function decodeKey(text: string): Buffer {
  return Buffer.from(text, 'base64')
}

function ownKey(file: string, onMade: (file: string) => void): Buffer {
  return readKey(file) ?? makeKey(file, onMade)
}

function readKey(file: string): Buffer | null {
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new SecretKeyMissing(`${file} cannot be read: ${(error as Error).message}`)
  }
  if (isKey(text)) return decodeKey(text)
  throw new SecretKeyMissing(`${file} does not hold 32 bytes in Base64: bring back the right file`)
}

/** Whole or not at all: what was sealed with half a key could never be opened again. */
function makeKey(file: string, onMade: (file: string) => void): Buffer {
  const draft = `${file}.${process.pid}`
  const key = randomBytes(keyBytes)
  try {
    writeFileSync(draft, `${key.toString('base64')}\n`, { mode: 0o600, flush: true })
    linkSync(draft, file)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    // Another process was faster: its key is the one.
    const made = code === 'EEXIST' ? readKey(file) : null
    if (made !== null) return made
    throw new SecretKeyMissing(
      `${file} cannot be made (${message}): make room in its folder, or set SECRETS_KEY`,
    )
  } finally {
    rmSync(draft, { force: true })
  }
  onMade(file)
  return key
}
