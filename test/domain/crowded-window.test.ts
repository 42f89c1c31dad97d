import { describe, expect, it } from 'vitest'
import { countShared, createSharedTally } from '../../src/domain/decide/shared-window.ts'
import { distinctAt, spreadIn, windowValue } from '../../src/domain/decide/window.ts'
import { crowding } from '../../src/domain/decide/window-place.ts'
import { createLedger } from '../../src/domain/ledger/ledger.ts'
import type { Account } from '../../src/domain/record/account.ts'
import type { Card } from '../../src/domain/record/card.ts'
import type { CardEvent } from '../../src/domain/record/event.ts'
import { estimateValues, maxDistinct } from '../../src/domain/record/value-sketch.ts'
import { countAt, moveToSketch, type OpenStates } from '../../src/domain/record/window-state.ts'
import { accountCodec, cardCodec } from '../../src/engine/format/codec.ts'
import { decodeEntry, encodeEntry } from '../../src/engine/format/entry-codec.ts'
import { RecordUnreadable } from '../../src/engine/format/row-codec.ts'
import { encodeCounts, readCounts } from '../../src/engine/shared/record.ts'
import { type WindowFile, windowFile } from '../../src/rules/pack/window-file.ts'
import { encodeBook } from '../support/book-text.ts'
import { createRandom, eventOf, cardOf as naiveCard } from '../support/event-generator.ts'
import { createNaiveModel } from '../support/naive-model.ts'
import { firstSeedOf, isTorture } from '../support/torture.ts'
import { accountOf, cardOf, defaultSwitches, packOf } from '../support/world.ts'

const walks = isTorture ? 25 : 1
/** The naive model counts all again, so a long walk is slow. */
const steps = isTorture ? 1000 : 200
const firstSeed = firstSeedOf(walks)
const dayMs = 86_400_000
const startMs = Date.UTC(2026, 10, 14, 9)
const dayOf = (ms: number) => Math.floor(ms / dayMs)
/** Four times what estimates are off by in the mean. */
const tolerance = 0.15

const files = [
  { name: 'hour', scope: 'card', over: 'asks', distinct: true, period: { trailing: '1h' } },
  { name: 'day', scope: 'card', distinct: true, spread: true, period: 'day' },
  { name: 'week', scope: 'account', distinct: true, period: { trailing: '7d' } },
  { name: 'kinds', scope: 'account', distinct: 'merchant.mcc', period: 'month' },
].map((file) => windowFile.parse(file))

const naive = { accountId: 'A1', currency: 'USD', country: 'NG', openingMinor: 1_000_000_000 }

function open(windows: readonly WindowFile[]) {
  const pack = packOf(defaultSwitches, 45, { windows })
  const ledger = createLedger()
  const account = accountOf(naive)
  const cards = ['C1', 'C2'].map((cardId) => naiveCard({ cardId, dailyLimitMinor: 10 ** 9 }))
  for (const card of cards) {
    const operation = { type: 'open', account, card: cardOf(card), givesBalance: true } as const
    ledger.operate('A1', operation, pack, startMs)
  }
  const book = () => ledger.book('A1')
  return { pack, ledger, cards, book }
}

function askAt(mid: string, said: Partial<CardEvent> & { eventId: string }): CardEvent {
  const merchant = { mid, mcc: '5411', name: '', city: '', country: 'NG' }
  return eventOf({ transactionId: said.eventId, merchant, amountMinor: 100, ...said })
}

