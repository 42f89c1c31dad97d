import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accountCodec } from '../../../src/engine/format/codec.ts'
import { noChange } from '../../../src/store/port.ts'
import type { CliWorld } from '../../support/cli.ts'
import { createCliWorld } from '../../support/cli.ts'
import { type RunningServer, startServer, usualBudget } from '../../support/server.ts'

let world: CliWorld
let server: RunningServer

/** One store for all tests: a run's audit looks at what that run sent. */
beforeAll(async () => {
  world = await createCliWorld()
  const rows = Array.from({ length: 60 }, (_, i) =>
    JSON.stringify({
      cardId: `card-${i}`,
      customerId: 'customer',
      accountId: `account-${i}`,
      type: 'retail',
      currency: ['USD', 'EUR', 'JPY'][i % 3],
      country: 'US',
      balance: '5000',
    }),
  )
  const file = await world.write('cards.ndjson', `${rows.join('\n')}\n`)
  expect(await world.run('import', file)).toMatchObject({ code: 0 })
  server = await startServer({ dataDir: String(world.env.DATA_DIR), env: usualBudget })
})

afterAll(async () => {
  await server?.kill()
  await world?.dispose()
})

/** A run of a few seconds; resolves to the file that it reported to. */
async function drive(kind: 'run' | 'disorder', url: string, ...more: string[]): Promise<string> {
  const report = join(world.folder, `${kind}.json`)
  const settings = ['--url', url, '--rate', '40', '--seconds', '2', '--report', report, ...more]
  const { code, out, err } = await world.run('relay', kind, ...settings)
  // 1 when an answer was late: that is this machine's business.
  expect([0, 1], out + err).toContain(code)
  expect(err).not.toContain('arbiter:')
  return report
}

describe("the relay's side", () => {
  it('finds a server whose switch is not what the network means, by the command line', async () => {
    const keeping = ['--settlement-remainder', 'keep', '--seed', '1', '--seconds', '4']
    const report = await drive('run', server.url, ...keeping)
    const audited = await world.run('relay', 'audit', report)
    expect(audited.code).toBe(1)
    expect(audited.out).toMatch(/^card card-\d+\n- missing hold: transaction \S+ held: the network/)
    const { out } = await world.run('relay', 'audit', '--json', report)
    expect(JSON.parse(out).differences[0]).toMatchObject({ kind: 'missing hold', foundMinor: 0 })
  }, 60_000)

  it('sends nothing when nobody listens at any of the addresses', async () => {
    const urls = ['http://127.0.0.1:1/', 'http://127.0.0.1:2/']
    const { code, out, err } = await world.run('relay', 'run', '--url', urls.join())
    expect({ code, out }).toEqual({ code: 2, out: '' })
    for (const url of urls) expect(err).toContain(`${url} (ECONNREFUSED)`)
    await drive('run', `${urls[0]},${server.url}`, '--seconds', '1')
  }, 60_000)

  it('tells a report that is not there from one that is none', async () => {
    const report = await world.write('none.json', '{}')
    const { err } = await world.run('relay', 'audit', report)
    expect(err).toContain(`${report} is no report of this release`)
    expect(await world.run('relay', 'audit', 'nofile.json')).toMatchObject({
      code: 2,
      err: 'arbiter: nofile.json cannot be read (ENOENT): make one with relay run --report\n',
    })
  })

  it('finds no difference after orderly and disorderly traffic, and the log leads to the store', async () => {
    for (const kind of ['run', 'disorder'] as const) {
      const audited = await world.run('relay', 'audit', await drive(kind, server.url))
      expect(audited.out).toContain(' 0 differences, ')
      expect(audited.out).not.toContain('unmatched')
      expect(audited.code).toBe(0)
    }
    expect(await server.stop()).toBe(0)
    expect(await world.run('verify')).toMatchObject({
      code: 0,
      out: expect.stringContaining('60 accounts'),
    })
  }, 60_000)

  it('finds an error of one minor unit that somebody planted', async () => {
    const { store } = await world.serve()
    const key = { aggregate: 'a:account-7', group: '', id: '' }
    const [root] = await store.load([key])
    const account = accountCodec.decode(root!.value)
    const planted = { ...account, postedMinor: account.postedMinor + 1 }
    const [outcome] = await store.commit([
      {
        aggregate: key.aggregate,
        expectedVersion: root!.version,
        newVersion: 'planted.1',
        root: accountCodec.encode(planted),
        ...noChange,
      },
    ])
    expect(outcome).toBe('committed')
    const verified = await world.run('verify')
    expect(verified.code).toBe(1)
    expect(verified.out).toContain('account-7 account: the log leads to')
    expect(verified.out).toContain('1 differences')
  })
})
