import { afterEach, expect, it } from 'vitest'
import { checkLedger, seedCards } from '../support/ledger-check.ts'
import { openRedisWorld, placeOf } from '../support/redis-world.ts'
import { readiness, send, until } from '../support/server.ts'

const { redis, serve, close } = openRedisWorld()
afterEach(close)

it('a Redis that was flushed is no store: nothing is decided by it until its data is back', {
  timeout: 60_000,
}, async () => {
  const server = await redis({})
  const [cardId = ''] = await seedCards(placeOf(server.url), ['100.00'])
  const arbiter = await serve(server.url)
  const ask = async (eventId: string) => (await send(arbiter.url, { eventId, cardId })).body
  expect(await ask('e1')).toMatchObject({ responseCode: '000', decidedBy: 'engine' })
  await server.command('SAVE')

  await server.command('FLUSHALL')
  await until(async () => (await readiness(arbiter)).status === 'degraded', 10)
  expect(await readiness(arbiter)).toMatchObject({
    store: 'unavailable',
    storeProblem: expect.stringContaining('Redis has lost this store'),
  })
  expect(await ask('e2')).toMatchObject({ decision: 'decline', decidedBy: 'default' })
  const settlement = { requestType: 'Settlement', transactionId: 'txn-e1', final: true, cardId }
  const settle = () => send(arbiter.url, { ...settlement, eventId: 's1', amount: '1.00' })
  // A journal that is not flushed in time acknowledges nothing.
  await until(async () => (await settle()).status === 200)
  expect(await server.command('KEYS', '*')).toEqual([])

  await server.kill()
  await server.restart()
  await until(async () => {
    const { status, unbooked } = await readiness(arbiter)
    return status === 'ready' && unbooked === 0
  })
  expect(await ask('e3')).toMatchObject({ responseCode: '000', decidedBy: 'engine' })
  expect(await arbiter.stop()).toBe(0)
  expect(await checkLedger(placeOf(server.url), [])).toMatchObject({ differences: [] })
})
