import { describe, expect, it } from 'vitest'
import { withBlocks } from '../../../src/domain/decide/pack.ts'
import { explainDecision } from '../../../src/rules/explain/decision-explanation.ts'
import { bytesOfPack, readPackBytes } from '../../../src/rules/pack/bytes.ts'
import { finish } from '../../../src/rules/pack/step.ts'
import { askOf, packOfFiles, reportOf } from '../../support/rule-world.ts'

/** A rule that allows at MID M9, and others that decline. */
function packFiles(allow: unknown, more: Record<string, unknown> = {}) {
  const rules = [
    { id: 'large', when: 'amount > 500', decline: '127', why: 'w' },
    { id: 'trusted', when: 'merchant.mid == "M9"', allow, why: 'w', ...more },
  ]
  return { 'a.rules.yaml': rules.map((rule) => `- ${JSON.stringify(rule)}\n`).join('') }
}

/** The faults of a pack whose tests are these steps on a card with these fields. */
function tried(files: Record<string, string>, card: string, steps: readonly string[]): string[] {
  const lines = steps.map((step) => `    - { send: Authorization, ${step} }\n`).join('')
  const test = `- name: t\n  cards: [${card}]\n  steps:\n${lines}`
  return reportOf({ ...files, 'a.test.yaml': test })
}

const limited = '{ balance: 100, transactionLimit: 50, dailyLimit: 60 }'

describe('a rule that allows above checks', () => {
  it('takes away those that it names, and the log has which', () => {
    expect(
      tried(packFiles({ above: ['limits'] }), limited, [
        'mid: M1, amount: 51, expect: "129", shadow: []',
        'mid: M9, amount: 51, expect: approve, shadow: [check:transaction-limit], held: 51',
        'mid: M1, amount: 10, expect: "130"',
        'mid: M9, amount: 10, expect: approve, shadow: [check:daily-limit], held: 61',
        'mid: M9, amount: 55, expect: "116", shadow: [check:transaction-limit, check:daily-limit]',
      ]),
    ).toEqual([])
    expect(
      tried(packFiles({ above: ['lists'] }), '{ balance: 100, blackListedMids: [M9] }', [
        'mid: M9, amount: 5, expect: approve, shadow: [check:MID-not-blocked]',
      ]),
    ).toEqual([])
    expect(
      tried(packFiles({ above: ['frozen'] }), '{ balance: 100, status: Frozen }', [
        'mid: M1, amount: 5, expect: "117"',
        'mid: M9, amount: 0, expect: approve, shadow: [check:card-active]',
      ]),
    ).toEqual([])
  })

  it('lets an account go below zero only where it names the funds, and then never in part', () => {
    const pack = { ...packFiles({ above: ['funds'] }), 'pack.yaml': 'partialApproval: true' }
    expect(
      tried(pack, '{ balance: 100 }', [
        'mid: M1, amount: 150, partial: true, expect: approve, approved: 100, held: 100',
        'mid: M9, amount: 50, partial: true, expect: approve, shadow: [check:funds], available: -50',
        'mid: M1, amount: 1, expect: "116"',
      ]),
    ).toEqual([])
  })

  it.each([
    ['names nothing else', { above: ['limits'] }, {}, '{ balance: 100, status: Frozen }', '117'],
    ['names no check', 'all', {}, limited, '129'],
    ['leaves a terminated card', { above: ['frozen'] }, {}, '{ status: Terminated }', '143'],
    ['leaves an expired card', { above: ['frozen'] }, {}, '{ expiry: 2020-01 }', '142'],
    ['is off', { above: ['limits'] }, { mode: 'off' }, limited, '129'],
  ])('does not where it %s', (_name, allow, more, card, code) => {
    const steps = [`mid: M9, amount: 51, expect: "${code}", shadow: []`]
    expect(tried(packFiles(allow, more), card, steps)).toEqual([])
  })

  it('only records in shadow, and leaves what rules decline that it does not name', () => {
    const shadow = packFiles({ above: ['limits'] }, { mode: 'shadow' })
    expect(
      tried(shadow, limited, ['mid: M9, amount: 51, expect: "129", shadow: [trusted]']),
    ).toEqual([])
    const card = '{ balance: 1000, transactionLimit: 50 }'
    const step = 'mid: M9, amount: 501, expect:'
    const above = { above: ['limits'] }
    expect(tried(packFiles(above), card, [`${step} "127", rule: large`])).toEqual([])
    const both = packFiles({ ...above, rules: ['large'] })
    expect(
      tried(both, card, [`${step} approve, shadow: [large, check:transaction-limit]`]),
    ).toEqual([])
  })

  it('is the same on another thread, and is no way around an emergency block', () => {
    const pack = packOfFiles(packFiles({ above: ['limits', 'funds'] }))
    const other = finish(readPackBytes(bytesOfPack(pack)))
    expect(other.above).toEqual(new Set(['limits', 'funds']))
    const ask = askOf({ merchant: { mid: 'M9' } })
    expect(other.evaluate(ask)).toEqual(pack.evaluate(ask))
    const until = { sinceMs: 0, untilMs: Infinity, reason: 'r' }
    const blocked = withBlocks(pack, [{ kind: 'mid', value: 'M9', ...until }])
    expect(blocked.evaluate(ask)).toMatchObject({ decline: { ruleId: 'block:mid:M9' } })
    expect(blocked.evaluate(ask).allowances).toBeUndefined()
    expect(packOfFiles(packFiles('all')).above).toBeUndefined()
  })

  it('is in the explanation, check by check', () => {
    const pack = packOfFiles(packFiles({ above: ['limits'] }))
    const { event, account, card, transaction, atMs } = askOf({
      event: { amountMinor: 5100 },
      merchant: { mid: 'M9' },
      card: { transactionLimitMinor: 5000 },
      account: { postedMinor: 10_000 },
    })
    const view = { account, card, transaction, linked: null, event: null, eventKey: 'e' }
    const explained = explainDecision(event, view as never, pack, atMs)
    expect(explained.code).toBe('000')
    expect(explained.checks.filter(({ outcome }) => outcome !== 'passed')).toEqual([
      { name: 'transaction limit', code: '129', outcome: 'allowed' },
    ])
  })

  it.each([
    [
      { above: ['limit'] },
      'allow limit is nothing that a rule can stand above: name limits, lists',
    ],
    [{ above: [] }, 'allow.above must not be empty'],
    [{ rules: 'all' }, 'allow must be all, a list'],
    [{ rules: ['larg'], above: ['funds'] }, 'trusted allows over larg, and there is no such rule'],
  ])('that says %j is refused', (allow, says) => {
    expect(reportOf(packFiles(allow)).join('\n')).toContain(says)
  })
})
