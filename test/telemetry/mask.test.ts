import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { maskPan } from '../../src/telemetry/mask.ts'

describe('masking', () => {
  it('shows the first six and last four digits of what may be a card number', () => {
    expect(maskPan('4111111111111111')).toBe('411111…1111')
    expect(maskPan('378282246310005')).toBe('378282…0005')
    expect(maskPan('4222222222222')).toBe('422222…2222')
    expect(maskPan('6304000000000000000')).toBe('630400…0000')
  })

  it('finds card numbers within other text, each of them', () => {
    expect(maskPan('card-4111111111111111/5555555555554444!')).toBe('card-411111…1111/555555…4444!')
  })

  it('leaves what fails the Luhn check, what is shorter, and times', () => {
    expect(maskPan('4111111111111112')).toBe('4111111111111112')
    expect(maskPan('411111111111')).toBe('411111111111')
    expect(maskPan('evt-1700000000003')).toBe('evt-1700000000003')
    expect(maskPan('card-1')).toBe('card-1')
    expect(maskPan('')).toBe('')
  })

  it('masks every digit of a long number but the first six and last four', () => {
    const masked = maskPan('6011000990139424')
    expect(masked).toHaveLength(11)
    expect(masked).not.toContain('0990')
  })

  it('finds them when marks divide their digits', () => {
    expect(maskPan('4111 1111 1111 1111')).toBe('4111 11…1111')
    expect(maskPan('id:4111-1111-1111-1111.x')).toBe('id:4111-11…1111.x')
    expect(maskPan('1-4111_1111_1111_1111')).toBe('1-4111_11…1111')
    expect(maskPan('3782 822463 10005')).toBe('3782 82…0005')
    expect(maskPan('4.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1')).toBe('4.1.1.1.1.1…1.1.1.1')
  })

  it('finds them when digits are glued to them', () => {
    expect(maskPan('411111111111111101')).toBe('411111…111101')
    expect(maskPan('41111111111111111763172000001')).toBe('411111…11111763172000001')
    expect(maskPan('17631720000014111111111111111')).toBe('1763172000001411111…1111')
    expect(maskPan('4111111111111111=31121010000012345')).toContain('411111…1111=')
  })

  it('leaves ids that are made of times and counters, and UUIDs', () => {
    for (let i = 0; i < 1000; i++) {
      const id = `evt-${1_763_172_000_000 + i * 37}-${i}`
      expect(maskPan(id)).toBe(id)
    }
    const stamp = '2026-11-14T10:00:00.123Z'
    expect(maskPan(stamp)).toBe(stamp)
    const uuid = '550e8400-e29b-41d4-a716-446655440000'
    expect(maskPan(uuid)).toBe(uuid)
  })

  it('finds them between zeros, between other digits, and with odd separators', () => {
    expect(maskPan('00411111111111111100')).toBe('00411111…111100')
    expect(maskPan('91411111111111111157')).toBe('91411111…111157')
    expect(maskPan('4111 - 1111--1111, 1111')).toBe('4111 - 11…1111')
    expect(maskPan('4111|1111\t1111–1111')).toBe('4111|11…1111')
    expect(maskPan('004111-1111-1111-111100')).toBe('004111-11…111100')
  })

  it('hides the middle of every card number, whatever digits and marks are around and in it', () => {
    const starts = ['4', '51', '55', '2221', '2720', '34', '37', '36', '6011', '65', '62']
    const digit = fc.integer({ min: 0, max: 9 }).map(String)
    const digits = (maxLength: number) =>
      fc.array(digit, { maxLength }).map((list) => list.join(''))
    const pans = fc
      .tuple(fc.constantFrom(...starts), fc.array(digit, { minLength: 18, maxLength: 18 }))
      .map(([start, rest]) =>
        withCheckDigit(`${start}${rest.join('')}`.slice(0, lengthOf(start) - 1)),
      )
    const unit = fc.constantFrom(...' -._/:,|+*#~\t–\u00a0')
    const marks = fc
      .string({ unit, minLength: 1, maxLength: 3 })
      .filter((text) => !text.includes('  '))
    const glued = fc.tuple(pans, digits(8), digits(8)).map(([pan, before, after]) => ({
      pan,
      text: before + pan + after,
    }))
    const divided = fc
      .tuple(pans, fc.array(marks, { minLength: 4, maxLength: 4 }), fc.nat(3), fc.nat(3))
      .map(([pan, between, zerosBefore, zerosAfter]) => ({
        pan,
        text:
          '0'.repeat(zerosBefore) +
          (pan.match(/.{1,4}/g) ?? []).map((group, i) => (between[i - 1] ?? '') + group).join('') +
          '0'.repeat(zerosAfter),
      }))
    const count = (text: string) => text.replace(/\D/g, '').length
    fc.assert(
      fc.property(fc.oneof(glued, divided), ({ pan, text }) => {
        const masked = maskPan(`id-${text}.x`)
        expect(count(masked), `${text} became ${masked}`).toBeLessThanOrEqual(
          count(text) - (pan.length - 10),
        )
        expect(masked).not.toContain(pan.slice(0, 7))
      }),
      { numRuns: process.env.TORTURE ? 50_000 : 2_000 },
    )
  })

  it('leaves columns of numbers, which two spaces divide', () => {
    const columns = '4111  1111  1111  1111'
    expect(maskPan(columns)).toBe(columns)
  })

  it('leaves values in quotes beside each other, of which each is looked at by itself', () => {
    const mccs = ['5411', '5999', '6011', '7995']
    expect(maskPan(mccs.join(' '))).toContain('…')
    expect(maskPan(JSON.stringify(mccs))).toBe(JSON.stringify(mccs))
    const condition = `merchant.mcc in ['${mccs.join("','")}']`
    expect(maskPan(condition)).toBe(condition)
    expect(maskPan('["4111111111111111","5411"]')).toBe('["411111…1111","5411"]')
    expect(maskPan("4111'1111'1111'1111")).toBe("4111'11…1111")
  })

  it('leaves most numbers that are none', () => {
    let masked = 0
    for (let i = 0; i < 10_000; i++) {
      // As clocks of nanoseconds and counters behind a time make them.
      const id = `${1_763_172_000_000 + i * 7_919}${String((i * 104_729) % 1_000_000).padStart(6, '0')}`
      if (maskPan(id) !== id) masked++
    }
    expect(masked).toBeLessThan(3_500)
  })
})

function lengthOf(start: string): number {
  if (start === '34' || start === '37') return 15
  return start === '36' ? 14 : 16
}

function withCheckDigit(digits: string): string {
  const sum = [...digits].reverse().reduce((total, text, i) => {
    const doubled = i % 2 === 0 ? Number(text) * 2 : Number(text)
    return total + (doubled > 9 ? doubled - 9 : doubled)
  }, 0)
  return `${digits}${(10 - (sum % 10)) % 10}`
}
