import { expect, it } from 'vitest'
import type { Customer } from '../../src/management/customer.ts'
import { newDraft } from '../../src/management/issue.ts'

it.each([
  ['Ada Obi', 'ADA OBI'],
  ['Àdùkẹ́ Ọláṣẹ̀gún', 'ADUKE OLASEGUN'],
  ['Ɗanjuma Ɓello-Ƙaura', 'DANJUMA BELLO-KAURA'],
  ['Łukasz Ørsted Æbelø', 'LUKASZ ORSTED AEBELO'],
  ['Đorđe Weiß', 'DORDE WEISS'],
  ['Siobhán O’Brien', "SIOBHAN O'BRIEN"],
  ['Anne‑Marie–Louise', 'ANNE-MARIE-LOUISE'],
  ['Ada & Sons (Ltd.)', 'ADA SONS LTD.'],
  ['Maximiliana Bartholomew-Featherstone', 'MAXIMILIANA BARTHOLOMEW-FE'],
  ['Лев Толстой', ''],
])('%s is printed as %s', (name, printed) => {
  expect(newDraft('retail', { name } as Customer).details.nameOnCard).toBe(printed)
})
