import { describe, expect, it } from 'vitest'
import { createLedger } from '../../../src/domain/ledger/ledger.ts'
import { maxWindowMerchants } from '../../../src/domain/record/window-state.ts'
import { cardCodec } from '../../../src/engine/format/codec.ts'
import { costText, maxDecisionMs } from '../../../src/rules/pack/cost.ts'
import { type WindowFile, windowFile } from '../../../src/rules/pack/window-file.ts'
import { eventOf, cardOf as naiveCard } from '../../support/event-generator.ts'
import { packOfFiles, rulesText } from '../../support/rule-world.ts'
import { accountOf, cardOf, defaultSwitches, packOf } from '../../support/world.ts'

const perMerchant = (count: number, period: WindowFile['period']): WindowFile[] =>
  Array.from({ length: count }, (_, i) =>
    windowFile.parse({ name: `w${i}`, scope: 'card-and-merchant', period }),
  )

const ofDifferent = (count: number): WindowFile[] =>
  Array.from({ length: count }, (_, i) =>
    windowFile.parse({ name: `w${i}`, scope: 'card', distinct: true, period: { trailing: '24h' } }),
  )

const packWith = (windows: WindowFile[]) =>
  packOfFiles({ 'windows.yaml': JSON.stringify(windows, null, 1), 'a.rules.yaml': '[]' })

describe('the cost of a pack', () => {
  it('is told, and is small for calendar windows per merchant, as many as there may be', () => {
    expect(packWith(perMerchant(100, 'day')).cost.decisionMs).toBeLessThan(15)
    expect(costText(packWith([]).cost)).toBe('0.3 ms')
  })

  it('refuses with a sentence what cannot be decided in time, and takes what just can', () => {
    const fits = packWith(ofDifferent(24)).cost.decisionMs
    expect(fits).toBeLessThanOrEqual(maxDecisionMs)
    expect(() => packWith(ofDifferent(26))).toThrow(
      /^windows\.yaml counts too much: a decision may take \d+ ms, which is more than 50; /,
    )
  })

  it('is not asked of more windows than there may be', () => {
    expect(() => packWith(perMerchant(101, 'day'))).toThrow(/windows\.yaml.*100/)
  })

  it('counts the parts of conditions', () => {
    const when = Array.from({ length: 200 }, (_, i) => `amount == ${i}`).join(' || ')
    const rules = Array.from({ length: 100 }, (_, i) => ({ when: `${when} || amount == 1000${i}` }))
    const cost = packOfFiles({ 'a.rules.yaml': rulesText(rules) }).cost.rulesMs
    expect(cost).toBeGreaterThan(2)
    expect(cost).toBeLessThan(10)
  })

  it('counts the rules that others allow', () => {
    const declining = Array.from({ length: 500 }, (_, i) => ({ id: `d${i}`, when: 'foreign' }))
    const allow = declining.map(({ id }) => id)
    const allowing = Array.from({ length: 20 }, (_, i) => ({
      ...{ id: `a${i}`, when: 'foreign', decline: undefined, allow },
    }))
    const { cost } = packOfFiles({ 'a.rules.yaml': rulesText([...declining, ...allowing]) })
    expect(cost.rulesMs).toBeGreaterThan(1)
  })

  const matching = (pattern: string, rules = 1) => {
    const when = `merchant.name.matches("${pattern}")`
    return packOfFiles({ 'a.rules.yaml': rulesText(Array(rules).fill({ when })) })
  }

  it('counts what a regular expression repeats, and refuses what takes longer than an answer may', () => {
    expect(matching('(?i)^(SQ|PP) ?[0-9]{4}', 100).cost.rulesMs).toBeLessThan(5)
    expect(matching('bet.{0,40}casino').cost.rulesMs).toBeGreaterThan(1)
    expect(() => matching('(.{0,30}a){30}')).toThrow(
      /^pack\.yaml has too much in its conditions: .* a pattern with many steps for any character/,
    )
  })

  it('counts steps for any of several characters, however they are written', () => {
    const cost = (pattern: string) => matching(pattern).cost.rulesMs
    // Over varied texts of 200 characters these took 0.3 to 2.4 ms each.
    for (const steps of [14, 20, 40, 80, 150]) {
      expect(cost(`[ab]${'.'.repeat(steps)}[0-9]`)).toBeGreaterThan(1)
      expect(cost(`[ab].{${steps}}[0-9]`)).toBeGreaterThan(1)
    }
    expect(cost('^[a-z]*[ab].{20}[0-9]')).toBeGreaterThan(1)
    // And these some microseconds, as those do that most packs have.
    const usual = ['^[A-Z0-9]{20}$', 'UBER|LYFT|BOLT|GRAB|OLA|DIDI', '(?i)a[0-9]{9}', '[ab].{10}']
    for (const pattern of usual) expect(cost(pattern)).toBeLessThan(0.5)
    expect(() => matching(`[ab]${'.'.repeat(150)}[0-9]`, 9)).toThrow(/too much in its conditions/)
  })

  it('is not asked of patterns that take long to compile', () => {
    // One such pattern took 300 ms to compile, and 190 ms over a name of 200 letters.
    expect(() => matching(`a${'.{0,999}'.repeat(19)}[0-9]$`, 200)).toThrow(
      /^a\.rules\.yaml:\d+:\d+ when: is a pattern whose counted repetitions add up to more than 1000/,
    )
    expect(() => matching('a{600}b{400,}')).not.toThrow(/add up/)
  })
})

describe('deciding with windows per merchant', () => {
  /** In microseconds of the processor, so that other work of the machine counts less. */
  function cpuOf(windows: number): number {
    const pack = packOf(defaultSwitches, 45, { windows: perMerchant(windows, 'day') })
    const ledger = createLedger()
    const naive = { accountId: 'A1', currency: 'USD', country: 'NG', openingMinor: 1_000_000_000 }
    const card = cardOf(naiveCard({}))
    const account = accountOf(naive)
    ledger.operate('A1', { type: 'open', account, card, givesBalance: true }, pack, 0)
    let sent = 0
    const send = (times: number) => {
      for (let i = 0; i < times; i++) {
        const eventId = `E${sent}`
        const mid = `M${sent++ % (maxWindowMerchants + 6)}`
        const merchant = { mid, mcc: '5411', name: '', city: '', country: 'NG' }
        const event = eventOf({ eventId, transactionId: eventId, merchant })
        ledger.deliver({ event, slot: eventId, receivedAtMs: sent, said: null }, pack)
        cardCodec.encode(ledger.book('A1').card('C1')!)
      }
    }
    send(maxWindowMerchants + 6)
    const before = process.cpuUsage()
    send(40)
    return process.cpuUsage(before).user
  }

  it('costs the same for each window, however many there are', () => {
    cpuOf(10)
    // A compiler at work or a full collection falls into some of the runs, and not into the quickest.
    const runs = [1, 2, 3, 4].map(() => [cpuOf(10), cpuOf(60)] as const)
    const few = Math.min(...runs.map(([ofFew]) => ofFew))
    const many = Math.min(...runs.map(([, ofMany]) => ofMany))
    // Six times as many windows; with all of them copied for each it was thirty times as long.
    expect(many / few).toBeLessThan(18)
  }, 60_000)
})
