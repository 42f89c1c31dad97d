import { readdirSync } from 'node:fs'
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

  it('is told of when it cannot be made, with what to do', () => {
    const dataDir = join(folder.path, 'nowhere')
    const making = () => readSecretKeys({ ...none, dataDir }, () => {})
    expect(making).toThrow(SecretKeyMissing)
    expect(making).toThrow(/secrets\.key cannot be made \(ENOENT.*\): make room .* SECRETS_KEY$/)
  })
})
