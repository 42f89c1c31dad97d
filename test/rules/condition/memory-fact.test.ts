import { expect, it } from 'vitest'
import { packOfFiles, reportOf } from '../../support/rule-world.ts'

/** A pack with one rule and a test of these steps. */
const pack = (when: string, ...steps: string[]) => ({
  'a.rules.yaml': JSON.stringify([{ id: 'r', when, decline: '127', why: 'w' }]),
  'a.test.yaml': `- name: t\n  cards: [{ dailyLimit: 100, transactionLimit: 80, balance: 1000 }]\n  steps:\n${steps.map((step) => `    - { ${step.startsWith('wait') ? step : `send: Authorization, ${step}`} }\n`).join('')}`,
})

const approve = 'expect: approve'
const decline = 'expect: "127", rule: r'

it.each([
  [
    'the first MCC of a card',
    pack(
      '!mcc_seen && amount > 20',
      `amount: 5, mcc: "5411", ${approve}`,
      `amount: 30, mcc: "5411", ${approve}`,
      `amount: 30, mcc: "5812", ${decline}`,
    ),
  ],
  [
    'the first currency of a merchant',
    pack(
      '!currency_seen && amount > 20',
      `amount: 5, ${approve}`,
      `amount: 30, ${approve}`,
      `amount: 30, merchantAmount: 20, merchantCurrency: GBP, ${decline}`,
    ),
  ],
  [
    'declines in a row',
    pack(
      'declines_in_row >= 2 && amount < 50',
      `amount: 90, times: 2, expect: decline`,
      `amount: 5, ${decline}`,
      `amount: 60, ${approve}`,
      `amount: 5, ${approve}`,
    ),
  ],
  [
    'a country that changed too soon',
    pack(
      'country_changed && minutes_since_last_place < 60',
      `amount: 5, country: FR, ${approve}`,
      `amount: 5, country: FR, ${approve}`,
      `amount: 5, country: BR, ${decline}`,
      `amount: 5, country: "", ${approve}`,
    ),
  ],
  [
    'the last place by name',
    pack(
      'has(last_country) && last_country == "FR" && last_city != merchant.city',
      `amount: 5, country: FR, city: Lyon, ${approve}`,
      `amount: 5, country: FR, city: Lyon, ${approve}`,
      `amount: 5, city: Paris, ${decline}`,
    ),
  ],
  [
    'how far away the last place is, and how fast a card would have gone there',
    pack(
      'distance_km > 500 || (has(speed_kmh) && speed_kmh >= 900)',
      `amount: 5, details: { location: "48.85,2.35" }, ${approve}`,
      'wait: 10m',
      `amount: 5, details: { location: "45.76,4.84" }, ${decline}`,
      'wait: 2h',
      `amount: 5, details: { location: "45.76,4.84" }, ${approve}`,
      `amount: 5, details: { location: "Lyon" }, ${approve}`,
      `amount: 5, ${approve}`,
      'wait: 9d',
      `amount: 5, details: { location: "52.52,13.40" }, ${decline}`,
    ),
  ],
  [
    'whether it can be told how far away the last place is',
    pack(
      '!has(distance_km) && amount > 20',
      `amount: 5, details: { location: "48.85,2.35" }, ${approve}`,
      `amount: 30, details: { location: "45.76,4.84" }, ${approve}`,
      `amount: 30, ${decline}`,
    ),
  ],
  [
    'a share of the limits',
    pack(
      'card.daily_limit_used >= 60 && card.transaction_limit_used <= 25',
      `amount: 60, ${approve}`,
      `amount: 21, ${approve}`,
      `amount: 5, ${decline}`,
    ),
  ],
])('rules can look at %s', (_what, files) => {
  expect(reportOf(files)).toEqual([])
})

it('a rule that an empty memory would set off is told', () => {
  const memories = (when: string) => {
    const { 'a.rules.yaml': rules } = pack(when)
    return packOfFiles({ 'a.rules.yaml': rules }).memories
  }
  const ruleIds = (when: string) => memories(when)?.flatMap((memory) => memory.ruleIds)
  expect(ruleIds('!mcc_seen')).toEqual(['r'])
  expect(ruleIds('country_changed && minutes_since_last_place < 60')).toEqual([])
  expect(ruleIds('minutes_since_last_place > 60')).toEqual(['r'])
  expect(ruleIds('last_country != merchant.country')).toEqual(['r'])
  expect(ruleIds('declines_in_row > 3')).toEqual([])
})
