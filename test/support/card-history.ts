import { expect } from 'vitest'
import { decimalsOf } from '../../src/domain/record/currency.ts'
import type { ApiAnswer } from './api-client.ts'
import { createNaiveCards, type NaiveCard, type NaiveCards } from './naive-cards.ts'

/** A way to call, ask and command, through whichever of several servers. */
export interface HistoryPlace {
  /** A call under a Reference of its own, to its definite end. */
  send(method: string, path: string, body?: unknown): Promise<Said>
  /** The code that the engine gave; '' when the default was said instead, and is booked by now. */
  ask(event: HistoryAsk): Promise<string>
  settle(event: Omit<HistoryAsk, 'mid'> & { readonly transactionId: string }): Promise<void>
  /** As a command of the command line does it, beside the servers. */
  setLimit(card: NaiveCard, limitMinor: number | null): Promise<void>
}

type Said = Pick<ApiAnswer, 'said' | 'data'>

interface HistoryAsk {
  readonly eventId: string
  readonly cardId: string
  readonly amountMinor: number
  readonly mid: string
}

/** Random calls, events and commands, with a model beside them that says what is due for each. */
export interface History {
  readonly model: NaiveCards
  step(): Promise<void>
  /** Compares what a server shows of everything. */
  compare(send: HistoryPlace['send']): Promise<void>
}

const mids = ['MID-0', 'MID-1', 'MID-2', 'MID-3']

interface Running extends HistoryPlace {
  readonly random: () => number
  readonly pick: <T>(values: readonly T[]) => T
  readonly next: () => number
  readonly model: NaiveCards
  readonly holds: { cardId: string; transactionId: string; amountMinor: number }[]
  /** The minor units of one major unit, which must stay on a card. */
  readonly unit: number
  readonly major: (minor: number) => number
}

/** There must be a business customer `holder`, and 100,000 minor units of the currency in the wallet. */
export function createHistory(
  place: HistoryPlace,
  random: () => number,
  currency = 'USD',
): History {
  const model = createNaiveCards()
  const unit = 10 ** decimalsOf(currency)
  model.walletMinor = 100_000
  let numbers = 0
  const running: Running = {
    ...place,
    random,
    pick: (values) => values[Math.floor(random() * values.length)]!,
    next: () => ++numbers,
    model,
    holds: [],
    unit,
    major: (minor) => minor / unit,
  }
  return {
    model,
    step: () => step(running),
    compare: (send) => compare(running, currency, send),
  }
}

async function issue({ send, pick, model, major }: Running): Promise<void> {
  const kind = pick(['retail', 'corporate', 'lite', 'shared', 'own'])
  const customerId = 'holder'
  const originals = [...model.cards.values()].filter(({ swipesLeft }) => swipesLeft === null)
  const original = originals.length === 0 ? null : pick(originals)
  if (kind === 'shared' && original !== null) {
    const { cardId } = original
    const body = { customerId, sharedBalance: true, cardId }
    const { said, data } = await send('POST', '/cards/reissue', body)
    if (model.owes()) return void expect(said).toBe('422 161')
    expect(said).toBe('200 000')
    model.open(data.cardId, original.accountId, copyOf(original))
    return
  }
  const newest = originals.at(-1)
  if (kind === 'own') {
    const body = { customerId, sharedBalance: false, initialBalance: major(300) }
    const { said, data } = await send('POST', '/cards/reissue', body)
    if (newest === undefined) return void expect(said).toBe('404 148')
    if (model.owes()) return void expect(said).toBe('422 161')
    if (model.walletMinor < 300) return void expect(said).toBe('422 116')
    expect(said).toBe('200 000')
    model.open(data.cardId, data.accountId, copyOf(newest))
    model.walletMinor -= 300
    model.money.get(data.accountId)!.postedMinor += 300
    return
  }
  if (kind !== 'lite') {
    const { said, data } = await send('POST', '/cards/retail', { customerId })
    if (model.owes()) return void expect(said).toBe('422 161')
    expect(said).toBe('200 000')
    model.open(data.cardId, data.accountId)
    return
  }
  const swipesLeft = pick([1, 2, 3])
  const { said, data } = await send('POST', '/cards/lite', {
    customerId,
    balance: major(5_000),
    swipeCount: swipesLeft,
  })
  if (model.owes()) return void expect(said).toBe('422 161')
  if (model.walletMinor < 5_000) return void expect(said).toBe('422 116')
  expect(said).toBe('200 000')
  model.open(data.cardId, data.accountId, { swipesLeft })
  model.walletMinor -= 5_000
  model.money.get(data.accountId)!.postedMinor += 5_000
}

function copyOf({ limitMinor, allowed, blocked }: NaiveCard): Partial<NaiveCard> {
  return { limitMinor, allowed: new Set(allowed), blocked: new Set(blocked) }
}

