import { expect, it } from 'vitest'
import { compilePack } from '../../../src/rules/load/compiler.ts'
import { reportOf, rulesText } from '../../support/rule-world.ts'

const pack = {
  'pack.yaml': 'name: programme',
  'z.rules.yaml': rulesText([{ id: 'large', when: 'amount > 500', decline: '128' }]),
  'organizations/acme/a.rules.yaml': rulesText([
    { id: 'acme-large', when: 'amount > 50', decline: '129' },
  ]),
  'organizations/globex/a.rules.yaml':
    '- { id: globex-free, when: amount > 0, allow: [large], why: a contract }',
  'organizations/acme/a.test.yaml': `
- name: the base comes first, then what only acme has
  steps:
    - { send: Authorization, amount: 600, expect: "128", rule: large }
    - { send: Authorization, amount: 60, expect: "129", rule: acme-large }
    - { send: Authorization, amount: 40, expect: approve }
`,
  'organizations/globex/a.test.yaml': `
- name: globex may take away what the base declines, and knows nothing of acme's
  steps:
    - { send: Authorization, amount: 600, expect: approve }
- name: a test may be about another
  cards: [{ organizationId: acme }]
  steps:
    - { send: Authorization, amount: 60, expect: "129" }
`,
  'base.test.yaml': `
- name: an organization without a folder has the base
  cards: [{ organizationId: initech }]
  steps:
    - { send: Authorization, amount: 600, expect: "128" }
    - { send: Authorization, amount: 60, expect: approve }
- name: and so has a card without an organization
  steps:
    - { send: Authorization, amount: 60, expect: approve }
`,
}

it('rules of an organization look at its own asks only, after those of the base', () => {
  const { rules } = compilePack(new Map(Object.entries(pack)), 45)
  expect(rules.map(({ id, file }) => [id, file])).toEqual([
    ['large', 'z.rules.yaml'],
    ['acme-large', 'organizations/acme/a.rules.yaml'],
    ['globex-free', 'organizations/globex/a.rules.yaml'],
  ])
})

it('its tests prove it, a name that is no file of an organization is refused', () => {
  const wrong = pack['organizations/globex/a.test.yaml'].replace('expect: approve', 'expect: "128"')
  expect(reportOf({ ...pack, 'organizations/globex/a.test.yaml': wrong }).join()).toContain(
    'organizations/globex/a.test.yaml',
  )
  expect(reportOf({ ...pack, 'organizations/acme/windows.yaml': '[]' }).join()).toContain(
    'is no file of an organization',
  )
})
