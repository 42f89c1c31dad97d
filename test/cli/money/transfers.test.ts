import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dayMs } from '../../../src/clock.ts'
import { openBegunTransfers } from '../../support/begun-transfer.ts'
import { type CliWorld, createCliWorld } from '../../support/cli.ts'

describe('arbiter transfers, beside one that cannot be read', () => {
  let world: CliWorld

  beforeAll(async () => {
    world = await createCliWorld()
    const { store, aggregates, begin } = await openBegunTransfers(world)
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
