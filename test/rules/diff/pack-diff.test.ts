import { describe, expect, it } from 'vitest'
import { askTypes } from '../../../src/rules/condition/fact.ts'
import type { PackSide } from '../../../src/rules/diff/change.ts'
import { diffPacks } from '../../../src/rules/diff/pack-diff.ts'
import { compilePack } from '../../../src/rules/load/compiler.ts'
import { noonMs, rulesText } from '../../support/rule-world.ts'

function sideOf(files: Record<string, string>): PackSide {
  const all = new Map(Object.entries({ 'pack.yaml': '{}', ...files }))
  return { files: all, pack: compilePack(all, 45, { nowMs: noonMs }) }
}

type Rule = Record<string, unknown>

/** The effect of changing one rule, where the rest of the pack stays. */
function effectOf(before: Rule, after: Rule, files: Record<string, string> = {}): string {
  const side = (rule: Rule) =>
    sideOf({ ...files, 'a.rules.yaml': rulesText([{ id: 'x', when: 'true', ...rule }]) })
  const [change] = diffPacks(side(before), side(after))
  return change?.effect ?? 'nothing'
}

const lists = {
  'lists/few.txt': 'C1\n',
  'lists/many.txt': 'C1\nC2\n',
  'lists/others.txt': 'C2\n',
}

