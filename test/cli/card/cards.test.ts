import { describe, expect, it, onTestFinished } from 'vitest'
import { createCliWorld, rowOf } from '../../support/cli.ts'

describe('lists of cards and customers', () => {
  it('are printed line by line, by the filters of the management API', async () => {
    const world = await createCliWorld()
    onTestFinished(() => world.dispose())
    await world.run(
      'organization',
      'add',
      'org-1',
      '--name',
      'Acme',
      '--country',
      'US',
      '--currency',
      'USD',
    )
    await world.importRows(rowOf(1), rowOf(2, { type: 'corporate' }), rowOf(3))
    const list = async (...options: string[]) => {
      const { code, out, err } = await world.run(
        'cards',
        'list',
        '--organization',
        'org-1',
        ...options,
      )
      expect(code).toBe(0)
      expect(err).toBe(options.includes('2') ? 'arbiter: there may be more: see --limit\n' : '')
      const lines = out.split('\n').filter((line) => line !== '')
      return lines.map((line) => JSON.parse(line).cardId).sort()
    }
    expect(await list()).toEqual([])
    expect((await world.run('organization', 'adopt', 'org-1')).code).toBe(0)
    const all = await list()
    expect(all).toHaveLength(3)
    expect(await list('--type', 'corporate')).toHaveLength(1)
    expect(await list('--limit', '2')).toHaveLength(2)
    expect(await list('--since', '1h')).toHaveLength(3)
    expect(await list('--until', '1h')).toEqual([])
    const frozen = await world.run('freeze', all[0], '--reason', 'lost')
    expect(frozen.code).toBe(0)
    expect(await list('--status', 'Frozen')).toEqual([all[0]])
    const shown = await world.run('cards', 'show', all[0])
    expect(JSON.parse(shown.out)).toMatchObject({ organizationId: 'org-1', status: 'Frozen' })
    expect((await world.run('cards', 'show', 'nobody')).code).toBe(1)
    const wrong = await world.run('cards', 'list', '--organization', 'org-1', '--status', 'Gone')
    expect(wrong.code).toBe(2)

    const customer = { customerId: 'c1', organizationId: 'org-1', type: 'individual', name: 'Ada' }
    const input = JSON.stringify(customer)
    expect((await world.runWith({ input }, 'customers', 'import', '-')).code).toBe(0)
    const customers = await world.run(
      'customers',
      'list',
      '--organization',
      'org-1',
      '--name',
      'AD',
    )
    expect(JSON.parse(customers.out)).toMatchObject({ customerId: 'c1', name: 'Ada', cards: 0 })

    const again = await world.run('reindex')
    expect([again.code, again.out]).toEqual([0, expect.stringContaining('3 cards')])
    expect(await list()).toEqual(all)
  })

  it('of an organization that is not there are no empty list, nor are its customers and clients', async () => {
    const world = await createCliWorld()
    onTestFinished(() => world.dispose())
    await world.importRows(rowOf(1))
    const made = ['--name', 'Acme', '--country', 'US', '--currency', 'USD']
    expect((await world.run('organization', 'add', 'org-1', ...made)).code).toBe(0)
    for (const kind of ['cards', 'customers', 'client']) {
      const empty = await world.run(kind, 'list', '--organization', 'org-1')
      expect(empty, kind).toEqual({ code: 0, out: '', err: '' })
      const mistyped = await world.run(kind, 'list', '--organization', 'org-l')
      const err = 'arbiter: there is no organization org-l\n'
      expect(mistyped, kind).toEqual({ code: 1, out: '', err })
    }
  })

  it('are printed, adopted and put into lists also while a card and an account cannot be read', async () => {
    const world = await createCliWorld()
    onTestFinished(() => world.dispose())
    const named = 'organization add org-1 --name Acme --country US --currency USD'
    await world.run(...named.split(' '))
    await world.importRows(rowOf(1), rowOf(2), rowOf(3), rowOf(4))
    const { store } = await world.serve()
    const broken = { version: 'x', value: '[1,' }
    const card = { kind: 'child', aggregate: 'a:account-1', group: 'c', id: 'card-1' } as const
    await store.fill([{ ...card, ...broken }])
    const ofCard = 'arbiter: account account-1 cannot be read: see arbiter damaged\n'
    const adopted = await world.run('organization', 'adopt', 'org-1')
    expect([adopted.code, adopted.err]).toEqual([1, ofCard])
    expect(adopted.out).toContain('adopted 4 accounts')
    await store.fill([{ kind: 'root', aggregate: 'a:account-2', ...broken }])
    const ofAccount = 'arbiter: account account-2 cannot be read: see arbiter damaged\n'
    const inOrder = (lines: string) => lines.split(/^/m).sort().join('')
    const again = await world.run('organization', 'adopt', 'org-1')
    expect([again.code, inOrder(again.err)]).toEqual([1, ofCard + ofAccount])
    expect(again.out).toContain('left 3 that it had, 0 of other')
    const reindexed = await world.run('reindex')
    expect([reindexed.code, inOrder(reindexed.err)]).toEqual([1, ofCard + ofAccount])
    expect(reindexed.out).toMatch(/^2 cards/)
    const listed = await world.run('cards', 'list', '--organization', 'org-1')
    expect([listed.code, listed.err]).toEqual([
      1,
      'arbiter: card card-2 cannot be read: see arbiter damaged\n',
    ])
    expect(listed.out.match(/"card-[34]"/g)).toHaveLength(2)
  })
})
