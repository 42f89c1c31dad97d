import { Buffer } from 'node:buffer'
import { describe, expect, it } from 'vitest'
import type { CardEvent } from '../../src/domain/record/event.ts'
import { type AnsweredEvent, logDecision } from '../../src/telemetry/decision-log.ts'
import { readEvent } from '../../src/wire/event.ts'
import { wireEvent } from '../support/server.ts'

const approved: AnsweredEvent['answer'] = {
  code: '000',
  decidedBy: 'engine',
  cause: '',
  ruleId: '',
  approvedAmountMinor: null,
  rulesVersion: 'abc',
}

const body = Buffer.from(JSON.stringify(wireEvent({ eventId: 'evt-1' })))
const event = readEvent(body) as CardEvent

/** The fields of the line as a reader of the log finds them. */
function logged(given: Partial<AnsweredEvent>): Record<string, unknown> {
  const plain = {
    event,
    answer: approved,
    trace: 't.1',
    arrivalMs: 0.0123,
    origin: null,
    totalMs: 2,
  }
  const lines: string[] = []
  const write = (fields: string, message: string) =>
    void lines.push(`{${fields},"msg":"${message}"}`)
  logDecision({ write }, { ...plain, ...given })
  expect(lines).toHaveLength(1)
  return JSON.parse(lines[0]!)
}

describe('the line of a decision', () => {
  it('says what was decided, and how long it took', () => {
    const origin = {
      queueMs: 1.00049,
      decideMs: 0.2,
      commitMs: 3,
      duplicate: false,
      matchedRules: [],
      shadowRules: [],
    }
    expect(logged({ origin })).toEqual({
      trace: 't.1',
      eventId: 'evt-1',
      requestType: 'Authorization',
      transactionId: 'txn-evt-1',
      cardId: 'card-2',
      amountMinor: 100,
      currency: 'USD',
      mcc: '5411',
      code: '000',
      decidedBy: 'engine',
      rulesVersion: 'abc',
      ms: { arrival: 0.012, queue: 1, decide: 0.2, commit: 3, total: 2 },
      msg: 'decided',
    })
  })

  it('names the cause of a default, and the rules that counted, at most twenty of each', () => {
    const answer = { ...approved, decidedBy: 'default', cause: 'deadline' } as const
    const byDefault = logged({ answer })
    expect(byDefault).toMatchObject({ decidedBy: 'default', cause: 'deadline' })
    expect(byDefault.ms).toEqual({ arrival: 0.012, total: 2 })
    const shadowRules = Array.from({ length: 30 }, (_, i) => `r${i}`)
    const origin = {
      queueMs: 0,
      decideMs: 0,
      commitMs: 0,
      duplicate: true,
      matchedRules: ['a', 'b'],
      shadowRules,
    }
    const line = logged({ origin, answer: { ...approved, code: '175', ruleId: 'b' } })
    expect(line).toMatchObject({
      ruleId: 'b',
      matched: ['a', 'b'],
      shadow: shadowRules.slice(0, 20),
    })
  })

  it('shows no card number, and stays JSON whatever the ids hold', () => {
    const pan = '4111111111111111'
    const ids = { eventId: `"${pan}\n`, transactionId: '\\', cardId: pan }
    const odd = { ...event, ...ids, merchant: { ...event.merchant, mcc: '"' } }
    const answer = { ...approved, ruleId: `rule ${pan}` }
    const line = logged({ event: odd, answer })
    expect(line).toMatchObject({ eventId: '"411111…1111\n', transactionId: '\\', mcc: '"' })
    expect(JSON.stringify(line)).not.toContain(pan)
  })
})
