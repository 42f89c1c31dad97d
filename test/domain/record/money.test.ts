import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { currencyDecimals, decimalsOf } from '../../../src/domain/record/currency.ts'
import { formatMinor, parseMinor, percentOf } from '../../../src/domain/record/money.ts'

const currencies = fc.constantFrom(...currencyDecimals.keys())
const safeIntegers = fc.maxSafeInteger()
const jsonNumber = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** The same rules, said slowly: write the plain decimal out and look at it. */
function parseSlowly(text: string, currency: string): number | string {
  const match = jsonNumber.exec(text)
  if (match === null || text.length > 64) return 'malformed'
  const [, sign, integer = '', fraction = '', exponentText = '0'] = match
  if (sign === '-') return 'negative'
  const exponent = Number(exponentText)
  const left = '0'.repeat(Math.max(-exponent, 0)) + integer
  const right = fraction + '0'.repeat(Math.max(exponent, 0))
  const all = left + right
  const pointAt = left.length + exponent
  const whole = all.slice(0, pointAt).replace(/^0+/, '')
  const rest = all.slice(pointAt).replace(/0+$/, '')
  const significant = (whole + rest).replace(/^0+/, '')
  if (significant.length > 15) return 'too many digits'
  const decimals = decimalsOf(currency)
  if (rest.length > decimals) return 'too many decimals'
  const minor = BigInt(whole + rest.padEnd(decimals, '0') || '0')
  return minor > BigInt(Number.MAX_SAFE_INTEGER) ? 'too many digits' : Number(minor)
}

describe('parseMinor', () => {
  it.each([
    ['12.5', 'USD', 1250],
    ['12.50', 'USD', 1250],
    ['12.500', 'USD', 1250],
    ['0', 'USD', 0],
    ['0.00', 'JPY', 0],
    ['0.01', 'USD', 1],
    ['1.005', 'KWD', 1005],
    ['5', 'JPY', 5],
    ['5.000', 'JPY', 5],
    ['0.0001', 'CLF', 1],
    ['1e2', 'USD', 10000],
    ['1E+2', 'USD', 10000],
    ['1.25e1', 'USD', 1250],
    ['1250e-2', 'USD', 1250],
    ['100e-2', 'JPY', 1],
    ['0e400', 'USD', 0],
    ['0.1', 'USD', 10],
    ['1.1', 'USD', 110],
    ['4.35', 'USD', 435],
    ['8.41', 'USD', 841],
    ['9999999999999.99', 'USD', 999999999999999],
  ])('reads %s %s exactly', (text, currency, minor) => {
    expect(parseMinor(text, currency)).toBe(minor)
  })

  it.each([
    '',
    ' 1',
    '1 ',
    '+1',
    '.5',
    '5.',
    '007',
    '00',
    '1.2.3',
    '1,5',
    '1e',
    '1e+',
    '1e1.5',
    '1e2e3',
    'e2',
    '0x10',
    '1_000',
    'NaN',
    'Infinity',
    '-',
    '--1',
    '-x',
    '٣',
    '1n',
  ])('refuses %j as malformed', (text) => {
    expect(parseMinor(text, 'USD')).toBe('malformed')
  })

  it('reads 64 characters and refuses any longer text as malformed', () => {
    expect(parseMinor(`0.${'0'.repeat(62)}`, 'USD')).toBe(0)
    expect(parseMinor(`0.${'0'.repeat(63)}`, 'USD')).toBe('malformed')
    expect(parseMinor('9'.repeat(1_000_000), 'USD')).toBe('malformed')
  })

  it.each(['-1', '-0', '-0.00', '-1e400', '-0.001'])('refuses %s as negative', (text) => {
    expect(parseMinor(text, 'USD')).toBe('negative')
  })

  it.each([
    ['12.345', 'USD'],
    ['0.5', 'JPY'],
    ['1e-3', 'USD'],
    ['1e-400', 'USD'],
    ['1e-99999999999999999999', 'USD'],
    ['1.00005', 'CLF'],
  ])('refuses %s %s for its decimals', (text, currency) => {
    expect(parseMinor(text, currency)).toBe('too many decimals')
  })

  it.each([
    ['1234567890123456', 'JPY'],
    ['1000000000000000', 'JPY'],
    ['1e15', 'JPY'],
    ['1e400', 'USD'],
    ['1e99999999999999999999', 'USD'],
    ['99999999999999.99', 'USD'],
    ['12345678901234.567', 'USD'],
    ['999999999999999', 'USD'],
    ['90071992547410', 'KWD'],
  ])('refuses %s %s for its digits', (text, currency) => {
    expect(parseMinor(text, currency)).toBe('too many digits')
  })

  it('accepts up to the largest safe integer of minor units and not one more', () => {
    expect(parseMinor('90071992547409', 'USD')).toBe(9007199254740900)
    expect(parseMinor('9007199254740.9', 'KWD')).toBe(9007199254740900)
    expect(parseMinor('9007199254740.99', 'KWD')).toBe(9007199254740990)
    expect(parseMinor('900719925474.099', 'CLF')).toBe(9007199254740990)
    expect(parseMinor('900719925474.100', 'CLF')).toBe('too many digits')
    expect(parseMinor('90071992547410', 'USD')).toBe('too many digits')
  })

  it('agrees with reading the written-out decimal, for every JSON number', () => {
    const digits = (maxLength: number) =>
      fc.string({ unit: fc.constantFrom(...'00012359'), minLength: 1, maxLength })
    const texts = fc
      .tuple(
        fc.constantFrom('', '', '', '-'),
        digits(18).map((text) => text.replace(/^0+(?=\d)/, '')),
        fc.option(digits(18), { nil: '' }),
        fc.option(fc.integer({ min: -40, max: 40 }), { nil: null }),
      )
      .map(([sign, integer, fraction, exponent]) => {
        const point = fraction === '' ? '' : `.${fraction}`
        return `${sign}${integer}${point}${exponent === null ? '' : `e${exponent}`}`
      })
    fc.assert(
      fc.property(texts, currencies, (text, currency) => {
        expect(parseMinor(text, currency)).toBe(parseSlowly(text, currency))
      }),
      { numRuns: 5000 },
    )
  })

  it('agrees with the grammar for any text made of the characters of numbers', () => {
    const texts = fc.string({ unit: fc.constantFrom(...'0123.eE+-'), maxLength: 10 })
    fc.assert(
      fc.property(texts, (text) => {
        expect(parseMinor(text, 'KWD') === 'malformed').toBe(!jsonNumber.test(text))
      }),
      { numRuns: 5000 },
    )
  })

  it('never throws and never gives anything but a safe integer or a problem', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (text) => {
        const result = parseMinor(text, 'USD')
        expect(typeof result === 'string' || Number.isSafeInteger(result)).toBe(true)
      }),
    )
  })
})

