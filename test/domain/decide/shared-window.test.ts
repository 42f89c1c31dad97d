import { expect, it } from 'vitest'
import { countShared, createSharedTally } from '../../../src/domain/decide/shared-window.ts'
import {
  distinctAt,
  type SharedScope,
  spreadAt,
  sumsAt,
} from '../../../src/domain/decide/window.ts'
import { createLedger } from '../../../src/domain/ledger/ledger.ts'
import type { CardEvent } from '../../../src/domain/record/event.ts'
import { countedPlace } from '../../../src/domain/record/window-state.ts'
import { createRandom, eventOf, cardOf as naiveCard } from '../../support/event-generator.ts'
import { packOfFiles, reportOf } from '../../support/rule-world.ts'
import { accountOf, cardOf } from '../../support/world.ts'

const seed = Number(process.env.SEED ?? 20_261_116)
const startMs = Date.UTC(2026, 10, 14, 9)
const scopes: SharedScope[] = ['merchant', 'customer', 'organization', 'mcc', 'country']
const overs = ['approved', 'cash', 'asks', 'declines'] as const
const windows = scopes.flatMap((scope) =>
  overs.map((over) => ({
    name: `${scope}_${over}`,
    scope,
    over,
    spread: true,
    distinct: 'card.id',
    where: 'merchant.mid != "M3"',
    period: { trailing: '10m' },
  })),
)
const pack = {
  ...packOfFiles({
    'windows.yaml': JSON.stringify(windows),
    'a.rules.yaml': JSON.stringify([
      { id: 'r', when: 'windows.merchant_asks.sum + amount > 20', decline: '130', why: 'w' },
    ]),
  }),
  shared: createSharedTally(),
}

interface Asked {
  readonly event: CardEvent
  readonly atMs: number
  readonly approved: boolean
  readonly keys: Readonly<Record<SharedScope, string>>
}

/** All asks counted again, from the list of what was asked. */
function naive(asked: Asked[], scope: SharedScope, over: (typeof overs)[number], now: Asked) {
  const bucket = (atMs: number) => Math.floor(atMs / 10_000)
  const counted = asked.filter(
    ({ event, atMs, approved, keys }) =>
      keys[scope] === now.keys[scope] &&
      keys[scope] !== '' &&
      event.merchant.mid !== 'M3' &&
      bucket(atMs) > bucket(now.atMs) - 60 &&
      (over === 'asks' ||
        ((over === 'declines' ? !approved : approved) &&
          (over !== 'cash' || event.requestType === 'CashWithdrawal'))),
  )
  const minors = counted
    .filter(({ event }) => event.currency === now.event.currency)
    .map(({ event }) => event.amountMinor!)
  const sumMinor = minors.reduce((sum, minor) => sum + minor, 0)
  const mean = sumMinor / (minors.length || 1)
  const squares = minors.reduce((sum, minor) => sum + (minor - mean) ** 2, 0)
  return {
    sumMinor,
    count: counted.length,
    summed: minors.length,
    distinct: new Set(counted.map(({ event }) => event.cardId)).size,
    maxMinor: Math.max(0, ...minors),
    deviationMinor: Math.round(Math.sqrt(squares / (minors.length || 1))),
  }
}