/** One walk over many merchants, with pauses, declines and reversals; gives how many it estimated. */
function compareWalk(seed: number): number {
  const random = createRandom(seed)
  const { pack, ledger, cards, book } = open(files)
  const options = { switches: defaultSwitches, dayOf, retentionDays: 45 }
  const model = createNaiveModel({ ...options, accounts: [naive], cards })
  const merchants = random.between(70, steps)
  const sent: CardEvent[] = []
  let nowMs = startMs
  let reversals = 0
  let estimates = 0
  for (let i = 0; i < steps; i++) {
    nowMs += random.chance(0.005) ? random.between(1, 30) * 3_600_000 : random.between(1, 9_000)
    const earlier = sent.length > 0 && random.chance(0.04) ? random.pick(sent) : null
    if (earlier !== null) reversals++
    const event: CardEvent =
      earlier === null
        ? askAt(`M${random.between(1, merchants)}`, {
            eventId: `E${i}`,
            cardId: random.pick(['C1', 'C1', 'C1', 'C2']),
            amountMinor: random.chance(0.1) ? 10 ** 10 : random.between(1, 500),
          })
        : { ...earlier, eventId: `E${i}`, requestType: 'Reversal' }
    if (earlier === null) sent.push(event)
    ledger.deliver({ event, slot: event.eventId, receivedAtMs: nowMs, said: null }, pack)
    model.deliver(event, nowMs)
    if (random.chance(0.005)) {
      ledger.sweep(pack, nowMs)
      model.expireDue(nowMs)
    }
    if (i % 50 === 0 || i === steps - 1) estimates += compare(`seed ${seed}, step ${i}`)
  }

  function compare(where: string): number {
    let estimated = 0
    for (const { cardId } of cards) {
      for (const file of files) {
        const definition = pack.windows.find(({ name }) => name === file.name)!
        const { windows } = file.scope === 'account' ? book().account()! : book().card(cardId)!
        const { distinct, ...sums } = windowValue(windows, definition, nowMs, 'NG')
        const { distinct: exact, ...theirs } = model.window(file, cardId, 'M1')
        const ours = { ...sums, ...spreadIn(windows, definition, nowMs, 'NG') }
        const told = `${where}, ${file.name} of ${cardId}: ${distinct} for ${exact}`
        expect(ours, told).toEqual(theirs)
        if (windows[file.name]?.sketch === undefined) {
          expect(distinct, told).toBe(exact)
          continue
        }
        estimated++
        const kept = file.over === 'asks' ? 0 : reversals
        expect(distinct, told).toBeGreaterThanOrEqual((exact - kept) * (1 - tolerance))
        expect(distinct, told).toBeLessThanOrEqual((exact + kept) * (1 + tolerance))
      }
    }
    return estimated
  }

  const again = createLedger()
  for (const entry of ledger.entries) again.replay(decodeEntry(encodeEntry(entry)))
  expect(encodeBook(again.book('A1'))).toEqual(encodeBook(book()))
  expectSameRead(book().account()!, book().card('C1')!)
  return estimates
}

function expectSameRead(account: Account, card: Card): void {
  expect(accountCodec.decode(accountCodec.encode(account))).toEqual(account)
  expect(cardCodec.decode(cardCodec.encode(card))).toEqual(card)
}

