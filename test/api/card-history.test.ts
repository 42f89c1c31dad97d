import { describe, expect, it } from 'vitest'
import { verifyStore } from '../../src/backoffice/verify.ts'
import { dayMs } from '../../src/clock.ts'
import { openCardApi } from '../support/card-world.ts'
import { createMemoryState } from '../support/memory-store.ts'
import { createNaiveCards, type NaiveCard } from '../support/naive-cards.ts'
import { seeded } from '../support/order.ts'

const mids = ['MID-0', 'MID-1', 'MID-2', 'MID-3']
const histories = process.env.TORTURE ? 40 : 1
const steps = process.env.TORTURE ? 400 : 100

/** Two servers on one store, each with the API and the relay's port, and a model beside them. */
async function openHistory(seed: number) {
  const state = createMemoryState()
  const one = await openCardApi({ state })
  const two = await openCardApi({ state, like: one })
  const servers = [one, two]
  const random = seeded(seed)
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!
  const model = createNaiveCards()
  await one.customer('holder', { type: 'business' })
  await one.send('POST', '/wallets/USD/fund', { amount: 1000 })
  model.walletMinor = 100_000
  let numbers = 0
  const holds: { cardId: string; transactionId: string; amountMinor: number }[] = []
  const server = () => {
    // Clocks of two servers are about the same.
    const ms = Math.max(one.time.ms, two.time.ms)
    one.time.ms = ms
    two.time.ms = ms
    return pick(servers)
  }
  const next = () => ++numbers
  // Both servers have the same client.
  const send = async (method: string, path: string, body?: unknown) =>
    server().send(method, path, body, `History-${next()}`)
  return { one, two, random, pick, model, holds, send, server, next }
}

type History = Awaited<ReturnType<typeof openHistory>>

async function issue({ send, pick, model }: History): Promise<void> {
  const kind = pick(['retail', 'corporate', 'lite', 'shared', 'own'])
  const customerId = 'holder'
  const originals = [...model.cards.values()].filter(({ swipesLeft }) => swipesLeft === null)
  const original = originals.length === 0 ? null : pick(originals)
  if (kind === 'shared' && original !== null) {
    const { cardId } = original
    const body = { customerId, sharedBalance: true, cardId }
    const { said, data } = await send('POST', '/cards/reissue', body)
    expect(said).toBe('200 000')
    model.open(data.cardId, original.accountId, copyOf(original))
    return
  }
  const newest = originals.at(-1)
  if (kind === 'own') {
    const body = { customerId, sharedBalance: false, initialBalance: 3 }
    const { said, data } = await send('POST', '/cards/reissue', body)
    if (newest === undefined) return void expect(said).toBe('404 148')
    if (model.walletMinor < 300) return void expect(said).toBe('422 116')
    expect(said).toBe('200 000')
    model.open(data.cardId, data.accountId, copyOf(newest))
    model.walletMinor -= 300
    model.money.get(data.accountId)!.postedMinor += 300
    return
  }
  if (kind !== 'lite') {
    const { said, data } = await send('POST', '/cards/retail', { customerId })
    expect(said).toBe('200 000')
    model.open(data.cardId, data.accountId)
    return
  }
  const swipesLeft = pick([1, 2, 3])
  const { said, data } = await send('POST', '/cards/lite', {
    customerId,
    balance: 50,
    swipeCount: swipesLeft,
  })
  if (model.walletMinor < 5_000) return void expect(said).toBe('422 116')
  expect(said).toBe('200 000')
  model.open(data.cardId, data.accountId, { swipesLeft })
  model.walletMinor -= 5_000
  model.money.get(data.accountId)!.postedMinor += 5_000
}

function copyOf({ limitMinor, allowed, blocked }: NaiveCard): Partial<NaiveCard> {
  return { limitMinor, allowed: new Set(allowed), blocked: new Set(blocked) }
}

async function control({ send, pick, random }: History, card: NaiveCard): Promise<void> {
  const path = pick([
    'blacklist',
    'blacklist/remove',
    'whitelist',
    'whitelist/remove',
    'unblock-once',
  ])
  const given = mids.filter(() => random() < 0.4)
  if (given.length === 0) return
  const answer = await send('POST', `/cards/${card.cardId}/merchants/${path}`, { mids: given })
  if (card.status === 'Terminated') return void expect(answer.said).toBe('422 143')
  const enter = (list: Set<string>, mid: string, done: string) => {
    const isNew = !list.has(mid)
    list.add(mid)
    return isNew ? done : 'Unchanged'
  }
  const leave = (list: Set<string>, mid: string) => (list.delete(mid) ? 'Removed' : 'Unchanged')
  const { allowed, blocked, unblocked } = card
  const expected = given.map((mid) => {
    if (path === 'blacklist') return enter(blocked, mid, 'Added')
    if (path === 'whitelist') return enter(allowed, mid, 'Added')
    if (path === 'whitelist/remove') return leave(allowed, mid)
    if (path === 'unblock-once') {
      return blocked.has(mid) ? enter(unblocked, mid, 'Unblocked') : 'Failed'
    }
    unblocked.delete(mid)
    return leave(blocked, mid)
  })
  expect(answer.data.results.map((one: { result: string }) => one.result)).toEqual(expected)
  expect(answer.data.whitelistInForce).toBe(card.allowed.size > 0)
}

