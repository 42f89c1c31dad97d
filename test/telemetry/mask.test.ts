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
})
