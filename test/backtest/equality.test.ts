import { describe, expect, it } from 'vitest'
import { storeSource } from '../../src/backoffice/log-source.ts'
import { type LogSource, runBacktest } from '../../src/backtest/run.ts'
import { type CardEvent, isAsk } from '../../src/domain/record/event.ts'
import type { Answer } from '../../src/domain/record/event-record.ts'
import { compilePack } from '../../src/rules/load/compiler.ts'
import type { CompiledPack } from '../../src/rules/pack/compiled-pack.ts'
import type { PackFiles } from '../../src/rules/pack/folder.ts'
import {
  type Arrival,
  type Deed,
  filesOf,
  type LiveRun,
  retentionDays,
  runLive,
  sourceOf,
  traffic,
  withPeople,
} from '../support/backtest-world.ts'
import { eventOf } from '../support/event-generator.ts'
import { rulesText } from '../support/rule-world.ts'

const seed = Number(process.env.SEED ?? 31_337)
/** How much there must be of something for a test to show it; with another seed there may be less. */
const many = (usual: number) => (process.env.SEED === undefined ? usual : -1)
const cards = 9
const windows = `
- { name: hourly, scope: card, over: asks, period: { trailing: 1h } }
- { name: spent, scope: account, over: approved, period: day }
`
const oldFiles = filesOf({
  'windows.yaml': windows,
  'a.rules.yaml': rulesText([
    { id: 'gambling', when: 'merchant.mcc == "7995" && amount > 80' },
    { id: 'busy', when: 'windows.hourly.count > 6', decline: '130' },
    { id: 'quiet', mode: 'shadow', when: 'foreign' },
  ]),
})
/** Declines more, and so leaves more money and fuller windows of declines for what comes later. */
const stricter = filesOf({
  'windows.yaml': windows,
  'a.rules.yaml': rulesText([
    { id: 'gambling', when: 'merchant.mcc == "7995"' },
    { id: 'busy', when: 'windows.hourly.count > 3', decline: '130' },
    { id: 'spree', when: 'windows.spent.sum > 500', decline: '129', rollout: '50%' },
  ]),
})
/** Has no old rule, and counts what the old pack does not. */
const otherwise = filesOf({
  'windows.yaml': `${windows}- { name: declined, scope: card, over: declines, period: { trailing: 24h } }\n`,
  'a.rules.yaml': rulesText([
    { id: 'tester', when: 'windows.declined.count > 1', decline: '129' },
    { id: 'abroad', when: 'foreign && !country_seen && amount > 100', decline: '127' },
  ]),
})
/** Approves above limits and funds what the old pack declines, and says all else that rules can. */
const allowing = filesOf({
  'windows.yaml': `${windows}
- { name: abroad, scope: card, over: asks, where: foreign && amount > 10, distinct: merchant.country, period: { trailing: 7d } }
- { name: usual, scope: card, over: approved, spread: true, period: { trailing: 30d } }
- { name: shop, scope: merchant, over: declines, period: day }
- { name: kind, scope: card-and-merchant, over: approved, period: week, firstDay: sun }
- { name: purchases, scope: account, over: asks, distinct: transaction.id, period: year }
`,
  'a.rules.yaml': rulesText([
    { id: 'gambling', when: 'merchant.mcc == "7995" && amount > 80' },
    { id: 'unlike', when: 'windows.usual.count > 3 && amount > windows.usual.average * 4' },
    {
      id: 'spread',
      when: 'windows.usual.deviation > 60 && amount >= windows.usual.max && foreign',
    },
    { id: 'tour', when: 'windows.abroad.distinct >= 2 && country_changed', decline: '304' },
    { id: 'again', when: 'windows.kind.count > 1', decline: '130' },
    { id: 'hit', when: 'windows.shop.count > 3', decline: '308' },
    { id: 'lively', when: 'windows.purchases.distinct > 70 && amount > 50', decline: '305' },
    { id: 'row', when: 'declines_in_row >= 3 && !mcc_seen', decline: '129' },
    { id: 'look', when: 'minutes_since_last_place < 3', review: '128', decline: undefined },
    { id: 'note', when: 'card.daily_limit_used > 50', tag: 'near', decline: undefined },
    { id: 'regular', when: 'merchant_seen', allow: ['again', 'tour'], decline: undefined },
    {
      id: 'fuel',
      when: 'merchant.mcc in ["5541", "7995"]',
      decline: undefined,
      allow: { above: ['limits'] },
    },
    {
      id: 'home',
      when: '!foreign',
      decline: undefined,
      allow: { rules: ['gambling'], above: ['funds'] },
    },
  ]),
})
/** Has other days and holds, and amounts in another currency. */
const elsewhere = filesOf({
  'pack.yaml': `
currency: EUR
rates: { USD: 0.92 }
zones: { US: America/New_York }
holdAdjustments: [{ when: 'foreign && merchant.mcc == "5541"', plusPercent: 25 }]
`,
  'windows.yaml': windows,
  'a.rules.yaml': rulesText([
    { id: 'large', when: 'worth(amount) > 80 && hour >= 9', decline: '129' },
    { id: 'day', when: 'worth(windows.spent.sum) > 250', decline: '130' },
  ]),
})

