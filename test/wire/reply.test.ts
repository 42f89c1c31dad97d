import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Refusal, refusalOf } from '../../src/wire/refusal.ts'
import { type Reply, renderRefusal, renderReply } from '../../src/wire/reply.ts'

describe('renderReply', () => {
  const reply: Reply = {
    eventId: 'evt-1',
    transactionId: 'txn-1',
    decision: 'approve',
    responseCode: '000',
    decidedBy: 'engine',
    rulesVersion: 'abc',
    ruleId: '',
    approvedAmountMinor: null,
    currency: 'USD',
    cause: '',
  }

  it('writes the fields in their order', () => {
    expect(renderReply(reply)).toBe(
      '{"eventId":"evt-1","transactionId":"txn-1","decision":"approve","responseCode":"000","reason":"approved","decidedBy":"engine","rulesVersion":"abc"}',
    )
  })

  it('adds ruleId, approvedAmount and cause when there are any', () => {
    const full: Reply = { ...reply, ruleId: 'r-1', approvedAmountMinor: 4000, cause: 'deadline' }
    const json = renderReply(full)
    expect(json.endsWith(',"ruleId":"r-1","approvedAmount":40.00,"cause":"deadline"}')).toBe(true)
    expect(JSON.parse(json)).toMatchObject({ approvedAmount: 40 })
    expect(renderReply({ ...full, currency: 'JPY' })).toContain('"approvedAmount":4000,')
    expect(renderReply({ ...full, currency: 'KWD' })).toContain('"approvedAmount":4.000,')
  })

  it('quotes whatever an id may hold', () => {
    const ascii = fc.string({ unit: 'binary-ascii', maxLength: 64 })
    fc.assert(
      fc.property(ascii, ascii, fc.string({ unit: 'binary' }), (eventId, transactionId, ruleId) => {
        const json = renderReply({ ...reply, eventId, transactionId, ruleId })
        const expected = { eventId, transactionId, ...(ruleId === '' ? {} : { ruleId }) }
        expect(JSON.parse(json)).toMatchObject(expected)
      }),
    )
    expect(renderReply({ ...reply, eventId: 'a"b\\c' })).toContain(String.raw`"eventId":"a\"b\\c"`)
  })
})

describe('renderRefusal', () => {
  const refusal: Refusal = {
    status: 400,
    responseCode: '136',
    field: 'currency',
    message: 'currency must be an ISO 4217 code',
    eventId: 'evt-1',
    transactionId: 'txn-1',
    about: 'ask',
    unknownKind: '',
  }

  it('names the field', () => {
    expect(renderRefusal(refusal)).toBe(
      '{"eventId":"evt-1","transactionId":"txn-1","decision":"decline","responseCode":"136","reason":"format error","decidedBy":"gate","field":"currency","message":"currency must be an ISO 4217 code"}',
    )
  })

  it('has the same shape for the other refusals', () => {
    expect(renderRefusal(refusalOf(401, 'signature wrong'))).toBe(
      '{"eventId":"","transactionId":"","decision":"decline","responseCode":"146","reason":"authentication failed","decidedBy":"gate","message":"signature wrong"}',
    )
    const ids = { eventId: 'e', transactionId: 't' }
    expect(refusalOf(503, 'not written down', ids)).toMatchObject({ ...ids, responseCode: '911' })
  })
})
