import { describe, expect, it } from 'vitest'
import { currencyDecimals, decimalsOf, isCurrency } from '../../../src/domain/record/currency.ts'

function codesWith(decimals: number): string[] {
  return [...currencyDecimals].filter(([, count]) => count === decimals).map(([code]) => code)
}

describe('currency', () => {
  it.each([
    ['USD', 2],
    ['EUR', 2],
    ['NGN', 2],
    ['JPY', 0],
    ['KRW', 0],
    ['UYI', 0],
    ['XOF', 0],
    ['KWD', 3],
    ['BHD', 3],
    ['CLF', 4],
    ['UYW', 4],
    ['MGA', 2],
    ['MRU', 2],
  ])('gives %s the %i decimals of ISO 4217', (code, decimals) => {
    expect(decimalsOf(code)).toBe(decimals)
  })

  it.each([
    ['COP', 2],
    ['IDR', 2],
    ['HUF', 2],
    ['IQD', 3],
    ['LAK', 2],
    ['LBP', 2],
    ['PKR', 2],
  ])('keeps to ISO for %s, where cash practice drops decimals', (code, decimals) => {
    expect(decimalsOf(code)).toBe(decimals)
  })

  it('lists 165 active codes and BGN, each once and of three capital letters', () => {
    expect(currencyDecimals.size).toBe(166)
    expect([0, 2, 3, 4].map((decimals) => codesWith(decimals).length)).toEqual([17, 140, 7, 2])
    for (const code of currencyDecimals.keys()) expect(code).toMatch(/^[A-Z]{3}$/)
  })

  it.each(['SLE', 'VED', 'ZWG', 'XCG', 'XAD', 'BGN', 'USN', 'CHE', 'BOV'])('knows %s', (code) => {
    expect(isCurrency(code)).toBe(true)
  })

  it.each(['XAU', 'XDR', 'XTS', 'XXX', 'HRK', 'ZWL', 'ANG', 'usd', 'US', '', '__proto__'])(
    'does not know %j',
    (code) => {
      expect(isCurrency(code)).toBe(false)
      expect(() => decimalsOf(code)).toThrow(RangeError)
    },
  )
})
