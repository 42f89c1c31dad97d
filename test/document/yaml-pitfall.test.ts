import { expect, it } from 'vitest'
import { openYaml } from '../../src/document/yaml-document.ts'

function faultsOf(text: string): string[] {
  const { faults } = openYaml('a.yaml', text)
  return faults.map(({ line, column, message }) => `${line}:${column} ${message}`)
}

it('a byte order mark is left out, and places are as an editor shows them', () => {
  const document = openYaml('a.yaml', '\ufeff- id: one\n')
  expect([document.faults, document.value]).toEqual([[], [{ id: 'one' }]])
})

it('a tab that indents is one fault, in its own words', () => {
  expect(faultsOf('- id: a\n\twhen: foreign\n\twhy: x\n')).toEqual([
    '2:1 is indented with a tab: YAML takes spaces only',
  ])
  expect(faultsOf('- id:\ta\n  why: |\n    one\n    \ttwo\n')).toEqual([])
})

it.each([
  ['when: !merchant_seen', '1:7 begins with !, which makes a tag in YAML'],
  ['when: foreign ? amount > 5 : amount > 7', '1:7 has a colon and a space'],
  ['when: "7995" == merchant.mcc', '1:14 goes on after its closing quote'],
  ['when: {{foreign}}', '1:8 is a map or a list where a name should be'],
  ['when: foreign\n  why: x', '1:7 is followed by a line that is indented deeper'],
  ['a:\n  - b\n c: 1', '3:1 is indented otherwise'],
  ['when: "foreign', '1:15 has a quote that never closes'],
  ['on: [Authorization', '1:19 ends where ] is missing'],
  ['- { name: a, scope: card', '1:25 ends where } is missing'],
  ['rollout: %10', '1:10 begins with a sign that YAML keeps for itself'],
  ['when: > 5', '1:9 follows > or |'],
  ['name: a\n---\nname: b', '2:1 begins a second document'],
  ['when: "\\d"', '1:8 has a backslash in double quotes'],
  ['- { a: 1 b: 2 }', '1:8 lacks a comma'],
  ['a: b\nc', '2:1 is a name without a value'],
  ['a: {b: 1}}', '1:10 cannot stand here'],
])('%s is explained as YAML reads it', (text, fault) => {
  const [first, ...others] = faultsOf(text)
  expect(first).toContain(fault)
  expect(others).toEqual([])
})

it('a fault is told in these words alone', () => {
  expect(faultsOf('when: "foreign')).toEqual(['1:15 has a quote that never closes'])
  expect(faultsOf('on: [Authorization')).toEqual(['1:19 ends where ] is missing'])
})

it('brackets, dashes and indents that nest too deeply are refused before they are parsed', () => {
  const deep = `is nested deeper than 64`
  expect(faultsOf(`a: 1\nb: ${'['.repeat(65)}`)).toEqual([`2:1 ${deep}`])
  expect(faultsOf(`b: ${'['.repeat(65)}${']'.repeat(65)}`)).toEqual([`1:1 ${deep}`])
  expect(faultsOf('[\n'.repeat(5000))).toEqual([`65:1 ${deep}`])
  expect(faultsOf(`${'- '.repeat(65)}a`)).toEqual([`1:1 ${deep}`])
  expect(faultsOf(`a:\n${' '.repeat(201)}b: 1`)).toEqual(['2:1 is indented by more than 200'])
  expect(faultsOf(`a: ${'['.repeat(60)}${']'.repeat(60)}`)).toEqual([])
  const prose = Array.from({ length: 200 }, (_, i) => `k${i}: why [ not\n`).join('')
  expect(faultsOf(prose)).toEqual([])
  const quoted = ['"', "'"].map((quote) => `a: { b: ${quote}${'[{'.repeat(65)}${quote} }\n`)
  for (const text of quoted) expect(faultsOf(text)).toEqual([])
  expect(faultsOf(`a: |\n  ${'['.repeat(65)}\nb: # ${'['.repeat(65)}\n  - c\n`)).toEqual([])
  // What only looks like quotes hides nothing.
  expect(faultsOf(`a: [b" ${'['.repeat(65)} "]`)).toEqual([`1:1 ${deep}`])
})
