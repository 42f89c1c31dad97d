import { describe, expect, it } from 'vitest'
import { packOfFiles, reportOf } from '../../support/rule-world.ts'

const windows = (...written: string[]) => ({
  'windows.yaml': written.map((one) => `- ${one}\n`).join(''),
})

const report = (one: string) =>
  reportOf(windows(`{ name: w, scope: card, period: day, ${one} }`)).join('\n')

describe('what is wrong with a window', () => {
  it.each([
    ['distinct: merchant.contry', 'distinct merchant.contry is no text of an event'],
    ['distinct: merchant.contry', 'did you mean merchant.country?'],
    ['where: amuont > 5', 'amuont is not known: did you mean amount?'],
    ['where: windows.w.sum > 5', 'there is no window w'],
    [`where: 'merchant.mcc in ["541"]'`, 'merchant.mcc is four digits, never "541"'],
    ['where: amount', 'a yes or no is needed'],
    ['firstDay: sun', 'is a weekday for a week, and a number for a month'],
    ['firstDay: 29', 'must be at most 28'],
    ['period: { trailing: 5s }', 'must be from 10s to 366d'],
    ['period: { trailing: 367d }', 'must be from 10s to 366d'],
  ])('is said where it is: %s', (written, said) => {
    const one = written.startsWith('period')
      ? reportOf(windows(`{ name: w, scope: card, ${written} }`)).join('\n')
      : report(written)
    expect(one).toContain('windows.yaml:1')
    expect(one).toContain(said)
  })

  it('is said of what cannot be counted at each merchant of a card, whatever the field', () => {
    const written = '{ name: w, scope: card-and-merchant, period: day, distinct: channel }'
    const said = 'windows.yaml:1:63 distinct cannot stand beside card-and-merchant'
    expect(reportOf(windows(written)).join('\n')).toContain(said)
  })

  it('is not laid to the rules, nor to the other windows', () => {
    const when = 'windows.w.max > 5 || windows.w.distinct > 2 || windows.wrong.deviation > 1'
    const report = reportOf({
      ...windows(
        '{ name: w, scope: card, period: day, spread: true, distinct: true }',
        '{ name: wrong, scope: card, period: dya, spread: true }',
      ),
      'a.rules.yaml': JSON.stringify([{ id: 'r', when, decline: '127', why: 'w' }]),
    })
    expect(report).toHaveLength(1)
    expect(report[0]).toContain('windows.yaml:2:39 period must be day')
  })
})

describe('a window', () => {
  const rules = (when: string) => ({
    'a.rules.yaml': JSON.stringify([{ id: 'r', when, decline: '127', why: 'w' }]),
  })
  const noon = '2026-11-15T12:00:00Z'
  const shop = (amount: number, more = '') =>
    `{ send: Authorization, expect: approve, amount: ${amount}${more} }`
  const test = (...steps: string[]) => ({
    'a.test.yaml': `- name: t\n  start: ${noon}\n  steps:\n${steps.map((step) => `    - ${step}\n`).join('')}`,
  })

  it('tells average, deviation, largest amount and different values of any field', () => {
    const files = {
      ...windows(
        '{ name: w, scope: card, period: day, spread: true, distinct: merchant.country }',
        '{ name: night, scope: card, period: day, where: "amount >= 20 && !foreign" }',
      ),
      ...rules('windows.w.count > 100'),
      ...test(
        shop(10),
        shop(20, ', country: FR'),
        shop(60),
        '{ at: 2026-11-15T13:00:00Z, windows: { w: { sum: 90, count: 3, average: 30, deviation: 21.60, max: 60, distinct: 2 }, night: { sum: 60, count: 1 } } }',
        '{ send: Reversal, expect: approve, txn: t3, windows: { w: { sum: 30, average: 15, deviation: 5, max: 60 } } }',
      ),
    }
    expect(reportOf(files)).toEqual([])
  })

  it('counts a transaction as one while some of it stands there, also when the rest stood there before', () => {
    const day = (name: string, period: string) =>
      `{ name: ${name}, scope: card, period: ${period}, distinct: true }`
    const both = (sum: number, count: number) => {
      const average = count === 0 ? 0 : sum / count
      return `{ sum: ${sum}, count: ${count}, average: ${average}, distinct: ${count} }`
    }
    const told = (today: string, last: string) => `windows: { w: ${today}, t: ${last} }`
    const files = {
      ...windows(day('w', 'day'), day('t', '{ trailing: 24h }')),
      ...rules('windows.w.count > 100 && windows.t.count > 100'),
      ...test(
        shop(10, ', txn: hotel'),
        '{ at: 2026-11-16T10:00:00Z }',
        shop(20, `, txn: hotel, ${told(both(20, 1), both(30, 1))}`),
        `{ at: 2026-11-16T13:00:00Z, ${told(both(20, 1), both(20, 1))} }`,
        `{ send: PartialReversal, expect: approve, txn: hotel, amount: 20, ${told(both(0, 0), both(0, 0))} }`,
        shop(5, `, txn: hotel, ${told(both(5, 1), both(5, 1))}`),
      ),
    }
    expect(reportOf(files)).toEqual([])
  })

  it('counts only what all of its filters let through', () => {
    const files = {
      ...windows(
        '{ name: w, scope: card, period: day, mccs: ["5411"], countries: ["FR"], where: amount > 5 }',
      ),
      ...rules('windows.w.count > 100'),
      ...test(
        shop(10, ', mcc: "5411", country: FR'),
        shop(20, ', mcc: "5411", country: GB'),
        shop(40, ', mcc: "5812", country: FR'),
        shop(3, ', mcc: "5411", country: FR, windows: { w: { sum: 10, count: 1 } }'),
      ),
    }
    expect(reportOf(files)).toEqual([])
  })

  it('begins on the day that it names', () => {
    const files = (firstDay: string, sum: number) => ({
      ...windows(`{ name: w, scope: card, period: week, firstDay: ${firstDay} }`),
      ...rules('windows.w.sum > 100'),
      ...test(shop(10), `{ at: 2026-11-16T00:00:00Z, windows: { w: { sum: ${sum} } } }`),
    })
    // The sixteenth is a Monday.
    expect(reportOf(files('sun', 10))).toEqual([])
    expect(reportOf(files('mon', 0))).toEqual([])
    expect(reportOf(files('mon', 10)).join()).toContain('sum is "0.00", expected "10.00"')
  })

  it('keeps what a condition of its own remembers', () => {
    const pack = packOfFiles({
      ...windows('{ name: w, scope: card, period: day, where: "!merchant_seen" }'),
      ...rules('windows.w.count > 3'),
    })
    expect(pack.remembers.merchants).toBe(true)
  })
})
