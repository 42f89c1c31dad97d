import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { showTransaction } from '../../../src/backoffice/show.ts'
import { createServedWorld, type ServedWorld } from '../../support/cli.ts'

describe('arbiter adjust, hold release and refund grant', () => {
  let world: ServedWorld
  const run = (...args: string[]) => world.run(...args)

  beforeAll(async () => {
    world = await createServedWorld()
  })
  afterAll(() => world.dispose())

  it('adjusts an account, once for a reference', async () => {
    const results = []
    for (const [amount, ...rest] of [
      ['-5.25', '--reference', 'r1'],
      ['-5.25', '--reference', 'r1'],
      ['+0.25'],
      ['9', '--reference', 'r1'],
      ['1.001'],
      ['0'],
    ] as const) {
      results.push(await run('adjust', 'account-3', amount, '--reason', 'a "b"\nc', ...rest))
    }
    expect(results.map(({ code }) => code)).toEqual([0, 0, 0, 1, 1, 1])
    expect(results[1]!.out).toMatch(/^r1 was done already\n/)
    expect(results[2]!.out).toContain('posted 995.00 USD, held 0.00 USD, available 995.00 USD')
    expect(results[3]!.err).toBe('arbiter: reference r1 was used for another amount\n')
    expect(results[4]!.err).toBe('arbiter: 1.001 has too many decimals for USD\n')
    const ask = { eventId: 'a1', cardId: 'card-3', amountMinor: 99_501 }
    expect(await world.engine.ask(ask)).toMatchObject({ code: '116' })
    const log = await run('log', '--account', 'account-3', '--limit', '3')
    expect(log.out).toContain('did=transferred(25),recorded  reason="a \\"b\\"\\nc"\n')
    expect(await run('adjust', 'nobody', '1', '--reason', 'x')).toMatchObject({ code: 1 })
    // References are kept as events are, and not for ever.
    expect((await run('adjust', '--help')).out).toMatch(/once within EVENT_RETENTION_DAYS \(45\)/)
  })

  it('releases a hold, also under its second name', async () => {
    const ask = { cardId: 'card-4', amountMinor: 5000 }
    await world.engine.ask({
      eventId: 'h1',
      transactionId: 'ht1',
      requestType: 'PreAuthorization',
      ...ask,
    })
    await world.engine.ask({
      eventId: 'h2',
      transactionId: 'ht2',
      originalTransactionId: 'ht1',
      ...ask,
    })
    const release = ['hold', 'release', 'card-4', 'ht2', '--reason', 'cancelled']
    const released = await run(...release)
    expect(released.out).toMatch(
      /^released 50\.00 USD of transaction ht2\naccount account-4: .* available 1000\.00 USD\n$/,
    )
    expect(await run(...release)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/holds nothing/),
    })
    expect(await showTransaction(world.store, 'card-4', 'ht1')).toMatchObject({ openHoldMinor: 0 })
    const unknown = await run('hold', 'release', 'card-4', 'none', '--reason', 'x')
    expect(unknown).toMatchObject({
      code: 1,
      err: 'arbiter: card card-4 has no transaction none\n',
    })
  })

  it('grants a refund that is withheld', async () => {
    const refund = { requestType: 'Refund', cardId: 'card-2', amountMinor: 5000 } as const
    await world.engine.ask({ eventId: 'g1', transactionId: 'gt1', ...refund })
    const grant = ['refund', 'grant', 'card-2', 'gt1', '--reason', 'receipt seen']
    expect((await run(...grant)).out).toMatch(
      /^granted 50\.00 USD of transaction gt1\naccount account-2: .* available 1050\.00 USD\n$/,
    )
    expect(await run(...grant)).toMatchObject({
      code: 1,
      err: 'arbiter: nothing of transaction gt1 is withheld\n',
    })
  })
})
