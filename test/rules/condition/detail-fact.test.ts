import { describe, expect, it } from 'vitest'
import { detailNames } from '../../../src/domain/record/event.ts'
import { decodeEntry, encodeEntry } from '../../../src/engine/format/entry-codec.ts'
import { readDeliveries, writeDelivery } from '../../../src/engine/messages.ts'
import { readEvent } from '../../../src/wire/event.ts'
import { eventOf } from '../../support/event-generator.ts'
import { askOf, packOfFiles, reportOf, rulesText } from '../../support/rule-world.ts'

const body = (more: object) => {
  const event = {
    eventId: 'e1',
    requestType: 'Authorization',
    transactionId: 't1',
    cardId: 'c1',
    amount: 5,
    currency: 'USD',
    merchant: { mid: 'M1', mcc: '5411' },
    occurredAt: '2026-11-15T12:00:00Z',
    ...more,
  }
  return readEvent(Buffer.from(JSON.stringify(event)))
}

describe('what a relay says beside what every event has', () => {
  const rules = packOfFiles({
    'a.rules.yaml': rulesText([
      { id: 'wallet', when: 'wallet == "apple_pay"' },
      { id: 'risky', when: 'has(riskScore) && riskScore >= 800' },
      { id: 'basket', when: 'metadata.basket == "gold" && !has(metadata.other)' },
      { id: 'unverified', when: 'threeDs == ""' },
    ]),
  })
  const matched = (details: Record<string, string>) =>
    rules.evaluate(askOf({ event: { details } })).matched

  it('is there for rules', () => {
    expect(matched({ wallet: 'apple_pay', threeDs: 'x' })).toEqual(['wallet'])
    expect(matched({ riskScore: '801', threeDs: 'x' })).toEqual(['risky'])
    expect(matched({ riskScore: 'much', threeDs: 'x' })).toEqual([])
    expect(matched({ 'metadata.basket': 'gold' })).toEqual(['basket', 'unverified'])
    expect(rules.evaluate(askOf()).matched).toEqual(['unverified'])
  })

  it('is checked: only names of metadata are free', () => {
    const report = (when: string) => reportOf({ 'a.rules.yaml': rulesText([{ when }]) }).join()
    expect(report('walet == "x"')).toContain('did you mean wallet?')
    expect(report('metadata.Basket == "x"')).toContain('metadata.Basket is not known')
    expect(report('metadata.basket > 5')).toContain('cannot be compared')
  })

  it('is read from the body, and what cannot be read is left out', () => {
    const all = Object.fromEntries(detailNames.map((name) => [name, `a ${name}`]))
    expect(body({ details: all })).toMatchObject({ details: all })
    expect(
      body({ details: { pin: true, riskScore: 12, avs: '', cvc: 'x'.repeat(101), no: 'x' } }),
    ).toMatchObject({ details: { pin: 'true', riskScore: '12' } })
    expect(body({ details: 'nonsense', metadata: [1] })).not.toHaveProperty('details')
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`n${i}`, 'v']))
    const read = body({ metadata: { ...many, Upper: 'x' } })
    expect(Object.keys((read as { details: object }).details)).toHaveLength(20)
  })

  it('goes to the engine and into the log', () => {
    const details = { wallet: 'apple_pay', 'metadata.basket': 'gold,[[' }
    for (const organizationId of [undefined, 'O1']) {
      const given = { ...eventOf({ eventId: 'e1' }), details }
      const event = organizationId === undefined ? given : { ...given, organizationId }
      const cells: (string | number | null)[] = []
      writeDelivery(cells, { event, slot: 's', receivedAtMs: 1, said: null, mayStillCommit: false })
      readDeliveries(cells, (delivery) => expect(delivery.event).toEqual(event))
      const entry = {
        kind: 'event',
        n: 0,
        atMs: 1,
        accountId: 'A1',
        cardId: event.cardId,
        transaction: [event.cardId, event.transactionId],
        linked: null,
        eventKey: 'e1',
        event,
        slot: 's',
        answer: null,
        anomalies: [],
        unmatched: '',
        matchedRules: [],
        shadowRules: [],
        reason: '',
        changes: [],
      } as const
      expect(decodeEntry(encodeEntry(entry)).event).toEqual(event)
    }
  })
})