async function control({ send, pick, random }: Running, card: NaiveCard): Promise<void> {
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

async function setStatus({ send, pick }: Running, card: NaiveCard): Promise<void> {
  const name = pick(['freeze', 'freeze', 'unfreeze', 'unfreeze', 'terminate'])
  const { said } = await send('POST', `/cards/${card.cardId}/${name}`)
  if (card.status === 'Terminated' && name !== 'terminate') return void expect(said).toBe('422 143')
  expect(said).toBe('200 000')
  card.status = ({ freeze: 'Frozen', unfreeze: 'Active', terminate: 'Terminated' } as const)[name]!
}

async function ask(running: Running, card: NaiveCard): Promise<void> {
  const { pick, model, holds, next, send } = running
  const { cardId } = card
  const amountMinor = pick([50, 100, 200, 450])
  const mid = pick(mids)
  const eventId = `evt-${next()}`
  const code = await running.ask({ eventId, cardId, amountMinor, mid })
  if (code === '') {
    // Nothing is held, but an unblock may have been used by the engine before it was too late.
    const { data } = await send('GET', `/cards/${cardId}`)
    expect([...card.unblocked]).toEqual(expect.arrayContaining(data.unblockedMids))
    if (!data.unblockedMids.includes(mid)) card.unblocked.delete(mid)
    return
  }
  expect([card, code]).toEqual([card, model.ask(cardId, mid, amountMinor)])
  if (code === '000') holds.push({ cardId, transactionId: eventId, amountMinor })
}

/** What a transfer is refused for: the first that is true. */
function firstOf(...refusals: readonly (readonly [isTrue: boolean, code: string])[]): string {
  return refusals.find(([isTrue]) => isTrue)?.[1] ?? '200 000'
}

async function topUp({ send, model, major }: Running, card: NaiveCard): Promise<void> {
  const amount = String(major(250))
  const { said } = await send('POST', `/cards/${card.cardId}/topup`, { amount })
  const due = firstOf(
    [card.status === 'Terminated', '422 143'],
    [card.swipesLeft !== null, '422 119'],
    [model.walletMinor < 250, '422 116'],
  )
  expect(said).toBe(due)
  if (due === '200 000') give(model, card, 250)
}

async function withdraw(running: Running, card: NaiveCard): Promise<void> {
  const { send, model, pick, unit, major } = running
  const available = model.availableOn(card)
  const amountMinor = pick([50, 100, Math.max(1, available), Math.max(1, available - unit)])
  const amount = major(amountMinor)
  const { said } = await send('POST', `/cards/${card.cardId}/withdrawal`, { amount })
  const isOver = model.isOver(card)
  const due = firstOf(
    [card.swipesLeft !== null && card.status !== 'Terminated', '422 119'],
    [amountMinor > available - (isOver ? 0 : unit), '422 116'],
  )
  expect(said).toBe(due)
  if (due === '200 000') give(model, card, -amountMinor)
}

async function move({ send, model, pick, major }: Running, card: NaiveCard): Promise<void> {
  const other = pick([...model.cards.values()])
  const amountMinor = pick([50, 200])
  const body = { sourceCardId: card.cardId, beneficiaryCardId: other.cardId }
  const { said } = await send('POST', '/cards/transfer', { ...body, amount: major(amountMinor) })
  const either = (isTrue: (one: NaiveCard) => boolean) => [card, other].some(isTrue)
  const due = firstOf(
    [card === other, '400 131'],
    [either(({ status }) => status === 'Terminated'), '422 143'],
    [either(({ status }) => status === 'Frozen'), '422 117'],
    [either(({ swipesLeft }) => swipesLeft !== null), '422 119'],
    [card.accountId === other.accountId, '422 119'],
    [amountMinor > model.availableOn(card), '422 116'],
  )
  expect(said).toBe(due)
  if (due !== '200 000') return
  model.money.get(card.accountId)!.postedMinor -= amountMinor
  model.money.get(other.accountId)!.postedMinor += amountMinor
}

async function regularize({ send, model }: Running, card: NaiveCard): Promise<void> {
  const { said } = await send('POST', `/cards/${card.cardId}/regularize`)
  const owedMinor = -model.money.get(card.accountId)!.postedMinor
  const due = firstOf(
    [!model.isOver(card) || owedMinor <= 0, '422 119'],
    [model.walletMinor < owedMinor, '422 116'],
  )
  expect(said).toBe(due)
  if (due === '200 000') give(model, card, owedMinor)
}

/** From the wallet, or below zero back to it. */
function give(model: NaiveCards, { accountId }: NaiveCard, amountMinor: number): void {
  model.walletMinor -= amountMinor
  model.money.get(accountId)!.postedMinor += amountMinor
}

async function step(running: Running): Promise<void> {
  const { model, pick, random, holds, next } = running
  const roll = random()
  if (model.cards.size === 0 || roll < 0.1) return issue(running)
  const card = pick([...model.cards.values()])
  if (roll < 0.3) return control(running, card)
  if (roll < 0.4) return setStatus(running, card)
  if (roll < 0.5) {
    if (card.status === 'Terminated') return
    const limitMinor = pick([null, 100, 300])
    await running.setLimit(card, limitMinor)
    card.limitMinor = limitMinor
    return
  }
  if (roll < 0.65) return pick([topUp, topUp, withdraw, move, regularize])(running, card)
  if (roll < 0.75 && holds.length > 0) {
    const [held] = holds.splice(Math.floor(random() * holds.length), 1)
    const heldMinor = held!.amountMinor
    const amountMinor = heldMinor + pick([0, 0, 0, 700])
    await running.settle({ ...held!, amountMinor, eventId: `evt-${next()}` })
    model.settle(held!.cardId, heldMinor, amountMinor)
    return
  }
  return ask(running, card)
}

async function compare(
  { model, major }: Running,
  currency: string,
  send: HistoryPlace['send'],
): Promise<void> {
  const wallets: { currency: string }[] = (await send('GET', '/wallets')).data.items
  expect(wallets.find((wallet) => wallet.currency === currency)).toMatchObject({
    balance: major(model.walletMinor),
  })
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
      balances: { posted: major(postedMinor), held: major(heldMinor) },
    })
    const { whiteListedMids, blackListedMids, unblockedMids } = data
    const sizes = [whiteListedMids, blackListedMids, unblockedMids].map(({ length }) => length)
    expect(sizes).toEqual([card.allowed.size, card.blocked.size, card.unblocked.size])
  }
}