describe('the difference of a rule', () => {
  it.each<[string, Rule, Rule, string]>([
    ['the same with other spaces', { when: 'amount > 200' }, { when: '(amount>200)' }, 'none'],
    ['a raised limit', { when: 'amount > 200' }, { when: 'amount > 300' }, 'looser'],
    ['a lowered limit', { when: 'amount >= 200' }, { when: 'amount >= 100' }, 'tighter'],
    ['a lowered limit below', { when: 'hour < 6' }, { when: 'hour < 5' }, 'looser'],
    ['a part added to &&', { when: 'foreign' }, { when: 'foreign && amount > 5' }, 'looser'],
    ['a part taken from &&', { when: 'foreign && hour < 6' }, { when: 'hour < 6' }, 'tighter'],
    ['a part added to ||', { when: 'foreign' }, { when: 'foreign || hour < 6' }, 'tighter'],
    ['a part taken from ||', { when: 'foreign || hour < 6' }, { when: 'foreign' }, 'looser'],
    [
      'an amount added to ||, by which other currencies are passed over',
      { when: 'foreign' },
      { when: 'foreign || amount > 500' },
      'looser',
    ],
    [
      'an amount added to && of an exception, by which other currencies are passed over',
      { when: 'foreign', unless: 'hour < 6' },
      { when: 'foreign', unless: 'hour < 6 && amount < 50' },
      'looser',
    ],
    [
      'an amount taken from || of an allowance, by which it looks at all currencies',
      { allow: 'all', decline: undefined, when: 'foreign || amount < 5' },
      { allow: 'all', decline: undefined, when: 'foreign' },
      'looser',
    ],
    [
      'an amount of another currency added to ||',
      { when: 'foreign' },
      { when: 'foreign || currency == "EUR" && amount > 500' },
      'tighter',
    ],
    [
      'an amount added to || that is shadow',
      { when: 'foreign', mode: 'shadow' },
      { when: 'foreign || amount > 500', mode: 'shadow' },
      'none',
    ],
    [
      'an allowance of other request types',
      { allow: 'all', decline: undefined, when: 'foreign', on: ['CashWithdrawal'] },
      { allow: 'all', decline: undefined, when: 'foreign', on: ['Authorization'] },
      'unknown',
    ],
    [
      'an allowance of other cards',
      { allow: 'all', decline: undefined, when: 'foreign', cards: 'few' },
      { allow: 'all', decline: undefined, when: 'foreign', cards: 'others' },
      'unknown',
    ],
    [
      'a limit raised within &&',
      { when: 'foreign && amount > 1' },
      { when: 'foreign && amount > 2' },
      'looser',
    ],
    ['a limit raised under !', { when: '!(amount > 1)' }, { when: '!(amount > 2)' }, 'tighter'],
    [
      'values that went',
      { when: 'merchant.mcc in ["7995", "7801"]' },
      { when: 'merchant.mcc in ["7995"]' },
      'looser',
    ],
    [
      'values that came',
      { when: 'merchant.mcc in ["7995"]' },
      { when: 'merchant.mcc in ["7995", "7801"]' },
      'tighter',
    ],
    [
      'an allowance of more asks',
      { allow: 'all', decline: undefined, when: 'amount > 200' },
      { allow: 'all', decline: undefined, when: 'amount > 100' },
      'looser',
    ],
    [
      'an allowance in shadow',
      { allow: 'all', decline: undefined },
      { allow: 'all', decline: undefined, mode: 'shadow' },
      'tighter',
    ],
    [
      'an allowance above more',
      { allow: 'all', decline: undefined },
      { allow: { rules: 'all', above: ['limits'] }, decline: undefined },
      'looser',
    ],
    [
      'an allowance that was a decline in shadow',
      { mode: 'shadow' },
      { allow: 'all', decline: undefined },
      'looser',
    ],
    [
      'a decline that people look at',
      { decline: '128' },
      { review: '128', decline: undefined },
      'none',
    ],
    [
      'a review that approves',
      { review: '128', decline: undefined },
      { review: 'approve', decline: undefined },
      'looser',
    ],
    [
      'a tag of fewer asks',
      { tag: 't', decline: undefined, when: 'amount > 1' },
      { tag: 't', decline: undefined, when: 'amount > 2' },
      'none',
    ],
    ['another condition', { when: 'foreign' }, { when: 'hour < 6' }, 'unknown'],
    [
      'two parts changed',
      { when: 'amount > 1 && hour < 6' },
      { when: 'amount > 2 && hour < 7' },
      'unknown',
    ],
    ['an exception', {}, { unless: 'foreign' }, 'looser'],
    ['a smaller exception', { unless: 'amount < 9' }, { unless: 'amount < 5' }, 'tighter'],
    ['no exception any more', { unless: 'foreign' }, {}, 'tighter'],
    ['to shadow', {}, { mode: 'shadow' }, 'looser'],
    ['to off', {}, { mode: 'off' }, 'looser'],
    ['from shadow', { mode: 'shadow' }, {}, 'tighter'],
    [
      'a limit raised in shadow',
      { mode: 'shadow', when: 'amount > 1' },
      { mode: 'shadow', when: 'amount > 2' },
      'none',
    ],
    ['fewer request types', {}, { on: ['CashWithdrawal'] }, 'looser'],
    ['more request types', { on: ['CashWithdrawal'] }, {}, 'tighter'],
    ['an end', {}, { expires: '2026-12-31' }, 'looser'],
    ['a later end', { expires: '2026-12-30' }, { expires: '2026-12-31' }, 'tighter'],
    ['a scope', {}, { cards: 'few' }, 'looser'],
    ['a larger scope', { cards: 'few' }, { cards: 'many' }, 'tighter'],
    ['a smaller scope', { cards: 'many' }, { cards: 'few' }, 'looser'],
    ['a smaller rollout', {}, { rollout: '10%' }, 'looser'],
    ['a larger rollout', { rollout: '10%' }, { rollout: '20%' }, 'tighter'],
    ['a breaker', {}, { breaker: { declines: 9, within: '10m' } }, 'looser'],
    ['all request types written out', {}, { on: [...askTypes].reverse() }, 'nothing'],
    ['the whole rollout written out', {}, { rollout: '100%' }, 'nothing'],
    [
      'the least number of asks of a breaker written out',
      { breaker: { share: '5%', within: '10m' } },
      { breaker: { share: '5%', within: '10m', minAsks: 100 } },
      'nothing',
    ],
    ['another code', { decline: '127' }, { decline: '129' }, 'none'],
    ['other words', { why: 'a' }, { why: 'b' }, 'none'],
    [
      'one tighter and one looser',
      { when: 'amount > 2' },
      { when: 'amount > 1', rollout: '50%' },
      'looser',
    ],
  ])('%s', (_name, before, after, effect) => {
    expect(effectOf(before, after, lists)).toBe(effect)
  })

  it('tells fields with their old and new text', () => {
    const side = (when: string) =>
      sideOf({ 'a.rules.yaml': rulesText([{ id: 'x', when, why: when }]) })
    const [change] = diffPacks(side('amount > 200'), side('amount > 300'))
    expect(change).toMatchObject({
      part: 'rule',
      id: 'x',
      what: 'changed',
      place: 'a.rules.yaml:2',
      fields: [
        { field: 'when', before: 'amount > 200', after: 'amount > 300', effect: 'looser' },
        { field: 'why', effect: 'none' },
      ],
    })
  })

  const owned = (file: string, rule: Rule) =>
    sideOf({ [file]: rulesText([{ id: 'x', when: 'true', ...rule }]) })
  const [base, one, other] = ['', 'organizations/org-1/', 'organizations/org-2/'].map(
    (folder) => `${folder}a.rules.yaml`,
  ) as [string, string, string]

  it.each<[string, string, string, string]>([
    ['one organization only', base, one, 'looser'],
    ['all organizations', one, base, 'tighter'],
    ['another organization', one, other, 'unknown'],
  ])('that looks at the asks of %s now', (_name, before, after, effect) => {
    expect(diffPacks(owned(before, {}), owned(after, {}))).toMatchObject([
      { id: 'x', what: 'changed', effect, fields: [{ field: 'organization' }] },
    ])
    const allow = { allow: 'all', decline: undefined }
    const allowed = diffPacks(owned(before, allow), owned(after, allow))[0]?.effect
    expect(allowed).toBe({ looser: 'tighter', tighter: 'looser', unknown: 'unknown' }[effect])
  })

  it('is told where another rule gives the code first', () => {
    const side = (...ids: string[]) =>
      sideOf({ 'a.rules.yaml': rulesText(ids.map((id) => ({ id, when: 'true' }))) })
    const changes = diffPacks(side('x', 'y'), side('new', 'y', 'x'))
    expect(changes.find(({ id }) => id === 'x')).toMatchObject({
      fields: [{ field: 'order', before: 'first', after: 'after y' }],
      effect: 'none',
    })
    expect(diffPacks(side('x', 'y'), side('x', 'new', 'y'))).toHaveLength(1)
  })

  it('that is added tightens and that is removed loosens, unless it did not decline', () => {
    const both = sideOf({
      'a.rules.yaml': rulesText([
        { id: 'x', when: 'true' },
        { id: 'q', mode: 'shadow', when: 'true' },
      ]),
    })
    const none = sideOf({})
    const effects = (a: PackSide, b: PackSide) =>
      diffPacks(a, b).map(({ id, what, effect }) => [id, what, effect])
    expect(effects(none, both)).toEqual([
      ['x', 'added', 'tighter'],
      ['q', 'added', 'none'],
    ])
    expect(effects(both, none)).toEqual([
      ['x', 'removed', 'looser'],
      ['q', 'removed', 'none'],
    ])
  })
})

