import { describe, expect, it } from 'vitest'
import { openCardApi } from '../support/card-world.ts'
import { createMemoryState, type Fault } from '../support/memory-store.ts'

const body = { customerId: 'customer-1', balance: 50, swipeCount: 3 }
const reference = 'Issue-1'

/** A server that dies at one commit of its first issue, and another one on the same store. */
async function openPair(at: number, executed: boolean) {
  const state = createMemoryState()
  const count = { armed: false, commits: 0 }
  const faults = (): Fault => {
    if (!count.armed) return { kind: 'none' }
    return count.commits++ === at ? { kind: 'dies', executed } : { kind: 'none' }
  }
  const first = await openCardApi({ state, faults })
  const second = await openCardApi({ state, like: first })
  await second.send('POST', '/wallets/USD/fund', { amount: 100 }, 'Fund')
  return { first, second, count }
}

type Server = Awaited<ReturnType<typeof openCardApi>>

let asked = 0
async function moneyOf({ send }: Server) {
  const next = () => `Look-${asked++}`
  const wallets = (await send('GET', '/wallets', undefined, next())).data.items
  const cards = (await send('GET', '/customers/customer-1', undefined, next())).data.cards
  return { wallet: wallets[0].balance, issued: cards - 2 }
}

/** Bind, look at the wallet, debit, directory, credit, close. */
const commitsOf = 6
const places = Array.from({ length: commitsOf }, (_, at) => [at, false] as const).flatMap(
  ([at]) => [[at, false] as const, [at, true] as const],
)

describe('a server that is killed while it issues a card with money', () => {
  it('makes so many commits', async () => {
    const { first, count } = await openPair(-1, false)
    count.armed = true
    expect((await first.send('POST', '/cards/lite', body, reference)).said).toBe('200 000')
    expect(count.commits).toBe(commitsOf)
  })

  it.each(places)(
    'at commit %i, executed: %s, leaves one card for whoever asks again',
    async (at, executed) => {
      const { first, second, count } = await openPair(at, executed)
      count.armed = true
      const lost = first.send('POST', '/cards/lite', body, reference).catch(() => null)
      while (count.commits <= at) await new Promise((resolve) => setTimeout(resolve, 1))
      second.time.ms += 1_000
      const { said, data } = await second.send('POST', '/cards/lite', body, reference)
      expect(['200 000', '400 139']).toContain(said)
      expect(await moneyOf(second)).toEqual({ wallet: 50, issued: 1 })
      if (said === '200 000') expect(data.balances.available).toBe(50)
      const again = await second.send('POST', '/cards/lite', body, reference)
      expect(again.said).toBe('400 139')
      expect(await moneyOf(second)).toEqual({ wallet: 50, issued: 1 })
      void lost
    },
  )
})
