import { describe, expect, it } from 'vitest'
import { openCardApi } from '../support/card-world.ts'
import { createMemoryState, type Fault } from '../support/memory-store.ts'

const torture = process.env.TORTURE === '1'
const reference = 'Issue-1'
const funded = 100

/** Every way to issue a card, with what the wallet pays for it. */
const kinds = {
  retail: { path: '/cards/retail', body: { customerId: 'customer-1' }, paid: 0 },
  corporate: { path: '/cards/corporate', body: { customerId: 'customer-2' }, paid: 0 },
  lite: {
    path: '/cards/lite',
    body: { customerId: 'customer-1', balance: 50, swipeCount: 3 },
    paid: 50,
  },
  'reissue, shared': {
    path: '/cards/reissue',
    body: {
      customerId: 'customer-1',
      sharedBalance: true,
      cardId: 'card-1',
      terminateOriginal: true,
    },
    paid: 0,
  },
  'reissue, own': {
    path: '/cards/reissue',
    body: { customerId: 'customer-1', sharedBalance: false, initialBalance: 30 },
    paid: 30,
  },
} as const
type Kind = keyof typeof kinds

/** A server that dies at one commit of its first issue, and another one on the same store. */
async function openPair(at: number, executed: boolean) {
  const state = createMemoryState()
  const count = { armed: false, commits: 0 }
  const faults = (): Fault => {
    if (!count.armed) return { kind: 'none' }
    return count.commits++ === at ? { kind: 'dies', executed } : { kind: 'none' }
  }
  const cardNumbers = { source: 'sandbox', bin: '999999' } as const
  const first = await openCardApi({ state, faults, cardNumbers })
  const second = await openCardApi({ state, like: first, cardNumbers })
  await second.customer('customer-2', { type: 'business' })
  await second.send('POST', '/wallets/USD/fund', { amount: funded }, 'Fund')
  return { first, second, count }
}

type Server = Awaited<ReturnType<typeof openCardApi>>

let asked = 0
async function look({ send }: Server, customerId: string) {
  const get = async (path: string) => (await send('GET', path, undefined, `Look-${asked++}`)).data
  const { items } = await get(`/cards?customerId=${customerId}`)
  const known = ['card-1', 'card-2']
  const made = items.filter(({ cardId }: { cardId: string }) => !known.includes(cardId))
  return {
    wallet: (await get('/wallets')).items[0].balance,
    made,
    numbers: await Promise.all(
      made.map(async ({ cardId }: { cardId: string }) => (await get(`/cards/${cardId}/full`)).pan),
    ),
    original: (await get('/cards/card-1')).status,
  }
}

/** All of it or nothing; resolves to whether it was issued. */
async function expectWhole(server: Server, kind: Kind): Promise<boolean> {
  const { body, paid } = kinds[kind]
  const { wallet, made, numbers, original } = await look(server, body.customerId)
  expect(made.length).toBeLessThanOrEqual(1)
  const isIssued = made.length === 1
  expect(wallet).toBe(isIssued ? funded - paid : funded)
  const ends = isIssued && kind === 'reissue, shared'
  expect(original).toBe(ends ? 'Terminated' : 'Active')
  if (!isIssued) return false
  expect(made[0].balances.posted).toBe(kind === 'reissue, shared' ? 100 : paid)
  expect(numbers[0]).toMatch(/^999999\d{10}$/)
  return true
}

/** Calls with every commit as the last; resolves to how many it has. */
async function dieEverywhere(
  kind: Kind,
  after: (server: Server, at: number) => Promise<void>,
): Promise<number> {
  const { path, body } = kinds[kind]
  for (let at = 0; ; at++) {
    for (const executed of torture ? [false, true] : [at % 2 === 1]) {
      const { first, second, count } = await openPair(at, executed)
      count.armed = true
      const call = first.send('POST', path, body, reference).catch(() => null)
      let isAnswered = false
      void call.then(() => {
        isAnswered = true
      })
      while (count.commits <= at && !isAnswered) {
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
      if (isAnswered) {
        expect((await call)?.said).toBe('200 000')
        expect(await expectWhole(second, kind)).toBe(true)
        return at
      }
      await after(second, at)
    }
  }
}

describe.each(Object.keys(kinds) as Kind[])(
  'a server that is killed while it issues %s',
  (kind) => {
    it('leaves one card for whoever asks again, at every commit', async () => {
      const { path, body } = kinds[kind]
      const commits = await dieEverywhere(kind, async (second) => {
        second.time.ms += 1_000
        const { said } = await second.send('POST', path, body, reference)
        expect(['200 000', '400 139']).toContain(said)
        expect(await expectWhole(second, kind)).toBe(true)
        expect((await second.send('POST', path, body, reference)).said).toBe('400 139')
        expect(await expectWhole(second, kind)).toBe(true)
      })
      expect(commits).toBeGreaterThanOrEqual(4)
    })

    it('leaves one card or none when nobody asks again, at every commit', async () => {
      const issued: boolean[] = []
      await dieEverywhere(kind, async (second) => {
        second.time.ms += 20_000
        await second.sweeper.sweep()
        expect(second.sweeper.open.count).toBeLessThanOrEqual(1)
        issued.push(await expectWhole(second, kind))
        await second.sweeper.sweep()
        expect(second.sweeper.open.count).toBe(0)
      })
      // What was never debited is nothing; what was, goes on to its end.
      expect(issued.toSorted()).toEqual(issued)
      expect(issued).toContain(true)
      expect(issued).toContain(false)
    })
  },
)