describe('windows with more values than they tell apart', () => {
  it(
    `come close to the naive model, and equal it in all else, from seed ${firstSeed}`,
    () => {
      let estimates = 0
      for (let seed = firstSeed; seed < firstSeed + walks; seed++) estimates += compareWalk(seed)
      expect(estimates).toBeGreaterThan(5 * walks)
    },
    isTorture ? 7_200_000 : 60_000,
  )

  /** A card that goes from shop to shop, each after a second, and the reading of its hour. */
  function visit(shops: number, prefix: string, rounds = 1) {
    const world = open([files[0]!])
    const hour = world.pack.windows[1]!
    const read = (atMs: number) =>
      windowValue(world.book().card('C1')!.windows, hour, atMs).distinct
    let atMs = startMs
    let sent = 0
    function send(mid: string, said: Partial<CardEvent> = {}) {
      atMs += 500
      const event = askAt(mid, { eventId: `${sent++}`, ...said })
      world.ledger.deliver(
        { event, slot: event.eventId, receivedAtMs: atMs, said: null },
        world.pack,
      )
    }
    for (let i = 0; i < shops * rounds; i++) send(`${prefix}${1_000 + (i % shops)}`)
    return { ...world, send, read: (laterMs = 0) => read(atMs + laterMs) }
  }

  it('are never told fewer than one more than they tell apart, nor more than the bound', () => {
    for (let i = 0; i < 10; i++) expect(visit(65, `seed ${i} shop `).read()).toBe(65)
    expect(visit(2_600, 'shop ').read()).toBe(maxDistinct)
  })

  it('are estimated as well when all come again', () => {
    for (const prefix of ['a', 'b', 'shop no. ']) {
      const told = visit(300, prefix, 2).read()
      expect(Math.abs(told - 300), `${prefix}: ${told}`).toBeLessThan(300 * 0.08)
    }
  })

  /** Values of one bucket, as the window counts them: in order, again, or at random. */
  function estimateOf(values: number, seed: number): number {
    const states: OpenStates = {}
    const random = createRandom(seed)
    const asks = values * ((seed % 3) + 1)
    for (let i = 0; i < Math.max(asks, values); i++) {
      const value = i < values || seed % 2 === 0 ? i % values : random.between(0, values - 1)
      countAt(states, 'w', `${seed} ${value}`, 1, { index: 1, sumMinor: 1, count: 1 })
      for (const { mid } of crowding(states.w!)) moveToSketch(states, 'w', mid, 1)
    }
    const { merchants, sketch } = states.w!
    return merchants.length + estimateValues(sketch!, 1, 1, merchants.length)
  }

  // These are the figures that rules/FACTS.md says.
  it.each([
    [100, 0.015],
    [300, 0.025],
    [1_000, 0.03],
    [2_000, 0.04],
  ])('of %i values have a standard error of %d, and none beside', (values, said) => {
    const seeds = isTorture ? 1_000 : 30
    const offs = Array.from({ length: seeds }, (_, seed) => estimateOf(values, seed) / values - 1)
    const mean = offs.reduce((sum, off) => sum + off, 0) / seeds
    const error = Math.sqrt(offs.reduce((sum, off) => sum + off ** 2, 0) / seeds)
    const near = offs.filter((off) => Math.abs(off) <= 2 * said).length / seeds
    const percent = (share: number) => `${(100 * share).toFixed(2)}%`
    console.log(
      `${values} values: error ${percent(error)}, mean ${percent(mean)}, ${percent(near)} near`,
    )
    expect(error).toBeLessThan(said)
    expect(Math.abs(mean)).toBeLessThan(0.01)
    expect(near).toBeGreaterThanOrEqual(0.95)
  })

  it('forget with the time, and drop the sketch with the next count', () => {
    const { read, send, book, ledger, pack } = visit(200, 'shop ')
    expect(read()).toBeGreaterThan(150)
    expect(read(3_700_000)).toBe(0)
    const later = askAt('later', { eventId: 'later' })
    const receivedAtMs = startMs + 4_000_000
    ledger.deliver({ event: later, slot: 'later', receivedAtMs, said: null }, pack)
    expect(read(4_000_000 - 100_000)).toBe(1)
    expect(book().card('C1')!.windows.hour).not.toHaveProperty('sketch')
    send('after')
  })

  it('drop a sketch that is too old when a transaction is swept', () => {
    const { book, ledger, pack } = visit(100, 'shop ')
    expect(book().card('C1')!.windows.hour).toHaveProperty('sketch')
    ledger.sweep(pack, startMs + 60 * dayMs)
    expect(book().card('C1')!.windows).toEqual({})
  })

  it('keep the row small while few are estimated, and refuse one that is damaged', () => {
    const textOf = (shops: number) => cardCodec.encode(visit(shops, 'M').book().card('C1')!)
    const sketchIn = (text: string) => /\["hour","sketch".*?\]/.exec(text)?.[0] ?? ''
    expect([64, 66, 1_500].map((shops) => sketchIn(textOf(shops)).length)).toEqual([
      0,
      expect.toSatisfy((chars) => chars < 60),
      expect.toSatisfy((chars) => chars < 1_060),
    ])
    const text = textOf(66)
    expect(() => cardCodec.decode(text.replace(/\(\d+\)/, ''))).toThrow(RecordUnreadable)
  })

  it('over several cards count the cards of a shop, and are written and read as they are', () => {
    const shop = { name: 'shop', scope: 'merchant', over: 'asks', period: { trailing: '1h' } }
    const file = windowFile.parse({ ...shop, distinct: 'card.id' })
    const pack = {
      ...packOf(defaultSwitches, 45, { windows: [file] }),
      shared: createSharedTally(),
    }
    const ledger = createLedger()
    let facts: Parameters<typeof distinctAt>[1] | null = null
    for (let i = 0; i < 400; i++) {
      const [accountId, cardId, atMs] = [`A${i}`, `C${i}`, startMs + i * 100]
      const account = accountOf({ ...naive, accountId })
      const card = cardOf(naiveCard({ accountId, cardId }))
      ledger.operate(accountId, { type: 'open', account, card, givesBalance: true }, pack, atMs)
      const event = askAt('M1', { eventId: `E${i}`, cardId })
      const delivery = { event, slot: event.eventId, receivedAtMs: atMs, said: null }
      const step = ledger.deliver(delivery, pack)
      countShared(pack, event, step)
      const { transaction } = step.after
      facts = { event, account, card, transaction, atMs, shared: pack.shared }
    }
    const told = distinctAt(pack.sharedWindows![0]!, facts!)
    expect(Math.abs(told - 400)).toBeLessThan(400 * tolerance)
    const states = pack.shared.statesOf('merchant M1')
    expect(states.shop).toHaveProperty('sketch')
    expect(readCounts('merchant M1', encodeCounts('merchant M1', states))).toEqual(states)
  })
})