it('of a rule that has expired is none, unless it comes back', () => {
  const over = { when: 'card.id in lists.few', expires: '2026-11-15' }
  expect(effectOf(over, { ...over, when: 'foreign' }, lists)).toBe('none')
  expect(effectOf(over, { ...over, expires: '2026-11-16' }, lists)).toBe('tighter')
  expect(effectOf({ ...over, expires: '2026-11-16' }, over, lists)).toBe('looser')
  const side = (rules: Rule[], few = 'C1\n') =>
    sideOf({ ...lists, 'lists/few.txt': few, 'a.rules.yaml': rulesText(rules) })
  const [gone, with1] = [side([]), side([over])]
  expect(diffPacks(with1, gone)).toMatchObject([{ what: 'removed', effect: 'none' }])
  expect(diffPacks(gone, with1)).toMatchObject([{ what: 'added', effect: 'none' }])
  expect(diffPacks(with1, side([over], 'C2\n'))).toMatchObject([{ part: 'list', effect: 'none' }])
})

describe('the difference of lists, windows and settings', () => {
  const using = (rule: Rule, text: string, more = {}) =>
    sideOf({
      ...more,
      'lists/l.txt': text,
      'a.rules.yaml': rulesText([{ id: 'x', when: 'true', ...rule }]),
    })
  const listEffect = (rule: Rule, before: string, after: string) =>
    diffPacks(using(rule, before), using(rule, after)).find(({ part }) => part === 'list')

  it('of a list that declines, and of one that excepts', () => {
    const [declines, excepts] = [
      { when: 'merchant.mcc in lists.l' },
      { unless: 'merchant.mid in lists.l' },
    ]
    const [longer, shorter] = ['7995\n7801\n', '7995\n']
    expect(listEffect(declines, longer, shorter)?.effect).toBe('looser')
    expect(listEffect(declines, shorter, longer)?.effect).toBe('tighter')
    expect(listEffect(excepts, longer, shorter)?.effect).toBe('tighter')
    expect(listEffect(excepts, shorter, longer)?.effect).toBe('looser')
    expect(listEffect({ when: '!(merchant.mcc in lists.l)' }, shorter, longer)?.effect).toBe(
      'looser',
    )
    expect(listEffect({ mode: 'shadow', ...declines }, longer, shorter)?.effect).toBe('none')
    const allows = { allow: 'all', decline: undefined, ...declines }
    expect(listEffect(allows, shorter, longer)?.effect).toBe('looser')
    expect(listEffect(allows, longer, shorter)?.effect).toBe('tighter')
    const tags = { tag: 't', decline: undefined, ...declines }
    expect(listEffect(tags, longer, shorter)?.effect).toBe('none')
    const byMid = { when: 'merchant.mid in lists.l' }
    expect(listEffect(byMid, 'a\nb\n', 'b\nc\n')).toMatchObject({
      effect: 'looser',
      values: { added: 1, removed: 1, before: 2, after: 2, firstAdded: ['c'], firstRemoved: ['a'] },
    })
  })

  it('of a list that a definition names is told at the rules that name the definition', () => {
    const defined = (text: string) =>
      using({ when: '!risky' }, text, {
        'pack.yaml': 'define: { risky: merchant.mcc in lists.l }',
      })
    expect(diffPacks(defined('7995\n'), defined('7995\n7801\n'))).toMatchObject([
      { part: 'list', effect: 'looser', fields: [{ field: 'rule x when', effect: 'looser' }] },
    ])
  })

  it('of a list that a window counts by says that it goes on, and whether a rule looks at it', () => {
    const counting = (text: string, filter: string, when: string) =>
      using({ when }, text, {
        'windows.yaml': `- { name: w, scope: card, over: asks, period: day, ${filter} } # l`,
      })
    const told = (filter: string, when: string) =>
      diffPacks(counting('7995\n', filter, when), counting('7801\n', filter, when))
    const goesOn =
      'rules look at what it counts, and it goes on with what it counted before: with another name it begins anew'
    for (const [filter, field] of [
      ['mccs: l', 'window w mccs'],
      ['where: merchant.mcc in lists.l', 'window w where'],
    ] as const) {
      expect(told(filter, 'windows.w.count > 3')).toMatchObject([
        { part: 'list', effect: 'unknown', fields: [{ field, because: goesOn }] },
      ])
      expect(told(filter, 'true')).toMatchObject([{ part: 'list', effect: 'none' }])
    }
    // Its name elsewhere in the file is no use of it.
    expect(told('mccs: ["5411"]', 'windows.w.count > 3')).toMatchObject([
      { part: 'list', effect: 'none', fields: [] },
    ])
  })

  it('of a list by which money is held cannot be told', () => {
    const holding = (text: string, settings: string) =>
      using({}, text, { 'pack.yaml': `holdAdjustments: [{ ${settings}, fixed: 100 }]` })
    for (const settings of ['mccs: l', 'when: merchant.mcc in lists.l']) {
      expect(diffPacks(holding('5541\n', settings), holding('5542\n', settings))).toMatchObject([
        { part: 'list', effect: 'unknown', fields: [{ field: 'holdAdjustments' }] },
      ])
    }
    const longer = (text: string) =>
      using({}, text, { 'pack.yaml': 'holdDays: { byMcc: { l: 9 } }' })
    expect(diffPacks(longer('5541\n'), longer('5542\n'))[0]?.fields).toMatchObject([
      { field: 'holdDays', effect: 'unknown' },
    ])
  })

  it('of a window that a rule looks at cannot be told', () => {
    const window = (period: string) =>
      `- { name: w, scope: card, over: asks, period: { trailing: ${period} } }`
    const side = (period: string, when: string) =>
      sideOf({ 'windows.yaml': window(period), 'a.rules.yaml': rulesText([{ when }]) })
    const looked = diffPacks(side('1h', 'windows.w.count > 3'), side('2h', 'windows.w.count > 3'))
    expect(looked).toMatchObject([
      { part: 'window', id: 'w', effect: 'unknown', fields: [{ field: 'period' }] },
    ])
    const spaced = 'windows .w\n  . count > 3'
    expect(diffPacks(side('1h', spaced), side('2h', spaced))[0]?.effect).toBe('unknown')
    expect(diffPacks(side('1h', 'true'), side('2h', 'true'))[0]?.effect).toBe('none')
    const defined = (period: string) =>
      sideOf({
        'pack.yaml': 'define: { often: windows.w.count > 3 }',
        'windows.yaml': window(period),
        'a.rules.yaml': rulesText([{ when: 'often' }]),
      })
    expect(diffPacks(defined('1h'), defined('2h'))[0]?.effect).toBe('unknown')
    const plain = (more: string) =>
      sideOf({ 'windows.yaml': `- { name: w, scope: card, period: day${more} }` })
    expect(diffPacks(plain(''), plain(', over: approved, distinct: false'))).toEqual([])
  })

  it('of a window that goes on with what it counted before says so', () => {
    const side = (window: string) =>
      sideOf({
        'windows.yaml': `- { name: w, ${window} }`,
        'a.rules.yaml': rulesText([{ when: 'windows.w.count > 3' }]),
      })
    const told = (before: string, after: string) =>
      diffPacks(side(before), side(after)).flatMap(({ fields }) => fields.map((one) => one.because))
    const counts = 'rules look at what it counts'
    const goesOn = `${counts}, and it goes on with what it counted before: with another name it begins anew`
    const card = 'scope: card, period: day, over'
    expect(told(`${card}: asks`, `${card}: asks, where: foreign`)).toEqual([goesOn])
    expect(told(`${card}: asks`, `${card}: declines`)).toEqual([counts])
    const shop = 'scope: merchant, period: day, over'
    expect(told(`${shop}: asks`, `${shop}: declines, mccs: ["5411"]`)).toEqual([goesOn, goesOn])
    expect(told(`${shop}: asks`, `${shop}: asks, spread: true`)).toEqual([counts])
  })

  it('of settings says what is approved that was not', () => {
    const effect = (before: string, after: string) =>
      diffPacks(sideOf({ 'pack.yaml': before }), sideOf({ 'pack.yaml': after })).map((one) => [
        one.id,
        one.effect,
      ])
    expect(effect('name: a', 'name: b')).toEqual([['name', 'none']])
    expect(effect('rules: 0', 'sealed: false')).toEqual([
      ['rules', 'none'],
      ['sealed', 'none'],
    ])
    expect(effect('{}', 'partialApproval: true')).toEqual([['partialApproval', 'looser']])
    expect(effect('uncoveredRefundPerDay: "10"', '{}')).toEqual([
      ['uncoveredRefundPerDay', 'tighter'],
    ])
    const defaults = 'holdDays: { authorization: 7 }\ncashWithdrawal: post\nzone: UTC\nname: pack'
    expect(effect('{}', defaults)).toEqual([])
    expect(effect('{}', 'cashWithdrawal: hold')).toEqual([['cashWithdrawal', 'unknown']])
  })
})
