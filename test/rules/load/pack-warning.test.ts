import { expect, it } from 'vitest'
import { packOfFiles, rulesText } from '../../support/rule-world.ts'

const warningsOf = (files: Record<string, string>) =>
  packOfFiles(files).warnings.map(({ file, line, message }) => `${file}:${line} ${message}`)

it.each([
  ['scope: card, mccs: none', 'w never counts: its mccs are none'],
  ['scope: card, countries: []', 'w never counts: its countries are none'],
  ['scope: card, where: "hour > 22 && hour < 6"', 'w never counts: its where never holds'],
  [
    'scope: merchant, distinct: true',
    'w has one merchant.mid in each merchant: its distinct is never above 1',
  ],
])('a window that never counts, or one at most, is warned about: %s', (written, said) => {
  const files = {
    'lists/none.txt': '# nothing yet\n',
    'windows.yaml': `- { name: good, scope: merchant, distinct: card.id, period: day }\n- { name: w, ${written}, period: day }\n`,
  }
  expect(warningsOf(files)).toEqual([`windows.yaml:2 ${said}`])
})

it("an allow over another organization's rule is warned about, and one over the base is not", () => {
  const allowing = rulesText([
    { id: 'trusted', when: 'foreign', decline: undefined, allow: ['base', 'strange'] },
  ])
  const warnings = warningsOf({
    'a.rules.yaml': rulesText([{ id: 'base', when: 'hour < 3' }]),
    'organizations/org-1/a.rules.yaml': rulesText([{ id: 'strange', when: 'hour < 4' }]),
    'organizations/org-2/a.rules.yaml': allowing,
  })
  expect(warnings).toEqual([
    "organizations/org-2/a.rules.yaml:2 trusted allows over strange, which is another organization's: it takes nothing away",
  ])
})
