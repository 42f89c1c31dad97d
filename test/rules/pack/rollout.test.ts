import { describe, expect, it } from 'vitest'
import { inShadow } from '../../../src/domain/decide/pack.ts'
import { askOf, packOfFiles, reportOf, rulesText } from '../../support/rule-world.ts'

function enforcedCards(rollout: string, id = 'r0', cards = 10_000): Set<string> {
  const pack = packOfFiles({ 'a.rules.yaml': rulesText([{ id, when: 'true', rollout }]) })
  const enforced = new Set<string>()
  let unlike = 0
  for (let i = 0; i < cards; i++) {
    const cardId = `card-${i}`
    const verdict = pack.evaluate(askOf({ card: { cardId } }))
    // In one of the two, never in both, and only an enforced match declines.
    const isEnforced = verdict.matched.length === 1
    if (verdict.matched.length + verdict.shadow.length !== 1) unlike++
    if ((verdict.decline !== null) !== isEnforced) unlike++
    if (isEnforced) enforced.add(cardId)
  }
  expect(unlike).toBe(0)
  return enforced
}

describe('a rule that is rolled out to a share', () => {
  it.each([
    ['0.5%', 20, 90],
    ['10%', 900, 1100],
    ['50%', 4800, 5200],
    ['100%', 10_000, 10_000],
  ])('of %s is enforced for that many cards and shadow for the rest', (rollout, least, most) => {
    const { size } = enforcedCards(rollout)
    expect(size).toBeGreaterThanOrEqual(least)
    expect(size).toBeLessThanOrEqual(most)
  })

  it('keeps its cards from one load to the next, and when the share grows', () => {
    const tenth = enforcedCards('10%')
    expect(enforcedCards('10%')).toEqual(tenth)
    const third = enforcedCards('33.33%')
    expect([...tenth].every((cardId) => third.has(cardId))).toBe(true)
  })

  it('begins with other cards than another rule', () => {
    const [a, b] = [enforcedCards('10%', 'first'), enforcedCards('10%', 'second')]
    const both = [...a].filter((cardId) => b.has(cardId)).length
    // A tenth of a tenth, where the two have nothing to do with each other.
    expect(both).toBeGreaterThan(50)
    expect(both).toBeLessThan(160)
  })

  it('takes a share above nothing and up to all', () => {
    for (const rollout of ['0%', '101%', '10', '-5%', '0.001%', 10]) {
      const [fault] = reportOf({ 'a.rules.yaml': rulesText([{ when: 'true', rollout }]) })
      expect(fault, String(rollout)).toContain('such as 10%')
    }
  })
})

describe('a breaker', () => {
  const faultOf = (breaker: unknown) =>
    reportOf({ 'a.rules.yaml': rulesText([{ when: 'true', breaker }]) }).join('\n')

  it('says when it trips by declines or by a share', () => {
    expect(faultOf({ declines: 50, within: '10m' })).toBe('')
    expect(faultOf({ share: '5%', within: '10m', minAsks: 200 })).toBe('')
    expect(faultOf({ within: '10m' })).toContain('one of declines and share')
    expect(faultOf({ declines: 1, share: '5%', within: '10m' })).toContain('one of declines')
    expect(faultOf({ declines: 1, minAsks: 3, within: '10m' })).toContain('belongs to share')
    expect(faultOf({ declines: 1, within: '1s' })).toContain('from 10s to 24h')
  })

  it('leaves a rule in shadow recording, and the others enforced', () => {
    const pack = packOfFiles({
      'a.rules.yaml': rulesText([
        { id: 'a', when: 'true', breaker: { declines: 5, within: '1m' } },
        { id: 'b', when: 'true', decline: '129' },
      ]),
    })
    expect(pack.breakers).toMatchObject([{ ruleId: 'a', maxDeclines: 5, withinMs: 60_000 }])
    expect(inShadow(pack, new Set(['a'])).evaluate(askOf())).toEqual({
      matched: ['b'],
      shadow: ['a'],
      decline: { ruleId: 'b', code: '129' },
    })
    expect(pack.evaluate(askOf()).matched).toEqual(['a', 'b'])
  })
})
