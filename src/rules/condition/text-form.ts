import { suggestion } from '../../document/spelling.ts'
import { isCurrency } from '../../domain/record/currency.ts'
import { isCountry } from '../../wire/country.ts'
import { alpha2ByAlpha3 } from '../../wire/iso-codes.ts'

/** The form of a text: a literal of another form could never match. */
export interface TextForm {
  readonly says: string
  readonly accepts: (text: string) => boolean
  /** All values, where they are few. */
  readonly values?: readonly string[]
  /** The value that was probably meant by one of another form. */
  readonly meant?: (text: string) => string | undefined
}

export function oneOf(values: readonly string[]): TextForm {
  return { says: `one of ${values.join(', ')}`, accepts: (text) => values.includes(text), values }
}

export const mccForm: TextForm = {
  says: 'four digits',
  accepts: (text) => /^(\d{4})?$/.test(text),
  // Spreadsheets drop leading zeros.
  meant: (text) => (/^\d{1,3}$/.test(text) ? text.padStart(4, '0') : undefined),
}

export const countryForm: TextForm = {
  says: 'an ISO 3166 alpha-2 country',
  accepts: (text) => text === '' || isCountry(text),
  meant(text) {
    const upper = text.toUpperCase()
    if (upper === 'UK') return 'GB'
    return isCountry(upper) ? upper : alpha2ByAlpha3.get(upper)
  },
}

export const currencyForm: TextForm = {
  says: 'an ISO 4217 currency',
  accepts: isCurrency,
  meant: (text) => (isCurrency(text.toUpperCase()) ? text.toUpperCase() : undefined),
}

/** That form, for a fact that may be absent. */
export function orNone(form: TextForm): TextForm {
  return { ...form, accepts: (text) => text === '' || form.accepts(text) }
}

/** `: did you mean RU?`, for a value of another form; '' when nothing is near. */
export function meantBy(form: TextForm, text: string): string {
  const meant = form.meant?.(text)
  return meant === undefined ? suggestion(text, form.values ?? []) : `: did you mean ${meant}?`
}
