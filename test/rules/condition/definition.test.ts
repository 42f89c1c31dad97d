import { expect, it } from 'vitest'
import { explainRules } from '../../../src/rules/explain/explanation.ts'
import { askOf, packOfFiles, reportOf, rulesText } from '../../support/rule-world.ts'

const define = `define:
  dear: amount > 500
  late: hour >= 12 || hour < 6
  late_and_dear: late && dear
`

it('a defined condition stands for what it says, also within another, and is explained by its parts', () => {
  const rules = rulesText([
    { when: 'late_and_dear && !foreign' },
    { when: 'foreign', unless: 'late' },
  ])
  const pack = packOfFiles({ 'pack.yaml': define, 'a.rules.yaml': rules })
  const plain = packOfFiles({
    'a.rules.yaml': rulesText([
      { when: '(hour >= 12 || hour < 6) && amount > 500 && !foreign' },
      { when: 'foreign', unless: 'hour >= 12 || hour < 6' },
    ]),
  })
  for (const amountMinor of [40_000, 60_000]) {
    for (const country of ['US', 'NG']) {
      for (const hours of [0, -1, -8]) {
        const atMs = Date.UTC(2026, 10, 15, 12 + hours)
        const ask = askOf({ event: { amountMinor }, merchant: { country }, atMs })
        expect(pack.evaluate(ask).matched).toEqual(plain.evaluate(ask).matched)
      }
    }
  }
  const [first] = explainRules(pack, askOf({ event: { amountMinor: 60_000 } }))
  expect(first!.parts[0]!.parts.map(({ text }) => text)).toEqual(['late', 'dear', '!foreign'])
  expect(JSON.stringify(first!.parts)).toContain('hour >= 12')
})

it('what is wrong with a definition is told where it stands, and keeps nothing that no rule uses', () => {
  const report = (text: string, when = 'foreign') =>
    reportOf({ 'pack.yaml': text, 'a.rules.yaml': rulesText([{ when }]) })
  expect(report('define: { dear: amuont > 5 }')).toEqual([
    'pack.yaml:1:17 define.dear: amuont is not known: did you mean amount?',
  ])
  expect(report('define: { foreign: hour > 5 }')).toEqual([
    'pack.yaml:1:20 define.foreign is the name of a fact',
  ])
  for (const name of ['lists', 'windows']) {
    expect(report(`define: { ${name}: hour > 5 }`)[0]).toContain(`${name} is the name of a fact`)
  }
  for (const name of ['true', 'in']) {
    expect(report(`define: { ${name}: hour > 5 }`)[0]).toContain('is a word of conditions')
  }
  expect(report('define: { five: amount }')[0]).toContain('a yes or no is needed')
  expect(report('define: { late: hour > 5 }', 'lat && foreign')[0]).toContain('lat is not known')
  expect(report('define: { dear: dear || foreign }')[0]).toContain('dear is not known')
  // Nor is it told again by what names it, or by what stands beside it in the file.
  expect(report('define: { dear: amuont > 5 }', 'dear && foreign')).toHaveLength(1)
  expect(report('define: { dear: amount > 5 }\nrates: { EUR: 1.1 }\nnme: x', 'dear')).toEqual([
    'pack.yaml:3:1 nme is not known: did you mean name?',
  ])
  expect(report('rates: { EUR: 1.1 }\nnme: x', 'worth(amount) > 5')).toHaveLength(1)
  for (const rates of ['{ EUR: abc }', '{ EUR: [1] }', '{ EURO: 1 }', '{ USD: 1 }', '5']) {
    expect(report(`rates: ${rates}`, 'worth(amount) > 5')).toEqual([
      expect.stringMatching(/^pack\.yaml:1:\d+ rates/),
    ])
  }
  const unused = 'define: { fresh: "!merchant_seen" }'
  expect(packOfFiles({ 'pack.yaml': unused }).remembers.merchants).toBe(false)
})

it('a pack defines at most a thousand conditions, and is refused at once with more', () => {
  const chain = (count: number) =>
    Array.from({ length: count }, (_, i) => `  d${i}: ${i === 0 ? 'foreign' : `d${i - 1}`}`)
  const report = (count: number) =>
    reportOf({
      'pack.yaml': ['define:', ...chain(count)].join('\n'),
      'a.rules.yaml': rulesText([{ when: `d${count - 1}` }]),
    })
  expect(report(1000)).toEqual([])
  expect(report(1001)).toEqual(['pack.yaml defines more than 1000 conditions'])
})
