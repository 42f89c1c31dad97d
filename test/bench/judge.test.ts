import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const support = join(import.meta.dirname, '..', '..', 'bench', 'support')
const { judge, makeEvents } = await import(join(support, 'traffic.mjs'))
const { rulesOf } = await import(join(support, 'rulebook.mjs'))
const { median, medianRatio } = await import(join(support, 'rounds.mjs'))

const events = makeEvents({ run: 'x-', count: 100, cards: 10, rules: rulesOf(100) })
const approved = events.find(({ code }: { code: string }) => code === '000')
const declined = events.find(({ code }: { code: string }) => code !== '000')

interface Due {
  readonly event: { readonly eventId: string }
  readonly code: string
  readonly ruleId: string
}

function answer({ event, code, ruleId }: Due, changes: object = {}): string {
  const decision = code === '000' ? 'approve' : 'decline'
  const answered = { eventId: event.eventId, decision, responseCode: code, decidedBy: 'engine' }
  return JSON.stringify({ ...answered, ...(ruleId === '' ? {} : { ruleId }), ...changes })
}

describe('the check of answers', () => {
  it('takes the approval and the decline that are due', () => {
    expect(judge(approved, 200, answer(approved))).toBe('')
    expect(judge(declined, 200, answer(declined))).toBe('')
  })

  it('finds an approval where a rule declines, another rule, and another event', () => {
    const wrong = [
      judge(declined, 200, answer(declined, { decision: 'approve', responseCode: '000' })),
      judge(declined, 200, answer(declined, { ruleId: 'rule-99' })),
      judge(approved, 200, answer(approved, { eventId: 'evt-other' })),
      judge(approved, 503, answer(approved)),
      judge(approved, 200, 'no JSON'),
    ]
    for (const verdict of wrong) expect(verdict).toMatch(/^wrong/)
  })

  it('tells a default decision from one of the engine', () => {
    expect(judge(approved, 200, answer(approved, { decidedBy: 'default' }))).toBe('default')
  })

  it('makes events of which about six in a hundred are declined', () => {
    const many = makeEvents({ run: 'y-', count: 10_000, cards: 10, rules: rulesOf(100) })
    const declines = many.filter(({ code }: { code: string }) => code !== '000')
    expect(declines.length).toBeGreaterThan(500)
    expect(declines.length).toBeLessThan(650)
  })
})

describe('the figures of rounds', () => {
  it('compares within a round before it takes the median', () => {
    const pick = (value: number) => value
    expect(median([3, 1, 2])).toBe(2)
    expect(median([4, 1, 2, 3])).toBe(2.5)
    expect(medianRatio([10, 200, 30], [10, 100, 10], pick)).toBe(2)
  })
})
