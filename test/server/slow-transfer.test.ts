import { expect, it, onTestFinished } from 'vitest'
import { dayMs, systemClock } from '../../src/clock.ts'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { createSides } from '../../src/management/transfer/side.ts'
import { createTransferSteps } from '../../src/management/transfer/step.ts'
import { createCliWorld } from '../support/cli.ts'
import { readiness, readMetric, startServer, until } from '../support/server.ts'

it('is named by /readyz and by its list while nobody may finish it, and the others are finished', async () => {
  const world = await createCliWorld()
  const settings = ['--name', 'Acme', '--country', 'US', '--currency', 'USD']
  await world.run('organization', 'add', 'org-1', ...settings)
  await world.run('wallet', 'fund', 'org-1', 'USD', '1000.00', '--reference', 'wire-1')
  const row = { cardId: 'card-1', customerId: 'customer-1', organizationId: 'org-1' }
  const account = { accountId: 'account-1', type: 'retail', country: 'US', balance: '0' }
  await world.importRows(JSON.stringify({ ...row, ...account, currency: 'USD' }))

  const { store, engine } = await world.serve()
  const aggregates = createAggregates({ store, newVersion: engine.newVersion })
  /** Takes the money out, and goes no further. */
  async function begin(id: string, ageMs: number): Promise<void> {
    const nowMs = () => systemClock.nowMs() - ageMs
    const steps = createTransferSteps(createSides({ engine, aggregates, nowMs }), nowMs)
    const named = { id, hash: 'h', path: '/', clientId: 'client-1', reference: id }
    const attempt = { ...named, seenAtMs: nowMs(), beganAtMs: nowMs() }
    const from = { kind: 'wallet', organizationId: 'org-1', currency: 'USD' } as const
    const to = { kind: 'card', accountId: 'account-1', cardId: 'card-1' } as const
    const moved = { type: 'TopUp', amountMinor: 100, currency: 'USD', from, to } as const
    const more = { narration: '', opening: null, data: null, fromAfter: null }
    const transfer = { ...attempt, ...moved, ...more }
    await steps.debit(attempt, { home: 'w:org-1:USD', transfer, check: () => null })
  }
  await begin('trf_old', 31 * dayMs)
  await begin('trf_left', 60_000)
  aggregates.stop()
  engine.stop()
  await store.close()

  // One that serves no management API finishes none of them, and tells so.
  const decidesOnly = await startServer({ dataDir: world.env.DATA_DIR! })
  await until(async () => (await readiness(decidesOnly)).transferProblem !== undefined)
  expect(await readMetric(decidesOnly, 'arbiter_transfers_open')).toBe(2)
  expect(await readMetric(decidesOnly, 'arbiter_transfers_oldest_seconds')).toBeGreaterThan(
    2_678_400,
  )
  await decidesOnly.stop()

  const server = await startServer({ dataDir: world.env.DATA_DIR!, env: { API_PORT: '0' } })
  onTestFinished(async () => {
    await server.stop()
    await world.dispose()
  })
  await until(async () => (await readiness(server)).transferProblem !== undefined)
  const { status, transferProblem } = await readiness(server)
  expect(status).toBe('degraded')
  expect(transferProblem).toMatch(/^a transfer is on its way for 26784\d\d s$/)
  const open = async () => (await world.run('transfers', '--open')).out
  await until(async () => !(await open()).includes('trf_left'))
  expect(await open()).toContain('trf_old')

  expect(await world.run('transfers', '--take-back', 'trf_left')).toMatchObject({ code: 1 })
  const taken = await world.run('transfers', '--take-back', 'trf_old')
  expect(taken).toMatchObject({ code: 0, out: 'trf_old is back at its source\n' })
  await until(async () => (await readiness(server)).status === 'ready')
  const adds = 'USD: 1000.00 funded adds up: 999.00 in wallets, 1.00 on cards, 0.00 on its way'
  expect((await world.run('verify')).out).toContain(adds)
}, 120_000)
