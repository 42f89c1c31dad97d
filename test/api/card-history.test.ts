import { describe, expect, it } from 'vitest'
import { findDamage } from '../../src/backoffice/store-check.ts'
import { verifyStore } from '../../src/backoffice/verify.ts'
import { dayMs } from '../../src/clock.ts'
import { decimalsOf } from '../../src/domain/record/currency.ts'
import { createHistory } from '../support/card-history.ts'
import { openCardApi } from '../support/card-world.ts'
import { createMemoryState } from '../support/memory-store.ts'
import { seeded } from '../support/order.ts'

const histories = process.env.TORTURE ? 40 : 1
const steps = process.env.TORTURE ? 400 : 100

/** Two servers on one store, each with the API and the relay's port, and a model beside them. */
async function openHistory(seed: number) {
  const state = createMemoryState()
  // Of two, no and three decimals.
  const currency = ['USD', 'JPY', 'KWD'][seed % 3]!
  const one = await openCardApi({ state, currencies: [currency, 'USD'] })
  const two = await openCardApi({ state, like: one })
  const random = seeded(seed)
  await one.customer('holder', { type: 'business' })
  const amount = 100_000 / 10 ** decimalsOf(currency)
  await one.send('POST', `/wallets/${currency}/fund`, { amount })
  let references = 0
  const server = () => {
    // Clocks of two servers are about the same.
    const ms = Math.max(one.time.ms, two.time.ms)
    one.time.ms = ms
    two.time.ms = ms
    return random() < 0.5 ? one : two
  }
  // Both servers have the same client.
  const sendTo = (given: typeof one) => (method: string, path: string, body?: unknown) =>
    given.send(method, path, body, `History-${references++}`)
  /** Under one Reference to both servers at once: one effect, and who has not had it hears 139 or the same. */
  async function race(method: string, path: string, body?: unknown) {
    const reference = `History-${references++}`
    server()
    const both = [one, two].map((each) => each.send(method, path, body, reference))
    const [first, ...others] = (await Promise.all(both)).filter(({ said }) => said !== '400 139')
    for (const other of others)
      expect(other).toMatchObject({ said: first!.said, data: first!.data })
    return first!
  }
  const history = createHistory(
    {
      send: (method, path, body) => {
        if (method === 'POST' && random() < 0.2) return race(method, path, body)
        return sendTo(server())(method, path, body)
      },
      async ask({ mid, ...event }) {
        const merchant = { mid, mcc: '5411', name: '', city: '', country: 'US' }
        const { code } = await server().engine.ask({ ...event, currency, merchant })
        return code
      },
      async settle(event) {
        await server().engine.ask({ ...event, currency, requestType: 'Settlement' })
      },
      async setLimit({ cardId, accountId }, transactionLimitMinor) {
        const set = { transactionLimitMinor }
        const operation = { type: 'changeCard', cardId, set } as const
        expect(await server().engine.operate(accountId, operation, 'limits')).toMatchObject({
          refused: '',
        })
      },
    },
    random,
    currency,
  )
  return { one, two, history, sendTo }
}

describe('random histories of calls, events and commands on two servers', () => {
  it('agree with a model that knows nothing of servers', async () => {
    for (let i = 0; i < histories; i++) {
      const seed = process.env.SEED ? Number(process.env.SEED) : Math.floor(Math.random() * 1e9)
      try {
        const { one, two, history, sendTo } = await openHistory(seed)
        for (let n = 0; n < steps; n++) await history.step()
        for (const server of [one, two]) await history.compare(sendTo(server))
        const { differences } = await verifyStore(one.store, 45 * dayMs)
        expect(differences).toEqual([])
        for await (const damage of findDamage(one.store, () => {})) expect(damage).toBeNull()
        expect([...one.bugs, ...two.bugs]).toEqual([])
      } catch (error) {
        throw new Error(`SEED=${seed}: ${(error as Error).message}`, { cause: error })
      }
    }
  }, 1_800_000)
})
