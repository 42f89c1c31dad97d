import { describe, expect, it } from 'vitest'
import { bytesOfPack, readPackBytes } from '../../../src/rules/pack/bytes.ts'
import { finish } from '../../../src/rules/pack/step.ts'
import { askOf, packOfFiles, reportOf, rulesText } from '../../support/rule-world.ts'

const lists = { 'lists/vips.txt': 'K1\n' }
const declining = [
  { id: 'large', when: 'amount > 10', decline: '129' },
  { id: 'abroad', when: 'foreign', decline: '130' },
  { id: 'watched', mode: 'shadow', when: 'amount > 10' },
]
const withRules = (...more: Record<string, unknown>[]) => ({
  ...lists,
  'a.rules.yaml': JSON.stringify(
    [...declining, ...more].map((rule) => ({
      why: 'x',
      ...(hasAction(rule) ? {} : { decline: '127' }),
      ...rule,
    })),
  ),
})
const hasAction = (rule: Record<string, unknown>) =>
  ['decline', 'allow', 'review', 'tag'].some((name) => name in rule)

/** The verdict of the pack, which is the same after it went to another thread. */
function verdictOf(rules: Record<string, unknown>[], amountMinor: number, country = 'US') {
  const pack = packOfFiles(withRules(...rules))
  const ask = askOf({ event: { amountMinor }, merchant: { country, name: 'SQ *Crypto Bar' } })
  const verdict = pack.evaluate(ask)
  expect(finish(readPackBytes(bytesOfPack(pack))).evaluate(ask)).toEqual(verdict)
  return verdict
}

describe('a rule that allows', () => {
  it('takes away the declines that it names, which are recorded all the same', () => {
    const allow = { id: 'vip', when: 'true', customers: 'vips', allow: ['large'] }
    expect(verdictOf([allow], 2000)).toEqual({
      matched: ['vip'],
      shadow: ['large', 'watched'],
      decline: null,
    })
    expect(verdictOf([allow], 2000, 'NG').decline).toEqual({ ruleId: 'abroad', code: '130' })
    expect(verdictOf([{ ...allow, allow: 'all' }], 2000, 'NG').decline).toBeNull()
  })

  it('allows nothing in shadow, outside its rollout, when it is off or does not match', () => {
    const allow = { id: 'vip', when: 'true', allow: 'all' }
    for (const weaker of [
      { mode: 'shadow' },
      { rollout: '0.01%' },
      { mode: 'off' },
      { when: 'foreign' },
    ]) {
      expect(verdictOf([{ ...allow, ...weaker }], 2000).decline).toEqual({
        ruleId: 'large',
        code: '129',
      })
    }
  })

  it('names rules that decline, or the pack is refused', () => {
    const wrong = { id: 'vip', when: 'true', allow: ['larg', 'large'] }
    expect(reportOf(withRules(wrong))).toEqual([
      'a.rules.yaml:1:246 vip allows over larg, and there is no such rule: did you mean large?'.replace(
        /:1:\d+/,
        ':1:1',
      ),
    ])
  })
})

describe('a rule that asks for a review, or tags', () => {
  it('approves or declines as it says, and people look at it', () => {
    const look = { id: 'odd', when: 'amount > 5' }
    expect(verdictOf([{ ...look, review: 'approve' }], 700)).toEqual({
      matched: ['odd'],
      shadow: [],
      decline: null,
      review: true,
    })
    expect(verdictOf([{ ...look, review: '128' }], 700)).toMatchObject({
      decline: { ruleId: 'odd', code: '128' },
      review: true,
    })
    expect(verdictOf([{ ...look, review: '128', mode: 'shadow' }], 700)).toEqual({
      matched: [],
      shadow: ['odd'],
      decline: null,
    })
    const allowed = { id: 'vip', when: 'true', allow: ['odd'] }
    expect(verdictOf([{ ...look, review: '128' }, allowed], 700).review).toBeUndefined()
    const cleared = { ...allowed, allow: 'all' }
    expect(verdictOf([{ ...look, review: '128' }, cleared], 700).review).toBeUndefined()
    expect(verdictOf([{ ...look, review: 'approve' }, cleared], 700)).toMatchObject({
      matched: ['odd', 'vip'],
      shadow: [],
      review: true,
    })
  })

  it('is recorded by its tag, once, beside its id', () => {
    const tags = [
      { id: 'bar', when: 'lower(merchant.name).contains("crypto")', tag: 'risky' },
      { id: 'square', when: 'merchant.name.matches("^(SQ|PP) ?\\\\*")', tag: 'risky' },
    ]
    expect(verdictOf(tags, 700).matched).toEqual(['bar', 'tag:risky', 'square'])
  })

  it('does one thing', () => {
    const both = { id: 'a', when: 'true', why: 'w', decline: '127', tag: 'x' }
    const none = { id: 'b', when: 'true', why: 'w' }
    const broken = { ...none, id: 'c', tag: 'x', breaker: { declines: 5, within: '1m' } }
    const empty = { ...none, id: 'd', decline: null }
    const text = [both, none, broken, empty].map((rule) => `- ${JSON.stringify(rule)}`).join('\n')
    expect(
      reportOf({ 'a.rules.yaml': text }).map((line) => line.replace(/^.*?:(\d+):\d+ /, '$1 ')),
    ).toEqual([
      '1 tag stands beside decline: a rule does one thing',
      '2 decline is required',
      '3 breaker belongs to a rule that declines',
      '4 decline is required',
    ])
  })
})

describe('a regular expression', () => {
  it.each([
    ['merchant.name.matches("(a+")', 'is no RE2 pattern'],
    ['merchant.name.matches("(?=x)")', 'is no RE2 pattern'],
    ['merchant.name.matches(merchant.mid)', 'matches() takes a pattern in quotes'],
    [`merchant.name.matches("${'x'.repeat(201)}")`, 'more than 200 characters'],
    ['amount.matches("1")', 'a text is needed'],
  ])('%s is refused', (when, says) => {
    expect(reportOf({ 'a.rules.yaml': rulesText([{ when }]) })[0]).toContain(says)
  })

  it('takes no long time for any text', () => {
    const when = 'merchant.name.matches("^(a|a|a)*b$")'
    const pack = packOfFiles({ 'a.rules.yaml': rulesText([{ when }]) })
    const verdict = pack.evaluate(askOf({ merchant: { name: 'a'.repeat(200) } }))
    expect(verdict.matched).toEqual([])
  })
})
