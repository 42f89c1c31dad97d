import { expect, it, onTestFinished } from 'vitest'
import { dayMs } from '../../src/clock.ts'
import { openBegunTransfers } from '../support/begun-transfer.ts'
import { createCliWorld } from '../support/cli.ts'
import { readiness, readMetric, startServer, until } from '../support/server.ts'

it('is named by /readyz and by its list while nobody may finish it, and the others are finished', async () => {
  const world = await createCliWorld()
  const { store, engine, aggregates, begin } = await openBegunTransfers(world)
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
