/**
 * ISO 4217 list one, by number of decimals, fund codes included. It is written out because Intl
 * follows CLDR, which gives cash decimals: 0 for COP, IDR, HUF and IQD. Codes whose decimals ISO
 * gives as N.A. (metals, XDR, XTS, XXX) cannot name an amount of money and are left out. None is ever
 * taken out: records that name it would count as damaged.
 */
const codesByDecimals: readonly (readonly [decimals: number, codes: string])[] = [
  [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'],
  [
    2,
    // BGN left the list when Bulgaria took the euro on 2026-01-01; older records still carry it.
    `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD
     CAD CDF CHE CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL
     GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR
     LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD
     PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC
     SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR
     ZMW ZWG`,
  ],
  [3, 'BHD IQD JOD KWD LYD OMR TND'],
  [4, 'CLF UYW'],
]

export const currencyDecimals: ReadonlyMap<string, number> = new Map(
  codesByDecimals.flatMap(([decimals, codes]) =>
    codes.split(/\s+/).map((code): [string, number] => [code, decimals]),
  ),
)

export function isCurrency(code: string): boolean {
  return currencyDecimals.has(code)
}

/** Codes are checked at the edge, so an unknown one here is a bug. */
export function decimalsOf(code: string): number {
  const decimals = currencyDecimals.get(code)
  if (decimals === undefined) throw new RangeError(`unknown currency ${code}`)
  return decimals
}
