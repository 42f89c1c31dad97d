import { describe, expect, it } from 'vitest'
import { imageProblem } from '../../src/kyc/image.ts'
import { holderFault, type Individual } from '../../src/kyc/submission.ts'

const person = (firstName: string, lastName: string, more: Partial<Individual> = {}) =>
  ({ idType: 'BVN', firstName, lastName, ...more }) as Individual

describe('the name rule', () => {
  const same: readonly (readonly [string, string, string, string])[] = [
    ['Ada', 'Obi', 'ADA', 'Eze'],
    ['Ada', 'Obi', 'Chi', 'obi'],
    ['Ada', 'Obi', 'Obi', 'Ada'],
    ['Adé', 'Olá', 'ade', 'x'],
    ["O'Neil", 'B', 'oneil', 'C'],
    ['Anne-Marie', 'B', 'anne marie', 'C'],
    ['Straße', 'B', 'STRASSE', 'C'],
    ['Ɗanjuma', 'B', 'DANJUMA', 'C'],
    ['Łukasz', 'B', 'lukasz', 'C'],
  ]
  it.each(same)('%s %s agrees with %s %s', (first, last, firstName, lastName) => {
    expect(holderFault(person(first, last), { firstName, lastName })).toBeNull()
  })

  it('is broken by other names, by none, and for a NIN by another date of birth', () => {
    const other = { firstName: 'Other', lastName: 'Person' }
    expect(holderFault(person('Ada', 'Obi'), other)).toBe('NAME_MISMATCH')
    expect(holderFault(person('', ''), { firstName: '', lastName: '' })).toBe('NAME_MISMATCH')
    expect(holderFault(person('-', '.'), { firstName: '-' })).toBe('NAME_MISMATCH')
    const nin = person('Ada', 'Obi', { idType: 'NIN', dateOfBirth: '1990-01-31' })
    const holder = { firstName: 'Ada', dateOfBirth: '1990-02-01' }
    expect(holderFault(nin, holder)).toBe('DATE_OF_BIRTH_MISMATCH')
    expect(holderFault(nin, { ...holder, dateOfBirth: '1990-01-31' })).toBeNull()
  })
})

describe('a picture', () => {
  const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(100)])
  const pdf = Buffer.from('%PDF-1.7 and some more text here')
  const webp = Buffer.from('RIFF0000WEBPVP8 0000000000000000')

  it('is of a type that its first bytes have, and of the one that it says', () => {
    for (const one of [png, pdf, webp]) expect(imageProblem(one.toString('base64'))).toBe('')
    expect(imageProblem(`data:image/png;base64,${png.toString('base64')}`)).toBe('')
    expect(imageProblem(`data:image/jpeg;base64,${png.toString('base64')}`)).not.toBe('')
    expect(imageProblem(`data:image/gif;base64,${png.toString('base64')}`)).not.toBe('')
    expect(imageProblem(Buffer.from('GIF89a and so on, on and on').toString('base64'))).not.toBe('')
    // A sound begins as a WebP does.
    expect(
      imageProblem(Buffer.from('RIFF0000WAVEfmt 0000000000000000').toString('base64')),
    ).not.toBe('')
    expect(imageProblem('not Base64!')).not.toBe('')
    // As encoders for mail write it.
    const wrapped = png.toString('base64').replace(/.{8}/, '$&\n')
    expect(imageProblem(wrapped)).toBe('must be Base64 in one line, or a data URI')
  })

  it('has at most 4 MiB', () => {
    const large = Buffer.concat([png, Buffer.alloc(4 * 2 ** 20)])
    const first = (bytes: number) => large.subarray(0, bytes).toString('base64')
    expect(imageProblem(first(4 * 2 ** 20 + 1))).toContain('4 MiB')
    expect(imageProblem(first(4 * 2 ** 20))).toBe('')
  })
})
