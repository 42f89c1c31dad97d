import type { CardEvent } from '../../src/domain/record/event.ts'

/** What the rules of a walk say of an ask, told a second time without the code that evaluates rules. */
export interface NaiveSaying {
  /** The code of the first rule that declines; '' for none. */
  readonly decline: string
  readonly review: boolean
  /** The checks that some rule allows. */
  readonly above: readonly string[]
}

export const silence: NaiveSaying = { decline: '', review: false, above: [] }

/** In cents; nothing for a currency that has no rate. */
function worthOf({ amountMinor, currency }: CardEvent): number {
  const rate = { USD: 1, EUR: 1.5 }[currency] ?? 0
  return Math.floor((amountMinor ?? 0) * rate + 0.5)
}

/** The rules of walk-rules.ts in words: hotels give no cash, M3 abroad is unsure, and so on. */
export function naiveSaying(event: CardEvent, foreign: boolean): NaiveSaying {
  const { mid, mcc, country } = event.merchant
  const trusted = mid === 'M2' && mcc !== '6011'
  const stranded = country === 'GB'
  const unsure = mid === 'M3' && foreign && !stranded
  const noCash = mcc === '7011' && event.requestType === 'CashWithdrawal' && !trusted
  const dear = worthOf(event) > (mcc === '5999' ? 160 : 499)
  return {
    decline: noCash ? '128' : unsure ? '304' : dear ? '130' : '',
    review: unsure || mcc === '5999',
    above: [...(mid === 'M1' ? ['limits', 'frozen'] : []), ...(trusted ? ['funds', 'lists'] : [])],
  }
}
