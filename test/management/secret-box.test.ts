import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createSecretBox } from '../../src/management/secret-box.ts'

const key = randomBytes(32)
const box = createSecretBox([key])
const place = { kind: 'client', id: 'cli_1', field: 'secret' }

describe('a sealed secret', () => {
  it('opens at its place, and never looks the same twice', () => {
    const sealed = box.seal(place, 'aT7pQ2mX9vL4kD1sW8zR5nB3cF6hJ0yG')
    expect(sealed).toMatch(/^v1\.[0-9a-f]{8}\.[\w-]{16}\.[\w-]+$/)
    expect(box.open(place, sealed)).toBe('aT7pQ2mX9vL4kD1sW8zR5nB3cF6hJ0yG')
    expect(box.seal(place, 'aT7pQ2mX9vL4kD1sW8zR5nB3cF6hJ0yG')).not.toBe(sealed)
    expect(box.open(place, box.seal(place, ''))).toBe('')
  })

  it.each([
    ['kind', { ...place, kind: 'webhook' }],
    ['id', { ...place, id: 'cli_2' }],
    ['field', { ...place, field: 'uniqueKey' }],
    ['split of the parts', { kind: 'client', id: 'cli_', field: '1/secret' }],
  ])('does not open at another %s', (_name, other) => {
    expect(box.open(other, box.seal(place, 'secret'))).toBeNull()
  })

  it('does not open when one character was changed', () => {
    const sealed = box.seal(place, 'secret')
    for (let i = 0; i < sealed.length; i++) {
      const other = sealed[i] === 'A' ? 'B' : 'A'
      const changed = sealed.slice(0, i) + other + sealed.slice(i + 1)
      // The last digit of Base64 may carry bits that say nothing.
      if (i < sealed.length - 1) expect(box.open(place, changed), changed).toBeNull()
    }
    expect(box.open(place, '')).toBeNull()
    expect(box.open(place, 'plain text')).toBeNull()
  })

  it('opens with an old key, is told to be old, and does not open without it', () => {
    const sealed = box.seal(place, 'secret')
    const rotated = createSecretBox([randomBytes(32), key])
    expect(rotated.open(place, sealed)).toBe('secret')
    expect(rotated.isOld(sealed)).toBe(true)
    expect(rotated.isOld(rotated.seal(place, 'secret'))).toBe(false)
    expect(createSecretBox([randomBytes(32)]).open(place, sealed)).toBeNull()
  })
})
