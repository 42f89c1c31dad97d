import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { expect, it } from 'vitest'
import { bundleOf, openBundle, packKeyIn, packKeyText } from '../../../src/rules/pack/bundle.ts'
import { PackRefused } from '../../../src/rules/pack/refusal.ts'

const files = new Map([
  ['pack.yaml', 'name: small\n'],
  ['lists/mids.txt', 'MID-1\n'],
])

function newKey() {
  const { privateKey } = generateKeyPairSync('ed25519')
  const pem = String(privateKey.export({ format: 'pem', type: 'pkcs8' }))
  return { pem, key: packKeyIn(packKeyText(createPublicKey(privateKey)))! }
}

const ours = newKey()
const theirs = newKey()

function refusal(text: string): string {
  try {
    openBundle(text, [ours.key])
    return 'taken'
  } catch (error) {
    if (error instanceof PackRefused) return error.message
    throw error
  }
}

it('gives the files back that went in, signed by a key that is trusted', () => {
  const { text, key } = bundleOf(files, 'small', 5, ours.pem)
  expect(key).toBe(ours.key.id)
  expect(openBundle(text, [theirs.key, ours.key])).toEqual({ files, madeAtMs: 5 })
  expect(openBundle(bundleOf(files, 'small', 5, null).text, []).files).toEqual(files)
})

it('is signed by no key that a server could not be given, nor left unsigned for want of one', () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const rsa = String(privateKey.export({ format: 'pem', type: 'pkcs8' }))
  for (const pem of [rsa, '', 'no key']) {
    expect(() => bundleOf(files, 'small', 5, pem)).toThrow()
  }
})

it('takes nothing unsigned, signed by another, or changed since, where keys are demanded', () => {
  const { text } = bundleOf(files, 'small', 5, ours.pem)
  const content = JSON.parse(text)
  const changed = (change: object) => JSON.stringify({ ...content, ...change })
  expect(refusal(text)).toBe('taken')
  expect(refusal(bundleOf(files, 'small', 5, null).text)).toContain('is not signed')
  expect(refusal(bundleOf(files, 'small', 5, theirs.pem).text)).toContain('not in RULES_KEYS')
  const other = JSON.parse(bundleOf(files, 'small', 5, theirs.pem).text)
  const forged = changed({ signature: other.signature })
  const more = { ...content.files, 'a.rules.yaml': '[]' }
  const less = { 'pack.yaml': content.files['pack.yaml'] }
  const renamed = { 'pack.yaml': 'name: small\n', 'lists/mccs.txt': 'MID-1\n' }
  for (const wrong of [
    forged,
    changed({ files: more }),
    changed({ files: less }),
    changed({ files: renamed }),
    changed({ files: { ...content.files, 'pack.yaml': 'name: smalk\n' } }),
    changed({ madeAtMs: 6 }),
    changed({ name: 'other' }),
    changed({ signature: 'AAAA' }),
  ]) {
    expect(refusal(wrong)).toContain('is not as it was signed')
  }
  for (const none of ['', '{}', '[1]', text.slice(0, 100), changed({ format: 2 })]) {
    expect(refusal(none)).toContain('is no bundle of this release')
  }
})
