import { afterEach, expect, it } from 'vitest'
import { seedCards } from '../support/ledger-check.ts'
import { openRedisWorld, placeOf } from '../support/redis-world.ts'
import { readiness, send, until } from '../support/server.ts'

const { redis, serve, close } = openRedisWorld()
afterEach(close)

it('a Redis that can be read and is full is told of, with its reason, until it takes commits', {
  timeout: 60_000,
}, async () => {
  const full = await redis()
  await seedCards(placeOf(full.url), ['1000.00'])
  const server = await serve(full.url)
  let asks = 0
  const ask = async () => {
    const { body } = await send(server.url, { eventId: `ask-${asks++}`, cardId: 'card-0' })
    return body.decidedBy
  }
  // Lines are written some at a time.
  const told = (line: RegExp) => until(async () => line.test(server.output()), 20)
  await until(async () => (await ask()) === 'engine')
  await full.command('CONFIG', 'SET', 'maxmemory', '1mb')
  await until(async () => (await ask()) === 'default')
  const reason = expect.stringContaining('OOM')
  // It stays so though reads go on, and though nobody asks.
  for (let i = 0; i < 30; i++) {
    expect(await readiness(server)).toMatchObject({ store: 'unavailable', storeProblem: reason })
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  await told(/"problem":"[^"]*OOM[^"]*".*the store takes no commits/)
  await full.command('CONFIG', 'SET', 'maxmemory', '0')
  await until(async () => (await readiness(server)).store === 'available')
  expect(await readiness(server)).not.toHaveProperty('storeProblem')
  await until(async () => (await ask()) === 'engine')
  await told(/the store takes commits again/)
})

it('a Redis that refuses to write is told of before anybody asks', {
  timeout: 60_000,
}, async () => {
  const alone = await redis()
  const server = await serve(alone.url)
  await until(async () => (await readiness(server)).status === 'ready')
  await alone.command('CONFIG', 'SET', 'min-replicas-to-write', '1')
  await until(async () => (await readiness(server)).status === 'degraded')
  expect(await readiness(server)).toMatchObject({
    store: 'unavailable',
    storeProblem: expect.stringContaining('NOREPLICAS'),
  })
  await alone.command('CONFIG', 'SET', 'min-replicas-to-write', '0')
  await until(async () => (await readiness(server)).status === 'ready')
})
