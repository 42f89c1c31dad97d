import { createHash } from 'node:crypto'
import { currencyDecimals, decimalsOf } from '../domain/record/currency.ts'
import { parseMinor } from '../domain/record/money.ts'
import { countries } from '../wire/country.ts'
import { fieldShapes, isId, moneyMessages, notMoney } from '../wire/field-shape.ts'
import { alpha2ByAlpha3, currencyByNumber } from '../wire/iso-codes.ts'
import { parseTimestamp } from '../wire/timestamp.ts'
import type { AmountFile, CountryFile, FlagFile, IdFile, TextFile, TimeFile } from './file.ts'
import type { Found, PointerPlan } from './pointer.ts'
import { compileSource, nothing, type ReadText, whereOf } from './source.ts'

type ReadFlag = (found: Found) => boolean | null | undefined
/** Minor units; null when nothing is there; or what is wrong. */
type ReadAmount = (found: Found, currency: string) => number | null | string
/** Unix milliseconds; 0 when nothing is there; null when it is no time. */
type ReadTime = (found: Found) => number | null

export interface Named {
  readonly name: string
  /** The pointers, for people. */
  readonly where: string
}

export interface TextField extends Named {
  readonly mayBeAbsent: boolean
  /** What is read fits already, and is not looked through again. */
  readonly fits: boolean
  read: ReadText
}

export function compileText(
  plan: PointerPlan,
  name: string,
  file: TextFile | null,
  convert: ((given: string) => string) | null = null,
): TextField {
  const none = { name, where: '', mayBeAbsent: true, fits: false }
  if (file === null) return { ...none, read: nothing }
  const { constant, fallback = '' } = file
  if (constant !== undefined) return { ...none, read: () => constant }
  let read = compileSource(plan, file)
  if (file.map !== undefined) read = throughMap(read, file.map, file.default)
  if (convert !== null) read = converted(read, convert)
  if (fallback !== '') read = withFallback(read, fallback)
  const mayBeAbsent = file.fallback !== undefined
  return { name, where: whereOf(file), mayBeAbsent, fits: false, read }
}

function throughMap(
  read: ReadText,
  map: Readonly<Record<string, string>>,
  otherwise: string | undefined,
): ReadText {
  const targets = new Map(Object.entries(map))
  return (found) => {
    const value = read(found)
    return value === undefined || value === '' ? value : (targets.get(value) ?? otherwise)
  }
}

function converted(read: ReadText, convert: (given: string) => string): ReadText {
  return (found) => {
    const value = read(found)
    return value === undefined || value === '' ? value : convert(value)
  }
}

function withFallback(read: ReadText, fallback: string): ReadText {
  return (found) => {
    const value = read(found)
    return value === '' ? fallback : value
  }
}

const hashChars = 32

export function compileId(plan: PointerPlan, name: string, file: IdFile | null): TextField {
  if (!file?.hash) return compileText(plan, name, file)
  // A constant or a fallback is not hashed, so it is looked at.
  const fits = file.constant === undefined && file.fallback === undefined
  return { ...compileText(plan, name, file, toId), fits }
}

/** What does not fit an id stands for itself by its hash. */
function toId(given: string): string {
  if (isId(given)) return given
  return createHash('sha256').update(given).digest('hex').slice(0, hashChars)
}

export function compileCountry(
  plan: PointerPlan,
  name: string,
  file: CountryFile | null,
): TextField {
  const absent = file?.unknown === 'absent'
  return compileText(plan, name, file, (given) => {
    const code = countryNames.get(given)
    return code ?? (absent ? '' : unknownCode)
  })
}

/** Not '', which would be taken for nothing. */
export const unknownCode = '?'

/** Every way to name a country: alpha-2 and alpha-3. */
const countryNames: ReadonlyMap<string, string> = new Map([
  ...[...countries].map((code): [string, string] => [code, code]),
  ...alpha2ByAlpha3,
])

