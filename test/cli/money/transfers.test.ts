import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dayMs, systemClock } from '../../../src/clock.ts'
import { createAggregates } from '../../../src/engine/aggregates.ts'
import { createSides } from '../../../src/management/transfer/side.ts'
import { createTransferSteps } from '../../../src/management/transfer/step.ts'
import { type CliWorld, createCliWorld } from '../../support/cli.ts'

describe('arbiter transfers, beside one that cannot be read', () => {
  let world: CliWorld

  beforeAll(async () => {
    world = await createCliWorld()
    const settings = ['--name', 'Acme', '--country', 'US', '--currency', 'USD']
    await world.run('organization', 'add', 'org-1', ...settings)
    await world.run('wallet', 'fund', 'org-1', 'USD', '1000.00', '--reference', 'wire-1')
    const row = { cardId: 'card-1', customerId: 'customer-1', organizationId: 'org-1' }
    const account = { accountId: 'account-1', type: 'retail', country: 'US', balance: '0' }
    await world.importRows(JSON.stringify({ ...row, ...account, currency: 'USD' }))
    const { store, engine } = await world.serve()
    const aggregates = createAggregates({ store, newVersion: engine.newVersion })
    const from = { kind: 'wallet', organizationId: 'org-1', currency: 'USD' } as const
    const to = { kind: 'card', accountId: 'account-1', cardId: 'card-1' } as const
    async function begin(id: string, ageMs: number, isFinished = false): Promise<void> {
      const nowMs = () => systemClock.nowMs() - ageMs
      const steps = createTransferSteps(createSides({ engine, aggregates, nowMs }), nowMs)
      const named = { id, hash: 'h', path: '/', clientId: 'client-1', reference: id }
      const attempt = { ...named, seenAtMs: nowMs(), beganAtMs: nowMs() }
      const moved = { type: 'TopUp', amountMinor: 100, currency: 'USD', from, to } as const
      const more = { narration: '', opening: null, data: null, fromAfter: null }
      const transfer = { ...attempt, ...moved, ...more }
      await steps.debit(attempt, { home: 'w:org-1:USD', transfer, check: () => null })
      if (isFinished) await steps.credit(transfer)
    }
    await begin('trf_broken', 32 * dayMs)
    await begin('trf_old', 31 * dayMs)
    await begin('trf_left', 60_000, true)
    const place = { aggregate: 'w:org-1:USD', group: 'x', id: 'client-1\ntrf_broken' }
    await store.fill([{ kind: 'child', ...place, value: 'no row' }])
    await aggregates.change({
      aggregate: 'somebody',
      decide: () => ({ result: null, write: { log: ['no row'] } }),
    })
    aggregates.stop()
  })
  afterAll(() => world.dispose())

  it('lists and shows the others that are on their way, and takes them back', async () => {
    const open = await world.run('transfers', '--open')
    expect(open.out).toMatch(/^trf_old .*\ntrf_left .*\n2 on their way\n$/)
    expect(open.err).toBe('arbiter: 1 on its way cannot be read: see arbiter damaged\n')
    expect(open.code).toBe(1)
    expect((await world.run('show', 'transfer', 'trf_left')).out).toContain('on its way')
    const taken = await world.run('transfers', '--take-back', 'trf_old')
    expect(taken).toEqual({ code: 0, out: 'trf_old is back at its source\n', err: '' })
  })

  it('lists what was moved, though a line of the log cannot be read', async () => {
    const moved = await world.run('transfers')
    expect(moved.out).toMatch(/^\S+ {2}trf_left {2}TopUp {2}100 {2}card-1 {2}trf_left\n$/)
    expect(moved.code).toBe(0)
  })
})
