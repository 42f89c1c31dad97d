import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readFolder } from '../../../src/rules/pack/folder.ts'
import { formatFile } from '../../../src/rules/pack/formatting.ts'
import { readPackFiles } from '../../../src/rules/pack/reading.ts'

const untidy = `# all of them
-   why: "Too: much"   # asked for by risk
    decline: "129"
    when:   amount > 500 && merchant.mcc == "6011"
    id: big-cash
    on: [ CashWithdrawal ]

# the second
- { id: small, when: amount < 1, decline: '128', why: x }
`

const tidy = `# all of them
- id: big-cash
  on: [CashWithdrawal]
  when: amount > 500 && merchant.mcc == "6011"
  decline: "129"
  why: "Too: much" # asked for by risk

# the second
- { id: small, when: amount < 1, decline: '128', why: x }
`

it('puts fields in order and keeps comments, quotes and what is said', () => {
  expect(formatFile('a.rules.yaml', untidy)).toBe(tidy)
  expect(formatFile('a.rules.yaml', untidy.replaceAll('\n', '\r\n'))).toBe(tidy)
  expect(formatFile('lists/mids.txt', 'A  \r\n  # why\n\nB # x\n\n\n')).toBe('A\n# why\n\nB # x\n')
})

it('changes nothing the second time where a comment stood before a field that is the first now', () => {
  const text = '- why: x\n  when: foreign\n  # since May\n  id: far\n  decline: "304"\n'
  const once = formatFile('a.rules.yaml', text)!
  expect(once).toContain('# since May\n- id: far\n')
  expect(formatFile('a.rules.yaml', once)).toBe(once)
})

it('keeps a space that a text over several lines has at the end of one', () => {
  const text = '- when: |-\n    foreign && \n    hour < 6\n  id: x   # why   \n'
  const next = '- id: x # why   \n  when: |-\n    foreign && \n    hour < 6\n'
  expect(formatFile('a.rules.yaml', text)).toBe(next)
})

it('leaves alone what cannot be read', () => {
  for (const text of ['- id: [', 'a: 1\na: 2', '\tx: 1']) {
    expect(formatFile('a.rules.yaml', text)).toBeNull()
  }
})

it('changes nothing the second time, in every pack that is here', () => {
  const rules = join(import.meta.dirname, '../../../rules')
  const examples = join(rules, 'examples')
  const folders = [rules, ...readdirSync(examples).map((name) => join(examples, name))]
  for (const folder of folders) {
    for (const [name, text] of readFolder(folder)) {
      const once = formatFile(name, text)
      expect(once, `${folder} ${name}`).not.toBeNull()
      expect(formatFile(name, once!)).toBe(once)
    }
  }
})

describe('the form of lists', () => {
  it('is tight, beside maps that are not, and conditions stay as they are written', () => {
    const text = '- { id: a, on: [ Authorization,  CashWithdrawal ], when: "x in [ 1 ]" }\n'
    expect(formatFile('a.rules.yaml', text)).toBe(
      '- { id: a, on: [Authorization, CashWithdrawal], when: "x in [ 1 ]" }\n',
    )
    const plain = '- id: a\n  when: merchant.mcc in [ "5411" ] && "[ " != merchant.mid\n'
    expect(formatFile('a.rules.yaml', plain)).toBe(plain)
    const nested = '- name: t\n  cards: [ {}, { type: lite } ] # [ two ]\n'
    expect(formatFile('a.test.yaml', nested)).toBe(
      '- name: t\n  cards: [{}, { type: lite }] # [ two ]\n',
    )
  })

  it.each(['rules', 'rules/examples/issuer'])('is that of %s', (folder) => {
    for (const [file, text] of readPackFiles(folder)) {
      expect([file, formatFile(file, text)]).toEqual([file, text])
    }
  })
})
