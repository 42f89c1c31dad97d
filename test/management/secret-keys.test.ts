import { randomBytes } from 'node:crypto'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readSecretKeys, SecretKeyMissing } from '../../src/management/secret-keys.ts'
import { fastFolder } from '../support/server.ts'

describe('the key of an embedded store', () => {
  const folder = fastFolder()
  afterAll(() => folder.remove())
  const none = { secretsKey: null, secretsKeyOld: null }

  it('is made once', () => {
    const made: string[] = []
    const settings = { ...none, dataDir: folder.path }
    const [first] = readSecretKeys(settings, (file) => made.push(file))
    const [again] = readSecretKeys(settings, (file) => made.push(file))
    expect(again).toEqual(first)
    expect(made).toEqual([join(folder.path, 'secrets.key')])
    expect(readdirSync(folder.path)).toEqual(['secrets.key'])
  })

  it('is read by its owner only, and is not replaced where it is no key or cannot be read', () => {
    const dataDir = mkdtempSync(join(folder.path, 'kept-'))
    const file = join(dataDir, 'secrets.key')
    const reading = () => readSecretKeys({ ...none, dataDir }, () => {})
    reading()
    expect(statSync(file).mode & 0o777).toBe(0o600)
    for (const text of ['', 'half a key', Buffer.alloc(31).toString('base64')]) {
      writeFileSync(file, text)
      expect(reading).toThrow(/does not hold 32 bytes in Base64: bring back the right file$/)
      expect(readFileSync(file, 'utf8')).toBe(text)
    }
    rmSync(file)
    mkdirSync(file)
    expect(reading).toThrow(/secrets\.key cannot be read: EISDIR/)
  })

  it('is none where one is given, and an old one opens behind it', () => {
    const [key, old] = [randomBytes(32), randomBytes(32)]
    const dataDir = join(folder.path, 'nowhere')
    const given = { secretsKey: key.toString('base64'), secretsKeyOld: old.toString('base64') }
    expect(readSecretKeys({ ...given, dataDir }, () => {})).toEqual([key, old])
    expect(readSecretKeys({ ...given, secretsKeyOld: null, dataDir }, () => {})).toEqual([key])
  })

  it('is told of when it cannot be made, with what to do', () => {
    const dataDir = join(folder.path, 'nowhere')
    const making = () => readSecretKeys({ ...none, dataDir }, () => {})
    expect(making).toThrow(SecretKeyMissing)
    expect(making).toThrow(/secrets\.key cannot be made \(ENOENT.*\): make room .* SECRETS_KEY$/)
  })
})