/** Every way to name a currency: capitals, small letters, the number with and without its zeros. */
const currencyNames: ReadonlyMap<string, string> = new Map([
  ...[...currencyDecimals.keys()].flatMap((code) => [
    [code, code],
    [code.toLowerCase(), code],
  ]),
  ...[...currencyByNumber].flatMap(([number, code]) => [
    [number, code],
    [String(Number(number)), code],
  ]),
] as [string, string][])

export function toCurrency(given: string): string {
  return currencyNames.get(given) ?? unknownCode
}

export function compileFlag(
  plan: PointerPlan,
  name: string,
  file: FlagFile | null,
): Named & { readonly read: ReadFlag } {
  if (file === null) return { name, where: '', read: () => null }
  const { constant } = file
  if (constant !== undefined) return { name, where: '', read: () => constant }
  const words = new Map<string, boolean | null>([
    ['true', true],
    ['false', false],
    ['', file.fallback ?? null],
    ...file.yes.map((word): [string, boolean] => [word, true]),
    ...file.no.map((word): [string, boolean] => [word, false]),
  ])
  const read = compileSource(plan, file)
  return { name, where: whereOf(file), read: (found) => words.get(read(found) ?? 'no text') }
}

const maxUnixMs = 253_402_300_799_999

export function compileTime(
  plan: PointerPlan,
  file: TimeFile | null,
): Named & { readonly must: string; readonly read: ReadTime } {
  const name = 'occurredAt'
  if (file === null) return { name, where: '', must: '', read: () => 0 }
  const read = compileSource(plan, file)
  const where = whereOf(file)
  if (file.form === 'rfc3339') {
    const parse: ReadTime = (found) => {
      const given = read(found)
      return given === undefined ? null : given === '' ? 0 : parseTimestamp(given)
    }
    return { name, where, must: fieldShapes.time.must, read: parse }
  }
  const unitMs = file.form === 'unix-seconds' ? 1000 : 1
  const parse: ReadTime = (found) => {
    const given = read(found)
    if (given === '') return 0
    // Fractions of a second are cut off, as those of a millisecond are in RFC 3339.
    if (given === undefined || !/^[0-9]{1,15}(\.[0-9]{1,9})?$/.test(given)) return null
    const ms = Math.floor(Number(given) * unitMs)
    return ms <= maxUnixMs ? ms : null
  }
  return { name, where, must: `must be a time in ${file.form}`, read: parse }
}

/** A currency without decimals: an amount in minor units is a whole number like one of these. */
const wholeUnits = 'JPY'
const notMinor = 'must be a whole number of minor units'

export function compileAmount(
  plan: PointerPlan,
  name: string,
  file: AmountFile | null,
): Named & { readonly read: ReadAmount } {
  if (file === null) return { name, where: '', read: () => null }
  const read = compileSource(plan, file, 'amount')
  const { unit, sign } = file
  const decimals = new Map(Object.entries(file.decimals))
  return {
    name,
    where: whereOf(file),
    read(found, currency) {
      let given = read(found)
      if (given === undefined) return notMoney
      if (given === '') return null
      if (sign !== 'as-is') {
        const negative = given.charCodeAt(0) === 0x2d
        if (negative) given = given.slice(1)
        else if (sign === 'negate' && !isZero(given)) return 'must be negative'
      }
      if (unit === 'major') {
        const minor = parseMinor(given, currency)
        return typeof minor === 'number' ? minor : moneyMessages[minor]
      }
      const units = parseMinor(given, wholeUnits)
      if (units === 'too many decimals') return notMinor
      if (typeof units !== 'number') return moneyMessages[units]
      const theirs = decimals.size === 0 ? undefined : decimals.get(currency)
      if (theirs === undefined || theirs === decimalsOf(currency)) return units
      const minor = parseMinor(`${units}e-${theirs}`, currency)
      return typeof minor === 'number' ? minor : moneyMessages[minor]
    },
  }
}

function isZero(decimal: string): boolean {
  return parseMinor(decimal, wholeUnits) === 0
}