describe('formatMinor', () => {
  it.each([
    [1250, 'USD', '12.50'],
    [-300, 'USD', '-3.00'],
    [-5, 'USD', '-0.05'],
    [5, 'JPY', '5'],
    [-5, 'JPY', '-5'],
    [0, 'USD', '0.00'],
    [-0, 'USD', '0.00'],
    [-0, 'JPY', '0'],
    [1, 'KWD', '0.001'],
    [10001, 'CLF', '1.0001'],
    [Number.MAX_SAFE_INTEGER, 'USD', '90071992547409.91'],
    [Number.MIN_SAFE_INTEGER, 'CLF', '-900719925474.0991'],
  ])('writes %d %s as %s', (minor, currency, text) => {
    expect(formatMinor(minor, currency)).toBe(text)
  })

  it('is read back as the same amount', () => {
    const minors = fc.integer({ min: 0, max: 999_999_999_999_999 })
    fc.assert(
      fc.property(minors, currencies, (minor, currency) => {
        expect(parseMinor(formatMinor(minor, currency), currency)).toBe(minor)
      }),
    )
  })

  it('keeps every digit of any safe integer', () => {
    fc.assert(
      fc.property(safeIntegers, currencies, (minor, currency) => {
        const text = formatMinor(minor, currency)
        expect(BigInt(text.replace('.', ''))).toBe(BigInt(minor))
        expect(text.split('.')[1]?.length ?? 0).toBe(decimalsOf(currency))
      }),
    )
  })

  it.each([0.5, Number.NaN, 2 ** 53])('throws for %d, which is no amount', (minor) => {
    expect(() => formatMinor(minor, 'USD')).toThrow(RangeError)
  })
})

describe('percentOf', () => {
  it.each([
    [10_000, 25_000, 250],
    [100, 5_000, 1],
    [99, 5_000, 0],
    [1, 500_000, 1],
    [1, 499_999, 0],
    [-1, 500_000, 0],
    [-3, 500_000, -1],
    [-1, 500_001, -1],
    [0, 1_000_000, 0],
    [Number.MAX_SAFE_INTEGER, 1_000_000, Number.MAX_SAFE_INTEGER],
    [Number.MAX_SAFE_INTEGER, 500_000, 4503599627370496],
  ])('of %d at %d millionths is %d', (amountMinor, millionths, share) => {
    expect(percentOf(amountMinor, millionths)).toBe(share)
  })

  it('is the floor of the exact share and a half', () => {
    fc.assert(
      fc.property(safeIntegers, fc.integer({ min: 0, max: 1_000_000 }), (amount, millionths) => {
        const doubled = 2n * BigInt(amount) * BigInt(millionths) + 1_000_000n
        const rest = ((doubled % 2_000_000n) + 2_000_000n) % 2_000_000n
        expect(BigInt(percentOf(amount, millionths))).toBe((doubled - rest) / 2_000_000n)
      }),
      { numRuns: 2000 },
    )
  })

  it('gives no share that is no safe integer', () => {
    expect(percentOf(Number.MAX_SAFE_INTEGER, 1_000_001)).toBe(Infinity)
    expect(percentOf(0.5, 2)).toBe(Infinity)
    expect(() => percentOf(2, 0.5)).toThrow(RangeError)
  })
})
