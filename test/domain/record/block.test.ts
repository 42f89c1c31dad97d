import { describe, expect, it } from 'vitest'
import { withBlocks } from '../../../src/domain/decide/pack.ts'
import {
  type Block,
  type BlockKind,
  blockCodes,
  blockKinds,
  maxBlocks,
  operateBlocks,
} from '../../../src/domain/record/block.ts'
import { declineCodes } from '../../../src/domain/record/response-code.ts'
import { askOf, noonMs, packOfFiles, rulesText } from '../../support/rule-world.ts'

const pack = packOfFiles({
  'a.rules.yaml': rulesText([
    { when: 'amount > 1', decline: '128' },
    { when: 'amount > 1', mode: 'shadow' },
  ]),
})

function blockOf(kind: BlockKind, value: string, untilMs = noonMs + 1): Block {
  return { kind, value, sinceMs: 0, untilMs, reason: 'because' }
}

const ask = askOf({
  event: { cardId: 'C1', amountMinor: 50 },
  merchant: { mid: 'MID1', mcc: '7995', country: 'NG' },
})

describe('a pack with emergency blocks', () => {
  it.each([
    ['card', 'C1', '117', 'block:card'],
    ['mid', 'MID1', '186', 'block:mid:MID1'],
    ['mcc', '7995', '127', 'block:mcc:7995'],
    ['country', 'NG', '126', 'block:country:NG'],
  ] as const)('declines the asks of a blocked %s', (kind, value, code, ruleId) => {
    const blocked = withBlocks(pack, [blockOf(kind, value)])
    const verdict = { matched: [ruleId], shadow: [], decline: { ruleId, code } }
    expect(blocked.evaluate(ask)).toEqual(verdict)
    const others = withBlocks(pack, [blockOf(kind, `${value}X`)])
    expect(others.evaluate(ask)).toEqual(pack.evaluate(ask))
  })

  it('declines with codes that a rule may use, one for each kind', () => {
    for (const kind of blockKinds) expect(declineCodes).toContain(blockCodes[kind])
  })

  it('goes before the rules, and records what they say', () => {
    const both = withBlocks(pack, [blockOf('country', 'NG'), blockOf('mid', 'MID1')])
    const large = { ...ask, event: { ...ask.event, amountMinor: 200 } }
    expect(both.evaluate(large)).toEqual({
      matched: ['block:mid:MID1', 'block:country:NG', 'r0'],
      shadow: ['r1'],
      decline: { ruleId: 'block:mid:MID1', code: '186' },
    })
  })

  it('ends each block by itself', () => {
    const blocked = withBlocks(pack, [blockOf('mcc', '7995', noonMs)])
    expect(blocked.evaluate({ ...ask, atMs: noonMs - 1 }).decline?.code).toBe('127')
    expect(blocked.evaluate({ ...ask, atMs: noonMs }).decline).toBeNull()
  })

  it('is the pack itself while nothing is blocked', () => {
    expect(withBlocks(pack, [])).toBe(pack)
  })
})

describe('the emergency list', () => {
  const block = { type: 'block', kind: 'mcc', value: '7995', untilMs: 200 } as const

  it('has a value once, with what was said last', () => {
    const once = operateBlocks([], block, 'first', 100) as readonly Block[]
    expect(operateBlocks(once, { ...block, untilMs: 300 }, 'second', 150)).toEqual([
      { kind: 'mcc', value: '7995', sinceMs: 150, untilMs: 300, reason: 'second' },
    ])
  })

  it('drops what has ended, and refuses to end it again', () => {
    const once = operateBlocks([], block, 'first', 100) as readonly Block[]
    const end = { type: 'unblock', kind: 'mcc', value: '7995' } as const
    expect(operateBlocks(once, end, '', 199)).toEqual([])
    expect(operateBlocks(once, end, '', 200)).toEqual({ refused: 'mcc 7995 is not blocked' })
    expect(operateBlocks(once, { ...end, value: '1' }, '', 150)).toHaveProperty('refused')
  })

  it('takes no more than it may have', () => {
    const full = Array.from({ length: maxBlocks }, (_, i) => blockOf('mid', `MID${i}`, 200))
    expect(operateBlocks(full, block, '', 100)).toHaveProperty('refused')
    expect(operateBlocks(full, { ...block, kind: 'mid', value: 'MID0' }, '', 100)).toHaveLength(
      maxBlocks,
    )
    expect(operateBlocks(full, { ...block, untilMs: 400 }, '', 300)).toHaveLength(1)
  })
})