/** Looks at what other accounts have just asked for in the same shop. */
const crowded = filesOf({
  'windows.yaml': `${windows}- { name: shop, scope: merchant, over: asks, period: { trailing: 30m } }\n`,
  'a.rules.yaml': rulesText([{ id: 'crowded', when: 'windows.shop.count > 0', decline: '308' }]),
})

/** Events, one a minute, each with what people do before it. */
type Story = [Partial<CardEvent>, Deed[]?][]

function told(story: Story): Arrival[] {
  return story.map(([event, deeds = []], i) => {
    const atMs = Date.UTC(2026, 8, 1, 10, i)
    const { eventId = '', transactionId = eventId } = event
    const whole = eventOf({ ...event, eventId, transactionId, occurredAtMs: atMs })
    return { atMs, event: whole, said: null, deeds }
  })
}

function packOf(files: PackFiles): CompiledPack {
  return compilePack(files, retentionDays, { tested: false })
}

function backtest(live: LiveRun, newFiles: PackFiles, fromMs = 0, toMs = Infinity) {
  const source = sourceOf(live.store)
  const [oldPack, newPack] = [packOf(oldFiles), packOf(newFiles)]
  return runBacktest({ oldPack, newPack, fromMs, toMs, source, threads: 0 })
}

/** What the backtest says that each ask would have been answered. */
function predicted(live: LiveRun, rows: Awaited<ReturnType<typeof backtest>>['rows']) {
  const answers = new Map(Array.from(live.answers, ([id, { code }]) => [id, code as string]))
  for (const { eventId, next } of rows) answers.set(eventId, next.code)
  return answers
}

function asksOf(arrivals: readonly Arrival[]): string[] {
  return [
    ...new Set(arrivals.filter(({ event }) => isAsk(event)).map(({ event }) => event.eventId)),
  ]
}

let ranBefore: Promise<LiveRun> | null = null

/** The server of the old pack, which several tests look at. */
function oldRun(): Promise<LiveRun> {
  ranBefore ??= runLive(oldFiles, traffic(seed, 400, cards), cards)
  return ranBefore
}

