import { expect, it } from 'vitest'
import { createRuleReporter } from '../../src/backtest/rule-report.ts'
import type { Entry } from '../../src/domain/ledger/entry.ts'
import { eventOf } from '../support/event-generator.ts'

it('what stands among the rules of the log and is none is named as what it is', () => {
  const reporter = createRuleReporter([{ id: 'large', mode: 'enforce' }])
  const asked = {
    kind: 'event',
    atMs: 1,
    event: eventOf({ eventId: 'e1' }),
    answer: null,
    changes: [{ type: 'recorded' }],
    matchedRules: ['block:mid:M1', 'large', 'tag:big'],
    shadowRules: ['check:daily-limit', 'gone'],
  }
  reporter.add(asked as unknown as Entry)
  const modes = reporter.report().rules.map(({ id, mode }) => [id, mode])
  expect(Object.fromEntries(modes)).toEqual({
    'block:mid:M1': 'block',
    'check:daily-limit': 'check',
    gone: '',
    large: 'enforce',
    'tag:big': 'tag',
  })
})
