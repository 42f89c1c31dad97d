import { describe, expect, it } from 'vitest'
import { detailNames } from '../../../src/domain/record/event.ts'
import { decodeEntry, encodeEntry } from '../../../src/engine/format/entry-codec.ts'
import { readDeliveries, writeDelivery } from '../../../src/engine/messages.ts'
import { explainRules } from '../../../src/rules/explain/explanation.ts'
import { bytesOfPack, readPackBytes } from '../../../src/rules/pack/bytes.ts'
import { finish } from '../../../src/rules/pack/step.ts'
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
      { id: 'cash', when: 'cashAmount > 20' },
      { id: 'cashless', when: 'wallet == "x" && !has(cashAmount)' },
    ]),
  })
  const matched = (details: Record<string, string>) =>
    rules.evaluate(askOf({ event: { details } })).matched

  it('is there for rules', () => {
    expect(matched({ wallet: 'apple_pay', threeDs: 'x' })).toEqual(['wallet'])
    expect(matched({ riskScore: '801', threeDs: 'x' })).toEqual(['risky'])
    expect(matched({ riskScore: 'much', threeDs: 'x' })).toEqual([])
    expect(matched({ 'metadata.basket': 'gold' })).toEqual(['basket', 'unverified'])
    expect(matched({ cashAmount: '20.01', wallet: 'x', threeDs: 'x' })).toEqual(['cash'])
    expect(matched({ cashAmount: '20.00', wallet: 'x', threeDs: 'x' })).toEqual([])
    expect(matched({ cashAmount: 'much', wallet: 'x', threeDs: 'x' })).toEqual(['cashless'])
    expect(rules.evaluate(askOf()).matched).toEqual(['unverified'])
  })

  it('is checked: only names of metadata are free', () => {
    const report = (when: string) => reportOf({ 'a.rules.yaml': rulesText([{ when }]) }).join()
    expect(report('walet == "x"')).toContain('did you mean wallet?')
    expect(report('metadata.Basket == "x"')).toContain('metadata.Basket is not known')
    expect(report('metadata.basket > 5')).toContain('cannot be compared')
  })

  it('is checked of a card too, and explained', () => {
    const report = (when: string) => reportOf({ 'a.rules.yaml': rulesText([{ when }]) }).join()
    expect(report('card.metadat.tier == "x"')).toContain('card.metadat.tier is not known')
    expect(report('card.metadata == "x"')).toContain('card.metadata is not known')
    expect(report('card.issued == "reissued"')).toContain('one of new, reissue-shared')
    const pack = packOfFiles({
      'a.rules.yaml': rulesText([{ when: 'card.metadata.tier == "gold" && card.issued == "new"' }]),
    })
    const ask = askOf({ card: { metadata: ['tier', 'gold'], issued: 'new' } })
    const [explained] = explainRules(pack, ask)
    expect(explained!.parts[0]!.parts.map(({ values }) => values)).toEqual([
      [{ name: 'card.metadata.tier', value: '"gold"' }],
      [{ name: 'card.issued', value: '"new"' }],
    ])
    for (const used of [pack, finish(readPackBytes(bytesOfPack(pack)))]) {
      expect(used.evaluate(ask).matched).toEqual(['r0'])
      expect(used.evaluate(askOf({ card: { metadata: [] } })).matched).toEqual([])
    }
  })

  it('is given to the cards of a test, and changed there', () => {
    const rule = { when: 'card.metadata.tier == "gold" || card.issued == "reissue-own"' }
    const test = `
- name: a tier
  cards: [{ metadata: { tier: silver } }, { issued: reissue-own }]
  steps:
    - { send: Authorization, amount: 1, expect: approve }
    - { send: Authorization, amount: 1, card: card-2, expect: "127" }
    - { set: { metadata: { tier: gold } } }
    - { send: Authorization, amount: 1, expect: "127" }
    - { set: { metadata: {} } }
    - { send: Authorization, amount: 1, expect: approve }
`
    expect(reportOf({ 'a.rules.yaml': rulesText([rule]), 'a.test.yaml': test })).toEqual([])
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