describe(`a backtest (SEED=${seed})`, () => {
  it.each([
    ['a stricter pack', stricter],
    ['a pack that counts otherwise', otherwise],
    ['a pack that allows, reviews, tags and looks at what others do not', allowing],
    ['a pack with other zones, holds and currencies', elsewhere],
    ['an unchanged pack', oldFiles],
  ])('of %s says what a server with it decides on the same events', async (_name, newFiles) => {
    const arrivals = traffic(seed, 400, cards)
    const old = await oldRun()
    const live = newFiles === oldFiles ? old : await runLive(newFiles, arrivals, cards)
    const { rows, disagreements, asks, rules } = await backtest(old, newFiles)
    expect(disagreements).toBe(0)
    expect(asks).toBeGreaterThan(many(150))
    const says = predicted(old, rows)
    for (const id of asksOf(arrivals))
      expect([id, says.get(id)]).toEqual([id, live.answers.get(id)?.code])
    if (newFiles === allowing && process.env.SEED === undefined) {
      const all = [...packOf(allowing).rules.map(({ id }) => id), 'tag:near', 'check:daily-limit']
      expect(Object.keys(rules)).toEqual(expect.arrayContaining(all))
    }
    if (newFiles === oldFiles) expect(rows).toEqual([])
    else expect(rows.length).toBeGreaterThan(many(30))
  })

  it('from some time on says what a server decides that takes the new pack then', async () => {
    const arrivals = traffic(seed + 1, 400, cards)
    const fromMs = arrivals[200]!.atMs
    const old = await runLive(oldFiles, arrivals, cards)
    const live = await runLive(oldFiles, arrivals, cards, { atMs: fromMs, files: stricter })
    const { rows, disagreements } = await backtest(old, stricter, fromMs)
    expect(disagreements).toBe(0)
    expect(rows.length).toBeGreaterThan(many(10))
    expect(rows.every(({ atMs }) => atMs >= fromMs)).toBe(true)
    const says = predicted(old, rows)
    for (const id of asksOf(arrivals))
      expect([id, says.get(id)]).toEqual([id, live.answers.get(id)?.code])
  })

  it('from some time on counts over several cards what came before, and an ask that came again once', async () => {
    const arrivals = traffic(seed + 2, 300, cards)
    const { store } = await runLive(crowded, arrivals, cards)
    const [oldPack, newPack] = [packOf(crowded), packOf(crowded)]
    const [fromMs, toMs] = [arrivals[150]!.atMs, Infinity]
    const source = sourceOf(store)
    const tally = await runBacktest({ oldPack, newPack, fromMs, toMs, source, threads: 0 })
    expect(tally).toMatchObject({ disagreements: 0, inexactDisagreements: 0, rows: [] })
    expect(tally.inexactAsks).toBeGreaterThan(many(10))
    const first = new Map<string, Arrival>()
    for (const one of arrivals) if (!first.has(one.event.eventId)) first.set(one.event.eventId, one)
    const decided = [...first.values()].filter(
      ({ event, atMs, said }) => isAsk(event) && atMs >= fromMs && said === null,
    )
    expect(tally.asks).toBe(decided.length)
  })

  it('does again what people did, as a server would on which they do the same', async () => {
    const charging = (files: PackFiles) =>
      new Map([...files, ['pack.yaml', 'crossBorder: { fixed: 2.00, percent: 9 }']])
    const [before, after] = [charging(oldFiles), charging(stricter)]
    const arrivals = withPeople(seed, traffic(seed, 600, cards))
    const old = await runLive(before, arrivals, cards)
    const done = arrivals.map((arrival) => {
      return { ...arrival, deeds: (arrival.deeds ?? []).filter((deed) => old.deeds.has(deed)) }
    })
    const kinds = new Set([...old.deeds].map(({ operation }) => operation.type))
    if (process.env.SEED === undefined) expect(kinds.size).toBe(5)
    const live = await runLive(after, done, cards)
    const { rows, disagreements } = await runBacktest({
      oldPack: packOf(before),
      newPack: packOf(after),
      fromMs: 0,
      toMs: Infinity,
      source: sourceOf(old.store),
      threads: 0,
    })
    expect(disagreements).toBe(0)
    const says = predicted(old, rows)
    for (const id of asksOf(arrivals))
      expect([id, says.get(id)]).toEqual([id, live.answers.get(id)?.code])
  })

  it('tells of no ask that the watchdog approved after we had declined it', async () => {
    const declining = (when: string) => filesOf({ 'a.rules.yaml': rulesText([{ id: 'r', when }]) })
    const ask = { cardId: 'card-1', requestType: 'Authorization', amountMinor: 100 } as const
    const [first, other] = told([[{ ...ask, eventId: 'e1' }], [{ ...ask, eventId: 'e2' }]])
    const said: Answer = {
      code: '000',
      decidedBy: 'default',
      cause: 'deadline',
      ruleId: '',
      approvedAmountMinor: null,
      rulesVersion: '',
    }
    const before = declining('amount > 0.50')
    const live = await runLive(
      before,
      [first!, other!, { ...first!, atMs: other!.atMs, said }],
      cards,
    )
    expect([...live.answers.values()].map(({ code }) => code)).toEqual(['127', '127'])
    const { rows } = await runBacktest({
      oldPack: packOf(before),
      newPack: packOf(declining('amount > 10000')),
      fromMs: 0,
      toMs: Infinity,
      source: sourceOf(live.store),
      threads: 0,
    })
    expect(rows.map(({ eventId }) => eventId)).toEqual(['e2'])
  })

  it('thaws no card again that has ended meanwhile', async () => {
    const merchant = { mid: 'M1', mcc: '7995', name: 'Shop', city: 'Lagos', country: 'US' }
    const ask = { cardId: 'card-4', amountMinor: 100, merchant }
    const set = (status: 'Frozen' | 'Active'): Deed => {
      const operation = { type: 'changeCard', cardId: 'card-4', set: { status } } as const
      return { accountId: 'account-1', operation }
    }
    // As many as it has swipes, declined by the old pack.
    const story: Story = Array.from({ length: 12 }, (_, i) => [{ ...ask, eventId: `e${i}` }])
    const cheap = { ...ask, amountMinor: 50, eventId: 'last' }
    const arrivals = told([...story, [cheap, [set('Frozen'), set('Active')]]])
    const declining = (when: string) => filesOf({ 'a.rules.yaml': rulesText([{ id: 'r', when }]) })
    const [before, after] = [declining('amount > 0.50'), declining('amount > 10000')]
    const old = await runLive(before, arrivals, cards)
    expect(old.deeds.size).toBe(2)
    const live = await runLive(after, arrivals, cards)
    expect([live.deeds.size, live.answers.get('last')?.code]).toEqual([0, '143'])
    const [oldPack, newPack] = [packOf(before), packOf(after)]
    const range = { fromMs: 0, toMs: Infinity, threads: 0 }
    const { rows } = await runBacktest({ ...range, oldPack, newPack, source: sourceOf(old.store) })
    expect([...live.answers].map(([id, { code }]) => [id, code])).toEqual([...predicted(old, rows)])
  })

  it('takes a charge again, and grants a refund again, only as far as that account has them', async () => {
    const home = { mid: 'M1', mcc: '7995', name: 'Shop', city: 'Lagos', country: 'US' }
    const abroad = { ...home, mcc: '5411', country: 'NG' }
    const of = { cardId: 'card-1', currency: 'USD' }
    const asked = { ...of, transactionId: 'ask', amountMinor: 390_000, merchant: home }
    const bought = { ...of, transactionId: 'buy', amountMinor: 10_000, merchant: abroad }
    const deed = (type: 'takeCharge' | 'grantRefund', transactionId: string): Deed => {
      const operation = { type, cardId: 'card-1', transactionId }
      return { accountId: 'account-1', operation }
    }
    const story: Story = [
      // Declined by the new pack: only for the old one is there nothing to take the charge of.
      [{ ...asked, eventId: 'e1', requestType: 'Authorization' }],
      [{ ...bought, eventId: 'e2', requestType: 'Settlement' }],
      [{ ...asked, eventId: 'e3', requestType: 'Reversal' }],
      // Covered by a capture that only the new account has none of.
      [{ ...bought, eventId: 'e4', requestType: 'Refund', transactionId: 'back' }],
      [
        {
          ...asked,
          eventId: 'e5',
          requestType: 'Authorization',
          transactionId: 'left',
          amountMinor: 398_500,
          merchant: { ...abroad, country: 'US' },
        },
        [deed('takeCharge', 'buy'), deed('grantRefund', 'back')],
      ],
    ]
    const arrivals = told(story)
    const charging = (when: string) =>
      filesOf({
        'pack.yaml': 'crossBorder: { fixed: 10.00, percent: 0 }',
        'a.rules.yaml': rulesText([{ id: 'gambling', when }]),
      })
    const [before, after] = [charging('amount > 10000'), charging('merchant.mcc == "7995"')]
    const old = await runLive(before, arrivals, cards)
    expect(old.deeds.size).toBe(2)
    const live = await runLive(after, arrivals, cards)
    const [oldPack, newPack] = [packOf(before), packOf(after)]
    const source = sourceOf(old.store)
    const { rows } = await runBacktest({
      oldPack,
      newPack,
      fromMs: 0,
      toMs: Infinity,
      source,
      threads: 0,
    })
    expect([...live.answers].map(([id, { code }]) => [id, code])).toEqual([...predicted(old, rows)])
    expect(live.answers.get('e5')?.code).toBe('000')
    expect(rows.map(({ eventId }) => eventId)).toEqual(['e1'])
  })

  it('of a pack whose breakers trip says what a server decides with the rules in shadow from then on', async () => {
    const packWith = (tripped: Record<string, unknown>) =>
      filesOf({
        'windows.yaml': windows,
        'a.rules.yaml': rulesText([
          { id: 'gambling', when: 'merchant.mcc == "7995"', ...tripped },
          { id: 'busy', when: 'windows.hourly.count > 3', decline: '130' },
        ]),
      })
    const breaker = { breaker: { declines: 12, within: '24h' } }
    const arrivals = traffic(seed, 400, cards)
    const old = await oldRun()
    const { rows, trips, rules } = await backtest(old, packWith(breaker))
    expect(trips).toEqual([
      {
        ruleId: 'gambling',
        atMs: expect.any(Number),
        reason: expect.stringContaining('more than 12'),
      },
    ])
    const { atMs } = trips[0]!
    const live = await runLive(packWith({}), arrivals, cards, {
      atMs,
      files: packWith({ mode: 'shadow' }),
    })
    const says = predicted(old, rows)
    for (const id of asksOf(arrivals))
      expect([id, says.get(id)]).toEqual([id, live.answers.get(id)?.code])
    expect(rules.gambling!.newShadow).toBeGreaterThan(many(5))
    const shared = await runBacktest({
      oldPack: packOf(oldFiles),
      newPack: packOf(packWith({ breaker: { share: '5%', within: '24h', minAsks: 20 } })),
      fromMs: 0,
      toMs: Infinity,
      source: sourceOf(old.store),
      threads: 0,
    })
    expect(shared.trips[0]!.reason).toContain('more than 5%')
  })

  it('against another pack than the one that decided shows where it disagrees with the log', async () => {
    const arrivals = traffic(seed, 300, cards)
    const live = await runLive(stricter, arrivals, cards)
    const { disagreements, disagreementRows, versions } = await backtest(live, stricter)
    expect(disagreements).toBeGreaterThan(many(10))
    expect(disagreementRows[0]!.logged).not.toEqual(disagreementRows[0]!.replayed)
    expect(Object.values(versions)).toEqual([{ asks: expect.any(Number), disagreements }])
  })

  it('of a log whose beginning is gone begins with the records of the store, and says from when on it is exact', async () => {
    const arrivals = traffic(seed, 300, cards)
    const live = await runLive(oldFiles, arrivals, cards)
    const whole = storeSource(live.store)
    const lost = 150
    const source = {
      ...whole,
      async *lines() {
        let number = 0
        for await (const page of whole.lines()) yield page.filter(() => number++ >= lost)
      },
    }
    const times = { fromMs: 0, toMs: Infinity }
    const options = { oldPack: packOf(oldFiles), ...times, source, threads: 0 }
    const same = await runBacktest({ ...options, newPack: packOf(oldFiles) })
    expect(same).toMatchObject({ cutAccounts: 3, accounts: 3, disagreements: 0, rows: [] })
    expect(same.asks).toBeGreaterThan(many(50))
    expect(same.inexactAsks).toBe(same.asks)
    // Its windows and what was asked before the log began are not known.
    expect(same.inexactDisagreements).toBeGreaterThan(many(0))
    expect(same.inexactDisagreements).toBeLessThan(same.asks / 4)
    const oldestMs = arrivals[0]!.atMs
    expect(same.exactFromMs).toBeGreaterThan(oldestMs + retentionDays * 86_400_000)
    const stricterRows = (await runBacktest({ ...options, newPack: packOf(stricter) })).rows
    expect(stricterRows.length).toBeGreaterThan(many(5))
  })

  it('of a log whose beginning is gone lets the refund of an earlier purchase be spent', async () => {
    const retentionMs = retentionDays * 86_400_000
    const ofCard = { cardId: 'card-1', requestType: 'Authorization' } as const
    const arrivals = told([
      [{ ...ofCard, eventId: 'buy', amountMinor: 390_000 }],
      [
        {
          ...ofCard,
          eventId: 'paid',
          requestType: 'Settlement',
          transactionId: 'buy',
          amountMinor: 390_000,
        },
      ],
      [
        {
          ...ofCard,
          eventId: 'back',
          requestType: 'Refund',
          originalTransactionId: 'buy',
          amountMinor: 300_000,
        },
      ],
      [{ ...ofCard, eventId: 'again', amountMinor: 300_000 }],
    ]).map((one, i) => (i < 3 ? one : { ...one, atMs: one.atMs + retentionMs }))
    const live = await runLive(oldFiles, arrivals, cards)
    expect(live.answers.get('again')!.code).toBe('000')
    const whole = storeSource(live.store)
    const source = {
      ...whole,
      async *lines() {
        let isKept = false
        for await (const page of whole.lines())
          yield page.filter((line) => (isKept ||= line.includes('"back"')))
      },
    }
    const pack = packOf(oldFiles)
    const options = { oldPack: pack, newPack: pack, fromMs: 0, toMs: Infinity, threads: 0 }
    const same = await runBacktest({ ...options, source })
    expect(same).toMatchObject({ cutAccounts: 1, asks: 1, inexactAsks: 0, disagreements: 0 })
  })

  it.each([
    ['all of them', (_: string) => true],
    ['one of them', (line: string) => line.includes('"account-1"')],
  ])(
    'of accounts that are older than the log, %s, counts windows over several cards in its order',
    async (_name, isCut) => {
      const live = await oldRun()
      const whole = storeSource(live.store)
      const cut = {
        ...whole,
        async *lines() {
          let number = 0
          for await (const page of whole.lines())
            yield page.filter((line) => number++ >= cards || !isCut(line))
        },
      }
      const [oldPack, newPack] = [packOf(oldFiles), packOf(crowded)]
      const options = { oldPack, newPack, fromMs: 0, toMs: Infinity, threads: 0 }
      const waited: [number, number][] = []
      const onWaited = (entries: number, of: number) => waited.push([entries, of])
      const crowdedAt = async (source: LogSource) => {
        const { rows } = await runBacktest({ ...options, source, onWaited })
        const ofRule = rows.filter((row) => row.next.ruleId === 'crowded')
        return ofRule.map(({ eventId }) => eventId).sort()
      }
      const expected = await crowdedAt(whole)
      expect(expected.length).toBeGreaterThan(many(20))
      expect(waited).toEqual([])
      expect(await crowdedAt(cut)).toEqual(expected)
      const [entries, of] = waited.at(-1)!
      expect(entries).toBeGreaterThan(of - 200)
    },
  )

  it('puts good customers first, and none that were reversed or refunded', async () => {
    const arrivals = traffic(seed, 400, cards)
    const { rows, changes } = await backtest(await oldRun(), stricter)
    const good = rows.filter((row) => row.good)
    expect(good.length).toBeGreaterThan(many(5))
    expect(rows.slice(0, good.length)).toEqual(good)
    expect(changes.newlyDeclined.good).toBe(good.length)
    const settledAmong = (types: readonly string[]) =>
      new Set(
        arrivals
          .filter(({ event }) => types.includes(event.requestType))
          .map(({ event }) => event.transactionId),
      )
    const [settled, taken] = [
      settledAmong(['Settlement']),
      settledAmong(['Reversal', 'PartialReversal', 'Refund']),
    ]
    for (const { transactionId, old } of good) {
      expect(old.code).toBe('000')
      expect(settled.has(transactionId)).toBe(true)
      expect(taken.has(transactionId)).toBe(false)
    }
  })
})
