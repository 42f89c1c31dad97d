import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { accountIdOf, showAccount } from '../../src/backoffice/show.ts'
import { systemClock } from '../../src/clock.ts'
import { openStore } from '../../src/store/open.ts'
import { seedCards } from '../support/ledger-check.ts'
import { bodyOf } from '../support/relay.ts'
import { fastFolder, readiness, readMetric, startServer, until } from '../support/server.ts'

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

const asks = 20
const amountMinor = 1_000
/** The engine hangs longer, so hardly any ask is answered before. */
const hangUpMs = 40

/** What the relay heard of an ask before its connection ended; '' is nothing. */
type Heard = '' | 'approve' | 'decline'

/** Sends an ask, says soon that it will send nothing more, and listens to the end. */
function askAndHangUp(port: number, cardId: string, i: number): Promise<Heard> {
  const ids = { eventId: `e${i}`, transactionId: `t${i}`, cardId, amountMinor }
  const body = bodyOf({ ...ids, requestType: 'Authorization', final: null })
  const head = `POST /authorize HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  let text = ''
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.write(Buffer.concat([Buffer.from(head), body]))
  setTimeout(() => socket.end(), hangUpMs)
  return new Promise((resolve) => {
    const finish = () => resolve((/"decision":"(\w+)"/.exec(text)?.[1] ?? '') as Heard)
    socket.on('end', finish)
    socket.on('close', finish)
  })
}

async function hangUp(defaultDecision: 'approve' | 'decline', balance: string) {
  const folder = fastFolder()
  endings.push(folder.remove)
  const cards = await seedCards(folder.path, Array(asks).fill(balance))
  const env = { DEFAULT_DECISION: defaultDecision }
  const server = await startServer({ dataDir: folder.path, disturbable: true, env })
  endings.push(server.kill)
  const port = Number(new URL(server.url).port)
  server.disturb({ type: 'hang', ms: 150 })
  await sleep(20)
  const heard = await Promise.all(cards.map((cardId, i) => askAndHangUp(port, cardId, i)))
  await until(async () => (await readMetric(server, 'arbiter_slots_open')) === 0)
  await until(async () => (await readiness(server)).unbooked === 0)
  expect(await server.stop()).toBe(0)
  const store = await openStore({ redis: null, dataDir: folder.path }, systemClock.nowMs)
  endings.push(store.close)
  const held = cards.map(async (cardId) => {
    const account = await showAccount(store, (await accountIdOf(store, cardId))!)
    return account!.heldMinor as number
  })
  return { heard, held: await Promise.all(held) }
}

for (const [defaultDecision, balance, decided] of [
  ['decline', '100.00', 'approve'],
  ['approve', '1.00', 'decline'],
] as const) {
  it(`a relay that hung up on ${decided} has done ${defaultDecision} by default, and so has the ledger`, async () => {
    const { heard, held } = await hangUp(defaultDecision, balance)
    // One that was answered before it hung up did what it was told.
    const done = heard.map((answer) => answer || defaultDecision)
    expect(held).toEqual(done.map((did) => (did === 'approve' ? amountMinor : 0)))
    expect(heard).toContain('')
  })
}
