import { expect, it } from 'vitest'
import { countries, isCountry } from '../../src/wire/country.ts'

it('knows the 249 countries of ISO 3166 and Kosovo, each once', () => {
  expect(countries.size).toBe(250)
  const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
  for (const code of countries) expect(names.of(code), code).toBeDefined()
})

it.each(['ZZ', 'UK', 'EU', 'AN', 'SU', 'ng', 'NGA', '', 'N'])('does not know %j', (code) => {
  expect(isCountry(code)).toBe(false)
})
