import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { accountIdOf, showAccount } from '../../src/backoffice/show.ts'
import { systemClock } from '../../src/clock.ts'
import { openStore } from '../../src/store/open.ts'
import { seedCards } from '../support/ledger-check.ts'
import {
  fastFolder,
  type RunningServer,
  readiness,
  readMetric,
  send,
  startServer,
  until,
} from '../support/server.ts'

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

const dayMs = 86_400_000

async function start(dataDir: string, aheadMs = 0): Promise<RunningServer> {
  const env = { CHAOS_CLOCK_MS: String(aheadMs) }
  const server = await startServer({ dataDir, disturbable: true, env })
  endings.push(server.kill)
  return server
}

async function isDegraded(server: RunningServer): Promise<boolean> {
  const { status, clockProblem } = await readiness(server)
  return status === 'degraded' && clockProblem !== undefined
}

describe('a wall clock that is wrong', () => {
  it('expires nothing, forgets nothing and dates nothing, and is told', {
    timeout: 60_000,
  }, async () => {
    const folder = fastFolder()
    endings.push(folder.remove)
    const [cardId = ''] = await seedCards(folder.path, ['100.00'])
    let server = await start(folder.path)
    const ask = (eventId: string) => send(server.url, { eventId, cardId, amount: '10.00' })
    const settlement = { eventId: 's1', requestType: 'Settlement', transactionId: 'txn-e1', cardId }
    const settle = () => send(server.url, { ...settlement, amount: '10.00', final: true })
    await ask('e1')
    await settle()
    await ask('e2')
    await until(async () => (await readiness(server)).status === 'ready')

    server.disturb({ type: 'clock', aheadMs: 60 * dayMs })
    await until(() => isDegraded(server))
    expect(await readMetric(server, 'arbiter_clock_trusted')).toBe(0)
    expect((await ask('e3')).body).toMatchObject({ decision: 'approve', decidedBy: 'engine' })
    // Time for the sweeper to do harm.
    await sleep(2_500)
    expect((await settle()).status).toBe(200)
    server.disturb({ type: 'clock', aheadMs: 0 })
    await until(async () => (await readiness(server)).status === 'ready')
    expect(await server.stop()).toBe(0)

    // It starts again while the clock is wrong.
    server = await start(folder.path, 60 * dayMs)
    expect(await isDegraded(server)).toBe(true)
    await sleep(2_500)
    expect((await settle()).status).toBe(200)
    expect((await ask('e4')).body).toMatchObject({ decision: 'approve', decidedBy: 'engine' })
    server.disturb({ type: 'clock', aheadMs: 0 })
    await until(async () => (await readiness(server)).status === 'ready')
    expect(await server.stop()).toBe(0)

    const store = await openStore({ redis: null, dataDir: folder.path }, systemClock.nowMs)
    endings.push(store.close)
    const account = (await showAccount(store, (await accountIdOf(store, cardId))!))!
    expect(account).toMatchObject({ postedMinor: 9_000, heldMinor: 3_000 })
    expect(account.lastArrivalMs as number).toBeLessThanOrEqual(Date.now())
  })

  it('is believed when a person says so, and goes back only so', { timeout: 60_000 }, async () => {
    const folder = fastFolder()
    endings.push(folder.remove)
    await seedCards(folder.path, ['100.00'])
    const server = await start(folder.path, -90 * dayMs)
    const accept = () => fetch(`${server.adminUrl}/admin/clock/accept`, { method: 'POST' })
    expect(await isDegraded(server)).toBe(true)
    await until(async () => server.output().includes('nothing expires and nothing is dropped'))
    expect((await accept()).status).toBe(200)
    expect((await readiness(server)).status).toBe('ready')
    server.disturb({ type: 'clock', aheadMs: 0 })
    await until(() => isDegraded(server))
    expect(await (await accept()).json()).toEqual({ status: 'accepted' })
    expect((await readiness(server)).status).toBe('ready')
    expect(await server.stop()).toBe(0)
  })
})