it(`windows over several cards count what was asked of all of them (SEED=${seed})`, () => {
  const random = createRandom(seed)
  const ledger = createLedger()
  const cards = ['C1', 'C2', 'C3', 'C4'].map((cardId, i) => ({
    card: { ...cardOf(naiveCard({ cardId, accountId: `A${i}` })), customerId: `K${i % 2}` },
    organizationId: i === 3 ? '' : `O${i % 2}`,
    currency: i === 1 ? 'EUR' : 'USD',
  }))
  for (const { card, organizationId, currency } of cards) {
    const { accountId } = card
    const opening = { accountId, currency, country: 'NG', openingMinor: 9_000 }
    const account = { ...accountOf(opening), organizationId }
    const operation = { type: 'open', account, card, givesBalance: true } as const
    expect(ledger.operate(accountId, operation, pack, startMs)).toBeNull()
  }
  const asked: Asked[] = []
  let atMs = startMs
  for (let i = 0; i < 600; i++) {
    atMs += random.between(0, 40_000)
    const { card, organizationId, currency } = random.pick(cards)
    const merchant = {
      ...eventOf({ eventId: 'x' }).merchant,
      mid: random.pick(['M1', 'M2', 'M3', '']),
      mcc: random.pick(['5411', '6011']),
      country: random.pick(['NG', 'GB', '']),
    }
    const event = eventOf({
      eventId: `E${i}`,
      transactionId: `E${i}`,
      cardId: card.cardId,
      currency,
      requestType: random.pick(['Authorization', 'Authorization', 'CashWithdrawal', 'Settlement']),
      amountMinor: random.pick([0, 100, 250, 700]),
      merchant,
    })
    const keys = {
      merchant: merchant.mid,
      customer: card.customerId,
      organization: organizationId,
      mcc: merchant.mcc,
      country: merchant.country,
    }
    const delivery = { event, slot: event.eventId, receivedAtMs: atMs, said: null }
    const now = { event, atMs, approved: false, keys }
    const view = ledger.book(card.accountId)
    for (const window of pack.sharedWindows!) {
      const facts = {
        event,
        account: view.account()!,
        card: view.card(card.cardId)!,
        transaction: null as never,
        atMs,
        shared: pack.shared,
      }
      const ours = {
        ...sumsAt(window, facts),
        distinct: distinctAt(window, facts),
        ...spreadAt(window, facts),
      }
      const theirs = naive(asked, window.scope as SharedScope, window.over, now)
      expect(ours, `seed ${seed}, event ${i}, ${window.name}`).toEqual(theirs)
    }
    const step = ledger.deliver(delivery, pack)
    countShared(pack, event, step)
    // A duplicate is not counted again.
    if (random.chance(0.1)) countShared(pack, event, ledger.deliver(delivery, pack))
    // Nor is its id with other content, or an ask of a card that nobody knows.
    const strays = [
      { ...event, amountMinor: 990 },
      { ...event, eventId: `S${i}`, cardId: 'C9' },
    ]
    for (const stray of random.chance(0.1) ? strays : []) {
      countShared(pack, stray, ledger.deliver({ ...delivery, event: stray }, pack))
    }
    const counts = event.requestType !== 'Settlement' && event.amountMinor! > 0
    if (counts) asked.push({ ...now, approved: step.answer.code === '000' })
  }
  expect(asked.some(({ approved }) => approved)).toBe(true)
  expect(asked.some(({ approved }) => !approved)).toBe(true)
})

it('the condition of a window over several cards sees what rules see: the records before the ask', () => {
  const where = {
    new_here: '!merchant_seen',
    after_a_rest: 'minutes_since_last_ask >= 5',
    poor: 'account.available < 9960',
    after_declines: 'declines_in_row >= 1',
    first: 'transaction.asks == 0',
  }
  const shared = Object.entries(where).map(([name, condition]) => ({
    ...{ name, scope: 'merchant', over: 'asks', period: 'day', where: condition },
  }))
  const expected = (counts: number[]) =>
    Object.keys(where).map((name, i) => `${name}: { of: SHOP, count: ${counts[i]} }`)
  const tests = `
- name: each ask counts as it was met
  steps:
    - { send: Authorization, amount: 50, mid: SHOP, expect: approve, windows: { ${expected([1, 1, 0, 0, 1])} } }
    - { send: Authorization, amount: 600, mid: SHOP, expect: "129", windows: { ${expected([1, 1, 1, 0, 2])} } }
`
  const files = {
    'windows.yaml': JSON.stringify(shared),
    'a.rules.yaml': '- { id: large, when: amount > 500, decline: "129", why: w }',
    'a.test.yaml': tests,
  }
  expect(reportOf(files)).toEqual([])
})

it('forgets what was counted longest ago when there is too much', () => {
  const tally = createSharedTally(2)
  const at = countedPlace({ names: ['w'], mid: null }, 'card', 1, 1)
  for (const key of ['a', 'b', 'a', 'c']) tally.count([{ key, at, windowOldest: 1 }], 5)
  expect(tally.statesOf('a').w?.buckets[0]?.count).toBe(2)
  expect(tally.statesOf('b')).toEqual({})
})
