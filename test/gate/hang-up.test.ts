import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { accountIdOf, showAccount } from '../../src/engine/show.ts'
import { openStore } from '../../src/store/open.ts'
import { seedCards } from '../support/ledger-check.ts'
import { bodyOf } from '../support/relay.ts'
import { fastFolder, readiness, readMetric, startServer, until } from '../support/server.ts'

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

const asks = 20

/** What accounts hold after relays that hung up on every ask: some would still listen, some are gone. */
async function heldAfterHangUps(defaultDecision: string, balance: string): Promise<number[]> {
  const folder = fastFolder()
  endings.push(folder.remove)
  const cards = await seedCards(folder.path, Array(asks).fill(balance))
  const env = { DEFAULT_DECISION: defaultDecision }
  const server = await startServer({ dataDir: folder.path, disturbable: true, env })
  endings.push(server.kill)
  server.disturb({ type: 'hang', ms: 150 })
  await sleep(20)
  for (const [i, cardId] of cards.entries()) {
    const ids = { eventId: `e${i}`, transactionId: `t${i}`, cardId, amountMinor: 1_000 }
    const body = bodyOf({ ...ids, requestType: 'Authorization', final: null })
    const head = `POST /authorize HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    socket.on('error', () => {})
    socket.write(Buffer.concat([Buffer.from(head), body]))
    // Before the engine wakes up. What was sent arrives all the same.
    setTimeout(() => (i % 2 === 0 ? socket.end() : socket.destroy()), 40)
  }
  await until(async () => (await readMetric(server, 'arbiter_unheard')) > 0)
  // On a busy machine the watchdog has spoken for some, and nobody has heard that either.
  await until(async () => (await readMetric(server, 'arbiter_slots_open')) === 0)
  await until(async () => (await readiness(server)).unbooked === 0)
  expect(await server.stop()).toBe(0)
  const store = await openStore({ redis: null, dataDir: folder.path }, systemClock.nowMs)
  endings.push(store.close)
  const held = cards.map(async (cardId) => {
    const account = await showAccount(store, (await accountIdOf(store, cardId))!)
    return account!.heldMinor as number
  })
  return Promise.all(held)
}

it('a relay that hung up on an approval has declined by default: nothing is held', async () => {
  expect(await heldAfterHangUps('decline', '100.00')).toEqual(Array(asks).fill(0))
})

it('a relay that hung up on a decline has approved by default: the amount is held', async () => {
  expect(await heldAfterHangUps('approve', '1.00')).toEqual(Array(asks).fill(1_000))
})