async function setStatus({ send, pick }: History, card: NaiveCard): Promise<void> {
  const name = pick(['freeze', 'freeze', 'unfreeze', 'unfreeze', 'terminate'])
  const { said } = await send('POST', `/cards/${card.cardId}/${name}`)
  if (card.status === 'Terminated' && name !== 'terminate') return void expect(said).toBe('422 143')
  expect(said).toBe('200 000')
  card.status = ({ freeze: 'Frozen', unfreeze: 'Active', terminate: 'Terminated' } as const)[name]!
}

async function ask(history: History, card: NaiveCard): Promise<void> {
  const { pick, model, holds, server, next } = history
  const amountMinor = pick([50, 100, 200, 450])
  const mid = pick(mids)
  const eventId = `evt-${next()}`
  const merchant = { mid, mcc: '5411', name: '', city: '', country: 'US' }
  const { code } = await server().engine.ask({
    eventId,
    cardId: card.cardId,
    amountMinor,
    merchant,
  })
  expect([card, code]).toEqual([card, model.ask(card.cardId, mid, amountMinor)])
  if (code === '000') holds.push({ cardId: card.cardId, transactionId: eventId, amountMinor })
}

/** As a command of the command line does it, beside the servers. */
async function command({ server, pick }: History, card: NaiveCard): Promise<void> {
  if (card.status === 'Terminated') return
  const limitMinor = pick([null, 100, 300])
  const set = { transactionLimitMinor: limitMinor }
  const operation = { type: 'changeCard', cardId: card.cardId, set } as const
  const { refused } = await server().engine.operate(card.accountId, operation, 'limits')
  expect(refused).toBe('')
  card.limitMinor = limitMinor
}

async function step(history: History): Promise<void> {
  const { model, pick, random, send, server, holds, next } = history
  const roll = random()
  if (model.cards.size === 0 || roll < 0.1) return issue(history)
  const card = pick([...model.cards.values()])
  if (roll < 0.3) return control(history, card)
  if (roll < 0.4) return setStatus(history, card)
  if (roll < 0.5) return command(history, card)
  if (roll < 0.6) {
    const { said } = await send('POST', `/cards/${card.cardId}/topup`, { amount: '2.50' })
    if (said !== '200 000') {
      const short = model.walletMinor < 250
      const closed = card.status === 'Terminated'
      const lite = card.swipesLeft !== null
      return void expect(said).toBe(closed ? '422 143' : lite ? '422 119' : short ? '422 116' : '')
    }
    model.walletMinor -= 250
    model.money.get(card.accountId)!.postedMinor += 250
    return
  }
  if (roll < 0.7 && holds.length > 0) {
    const [held] = holds.splice(Math.floor(random() * holds.length), 1)
    const settled = { ...held!, eventId: `evt-${next()}`, requestType: 'Settlement' } as const
    await server().engine.ask(settled)
    model.settle(held!.cardId, held!.amountMinor)
    return
  }
  return ask(history, card)
}

async function compare({ one, two, model, next }: History): Promise<void> {
  for (const server of [one, two]) {
    const send = (method: string, path: string) =>
      server.send(method, path, undefined, `Compare-${next()}`)
    expect((await send('GET', '/wallets')).data.items[0].balance).toBe(model.walletMinor / 100)
    expect((await send('GET', '/customers/holder')).data.cards).toBe(model.cards.size)
    for (const card of model.cards.values()) {
      const { postedMinor, heldMinor } = model.money.get(card.accountId)!
      const { data } = await send('GET', `/cards/${card.cardId}`)
      expect(data).toMatchObject({
        status: card.status,
        swipesLeft: card.swipesLeft,
        whiteListedMids: expect.arrayContaining([...card.allowed]),
        blackListedMids: expect.arrayContaining([...card.blocked]),
        unblockedMids: expect.arrayContaining([...card.unblocked]),
        balances: { posted: postedMinor / 100, held: heldMinor / 100 },
      })
      const { whiteListedMids, blackListedMids, unblockedMids } = data
      const sizes = [whiteListedMids, blackListedMids, unblockedMids].map(({ length }) => length)
      expect(sizes).toEqual([card.allowed.size, card.blocked.size, card.unblocked.size])
    }
  }
}

describe('random histories of calls, events and commands on two servers', () => {
  it('agree with a model that knows nothing of servers', async () => {
    for (let i = 0; i < histories; i++) {
      const seed = process.env.SEED ? Number(process.env.SEED) : Math.floor(Math.random() * 1e9)
      try {
        const history = await openHistory(seed)
        for (let n = 0; n < steps; n++) await step(history)
        await compare(history)
        const { differences } = await verifyStore(history.one.store, 45 * dayMs)
        expect(differences).toEqual([])
        expect([...history.one.bugs, ...history.two.bugs]).toEqual([])
      } catch (error) {
        throw new Error(`SEED=${seed}: ${(error as Error).message}`, { cause: error })
      }
    }
  }, 1_800_000)
})
