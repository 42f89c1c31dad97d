import { describe, expect, it } from 'vitest'
import {
  declineCodes,
  isResponseCode,
  type ResponseCode,
  reasonOf,
  responseCodes,
} from '../../../src/domain/record/response-code.ts'

const codes = Object.keys(responseCodes) as ResponseCode[]

function countOf(finality: string): number {
  return codes.filter((code) => responseCodes[code].finality === finality).length
}

/** '111-117' without a gap is seven codes. */
function between(first: number, last: number): number {
  return codes.filter((code) => Number(code) >= first && Number(code) <= last).length
}

describe('responseCodes', () => {
  it('has 128 codes: one success, 104 failures and 23 that leave the outcome open', () => {
    expect(codes).toHaveLength(128)
    expect(countOf('TerminalSuccess')).toBe(1)
    expect(countOf('TerminalFailure')).toBe(104)
    expect(countOf('Indeterminate')).toBe(23)
  })

  it('covers each family and leaves the two unused numbers out', () => {
    expect(between(111, 149)).toBe(37)
    expect(between(150, 189)).toBe(40)
    expect(between(201, 239)).toBe(39)
    expect(between(301, 310)).toBe(10)
    expect(isResponseCode('118')).toBe(false)
    expect(isResponseCode('120')).toBe(false)
  })

  it.each([
    ['000', 'TerminalSuccess'],
    ['111', 'TerminalFailure'],
    ['116', 'TerminalFailure'],
    ['149', 'TerminalFailure'],
    ['150', 'Indeterminate'],
    ['154', 'TerminalFailure'],
    ['156', 'Indeterminate'],
    ['173', 'TerminalFailure'],
    ['174', 'Indeterminate'],
    ['179', 'Indeterminate'],
    ['187', 'Indeterminate'],
    ['189', 'TerminalFailure'],
    ['208', 'TerminalFailure'],
    ['214', 'Indeterminate'],
    ['230', 'Indeterminate'],
    ['232', 'TerminalFailure'],
    ['233', 'Indeterminate'],
    ['239', 'TerminalFailure'],
    ['310', 'TerminalFailure'],
    ['911', 'Indeterminate'],
  ] as const)('%s is %s', (code, finality) => {
    expect(responseCodes[code].finality).toBe(finality)
  })

  it('declines with the failures only, in ascending order', () => {
    expect(declineCodes).toHaveLength(104)
    expect(declineCodes[0]).toBe('111')
    expect(declineCodes.at(-1)).toBe('310')
    expect(declineCodes).toEqual([...declineCodes].sort())
    expect(declineCodes).not.toContain('000')
    expect(declineCodes).not.toContain('911')
  })

  it('recognises its own codes and nothing else', () => {
    for (const code of codes) expect(isResponseCode(code)).toBe(true)
    for (const text of ['', '0', '00', '0000', ' 000', '999', 'toString', '__proto__']) {
      expect(isResponseCode(text)).toBe(false)
    }
  })
})

describe('reasonOf', () => {
  it.each([
    ['000', 'approved'],
    ['114', 'max top-up limit exceeded'],
    ['115', 'organization disabled kyc not approved'],
    ['116', 'insufficient funds'],
    ['140', 'do not honour'],
    ['150', 'service malfunction'],
    ['151', 'service timeout'],
    ['168', 'refer to issuer special condition'],
    ['172', 'issuer switch timeout'],
    ['208', 'restricted card pickup'],
    ['217', 'invalid amount insufficient funds'],
    ['308', 'high-risk merchant'],
    ['911', 'service exception'],
  ] as const)('of %s is "%s"', (code, reason) => {
    expect(reasonOf(code)).toBe(reason)
  })

  it('is different for every code and made of lower case words', () => {
    const reasons = codes.map(reasonOf)
    expect(new Set(reasons).size).toBe(codes.length)
    for (const reason of reasons) expect(reason).toMatch(/^[a-z-]+( [a-z-]+)*$/)
  })
})
