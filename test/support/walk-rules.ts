import { packOfFiles } from './rule-world.ts'

const rules = [
  {
    id: 'hotel-cash',
    when: 'merchant.mcc == "7011" && requestType == "CashWithdrawal"',
    decline: '128',
  },
  { id: 'watched', when: 'merchant.mcc == "5999"', review: 'approve' },
  { id: 'unsure', when: 'merchant.mid == "M3" && foreign', review: '304' },
  { id: 'named', when: 'merchant.mid == "M2"', tag: 'second' },
  { id: 'regular', when: 'merchant.mid == "M1"', allow: { above: ['limits', 'frozen'] } },
  {
    id: 'trusted',
    when: 'merchant.mid == "M2" && merchant.mcc != "6011"',
    allow: { rules: ['hotel-cash'], above: ['funds', 'lists'] },
  },
  {
    id: 'stranded',
    when: 'merchant.country == "GB"',
    allow: ['unsure'],
  },
  {
    id: 'dear',
    // 3.33 EUR are 4.995.
    when: 'worth(amount) > 4.99 || worth(amount) > 1.60 && merchant.mcc == "5999"',
    decline: '130',
  },
  {
    id: 'tried',
    mode: 'shadow',
    when: 'true',
    allow: { rules: 'all', above: ['limits', 'funds'] },
  },
]

const { evaluate, above } = packOfFiles({
  'pack.yaml': 'currency: USD\nrates: { EUR: 1.5 }',
  'a.rules.yaml': rules.map((rule) => `- ${JSON.stringify({ why: 'w', ...rule })}\n`).join(''),
})

/** The rules as a pack has them. */
export const walkRules = { evaluate, ...(above && { above }) }
