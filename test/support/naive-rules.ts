import type { CardEvent } from '../../src/domain/record/event.ts'
import { packOfFiles } from './rule-world.ts'

/** What the rules of a walk say of an ask, told a second time without the code that evaluates rules. */
export interface NaiveSaying {
  /** The code of the first rule that declines; '' for none. */
  readonly decline: string
  readonly review: boolean
  /** The checks that some rule allows. */
  readonly above: readonly string[]
}

export const silence: NaiveSaying = { decline: '', review: false, above: [] }

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
    id: 'tried',
    mode: 'shadow',
    when: 'true',
    allow: { rules: 'all', above: ['limits', 'funds'] },
  },
]

const { evaluate, above } = packOfFiles({
  'a.rules.yaml': rules.map((rule) => `- ${JSON.stringify({ why: 'w', ...rule })}\n`).join(''),
})

/** The rules as a pack has them. */
export const walkRules = { evaluate, ...(above && { above }) }

/** The same rules in words: hotels give no cash, M3 abroad is unsure, and so on. */
export function naiveSaying(event: CardEvent, foreign: boolean): NaiveSaying {
  const { mid, mcc, country } = event.merchant
  const trusted = mid === 'M2' && mcc !== '6011'
  const stranded = country === 'GB'
  const unsure = mid === 'M3' && foreign && !stranded
  const noCash = mcc === '7011' && event.requestType === 'CashWithdrawal' && !trusted
  return {
    decline: noCash ? '128' : unsure ? '304' : '',
    review: unsure || mcc === '5999',
    above: [...(mid === 'M1' ? ['limits', 'frozen'] : []), ...(trusted ? ['funds', 'lists'] : [])],
  }
}
