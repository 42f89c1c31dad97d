import { describe, expect, it } from 'vitest'
import { rateOf, worthAt } from '../../../src/rules/condition/worth.ts'
import { explainRules } from '../../../src/rules/explain/explanation.ts'
import { bytesOfPack, readPackBytes } from '../../../src/rules/pack/bytes.ts'
import { finish } from '../../../src/rules/pack/step.ts'
import { createRandom } from '../../support/event-generator.ts'
import { askOf, packOfFiles, reportOf, rulesText } from '../../support/rule-world.ts'

const packFile = 'currency: USD\nrates: { EUR: 1.0835, JPY: 0.0067, KWD: "3.25" }'

function filesOf(when: string) {
  return { 'pack.yaml': packFile, 'a.rules.yaml': rulesText([{ when }]) }
}

/** Whether the rule matches an ask, which it does the same on another thread. */
function matches(when: string, currency: string, amountMinor: number): boolean {
  const pack = packOfFiles(filesOf(when))
  const ask = askOf({ event: { currency, amountMinor } })
  const { matched } = pack.evaluate(ask)
  expect(finish(readPackBytes(bytesOfPack(pack))).evaluate(ask).matched).toEqual(matched)
  const [explained] = explainRules(pack, ask)
  expect(explained?.matched).toBe(matched.length > 0)
  return matched.length > 0
}

describe('worth()', () => {
  it.each([
    ['USD', 50_000, 50_001],
    ['EUR', 46_147, 46_148], // 500.002745 and 500.01358 USD
    ['JPY', 74_626, 74_628], // 499.9942 and 500.0076 USD
    ['KWD', 153_847, 153_848], // 500.00275 and 500.006 USD
  ])('says a limit once for accounts in %s', (currency, below, above) => {
    expect(matches('worth(amount) > 500', currency, below)).toBe(false)
    expect(matches('worth(amount) > 500', currency, above)).toBe(true)
    expect(matches('500 < worth(amount) && worth(amount) * 2 > 1000', currency, above)).toBe(true)
  })

  it('passes over what has no rate, and the rule says so', () => {
    expect(matches('worth(amount) > 5', 'GBP', 1_000_000)).toBe(false)
    expect(matches('!(worth(amount) > 5)', 'GBP', 1)).toBe(false)
    const [explained] = explainRules(
      packOfFiles(filesOf('worth(amount) > 5')),
      askOf({ event: { currency: 'GBP', amountMinor: 900 } }),
    )
    expect(explained?.parts[0]).toMatchObject({ holds: false, values: [{ value: 'none' }] })
    const [rule] = packOfFiles(filesOf('worth(amount) > 5')).rules
    expect(rule?.currencies).toEqual(['USD', 'EUR', 'JPY', 'KWD'])
    expect(packOfFiles(filesOf('amount > 5')).rules[0]?.currencies).toEqual(['USD'])
    expect(packOfFiles(filesOf('foreign')).rules[0]?.currencies).toBeNull()
  })

  it('is exact, halves up, whatever the sizes', () => {
    const random = createRandom(7)
    for (let i = 0; i < 2000; i++) {
      const minor = random.between(0, 10 ** random.between(0, 12)) * (random.chance(0.2) ? -1 : 1)
      const rate = random.between(1, 10 ** random.between(1, 14))
      const doubled = BigInt(minor) * BigInt(rate) * 2n + 1_000_000_000n
      const floor = doubled / 2_000_000_000n - (doubled < 0n && doubled % 2_000_000_000n ? 1n : 0n)
      const safe = floor < 2n ** 53n && floor > -(2n ** 53n)
      const due = safe ? Number(floor) : minor < 0 ? -Infinity : Infinity
      expect([minor, rate, worthAt(minor, rate)]).toEqual([minor, rate, due])
    }
  })

  it('reads rates exactly, or refuses them', () => {
    expect(rateOf('1.08', 'EUR', 'USD')).toBe(1_080_000_000)
    expect(rateOf('0.0067', 'JPY', 'USD')).toBe(670_000_000)
    expect(rateOf('157.5', 'USD', 'JPY')).toBe(1_575_000_000)
    expect(rateOf('0', 'EUR', 'USD')).toBe('must be above 0')
    expect(rateOf('0.123456789', 'CLF', 'USD')).toBe('has too many decimals')
    expect(rateOf('99999999.5', 'EUR', 'USD')).toBe('has too many digits')
  })

  it.each([
    ['rates: { EUR: -1 }', 'foreign', 'rates.EUR is no number here'],
    ['rates: { EURO: 1 }', 'foreign', 'not an ISO 4217 currency'],
    ['rates: { USD: 1 }', 'foreign', 'rates.USD is the currency of the pack'],
    ['{}', 'worth(amount) > 5', 'worth() needs rates in pack.yaml'],
    [packFile, 'worth(merchantAmount) > 5', 'takes an amount in the currency of the account'],
    [packFile, 'worth(5) > 5', 'takes an amount in the currency of the account'],
    [packFile, 'worth(amount) > amount', 'are in different currencies'],
    [packFile, 'worth(amount * 1.5) > 5', 'multiply what it gives'],
  ])('%s with %s is refused', (pack, when, says) => {
    const files = { 'pack.yaml': pack, 'a.rules.yaml': rulesText([{ when }]) }
    expect(reportOf(files).join('\n')).toContain(says)
  })
})
