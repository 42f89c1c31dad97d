import { expect, it, onTestFinished } from 'vitest'
import { type ApiCredentials, createApiClient } from '../support/api-client.ts'
import { createCliWorld } from '../support/cli.ts'
import { plainPack, type RunningServer, readMetric, startServer, until } from '../support/server.ts'

const rounds = process.env.TORTURE ? 20 : 3
const perRound = process.env.TORTURE ? 200 : 40
const cards = 6

interface Asked {
  readonly reference: string
  readonly path: string
  readonly body: object
  /** What it does to each card, in cents. */
  readonly does: ReadonlyMap<number, number>
}

/** Top-ups, withdrawals and transfers between cards, of small amounts. */
function anyTransfer(i: number): Asked {
  const [first, second] = [Math.floor(Math.random() * cards), Math.floor(Math.random() * cards)]
  const cents = 1 + Math.floor(Math.random() * 300)
  const amount = (cents / 100).toFixed(2)
  const reference = `T-${i}`
  const draw = Math.random()
  if (draw < 0.4 || first === second) {
    const path = `/cards/card-${first}/topup`
    return { reference, path, body: { amount }, does: new Map([[first, cents]]) }
  }
  if (draw < 0.6) {
    const path = `/cards/card-${first}/withdrawal`
    return { reference, path, body: { amount }, does: new Map([[first, -cents]]) }
  }
  const body = { sourceCardId: `card-${first}`, beneficiaryCardId: `card-${second}`, amount }
  const does = new Map([
    [first, -cents],
    [second, cents],
  ])
  return { reference, path: '/cards/transfer', body, does }
}

it('transfers through kills of the server are exact: nobody retries, then everybody does', async () => {
  const world = await createCliWorld()
  onTestFinished(() => world.dispose())
  const made = [
    'organization',
    'add',
    'org-1',
    '--name',
    'A',
    '--country',
    'US',
    '--currency',
    'USD',
  ]
  await world.run(...made)
  const scopes = ['--scope', 'CardAPIs', '--scope', 'CardAPIs.Read']
  const client = await world.run(
    'client',
    'add',
    '--organization',
    'org-1',
    '--name',
    'x',
    ...scopes,
  )
  const credentials = JSON.parse(client.out) as ApiCredentials
  const row = (i: number) => {
    const named = { cardId: `card-${i}`, customerId: `customer-${i}`, accountId: `account-${i}` }
    const more = { organizationId: 'org-1', type: 'retail', currency: 'USD', balance: '20.00' }
    return JSON.stringify({ ...named, ...more })
  }
  await world.importRows(...Array.from({ length: cards }, (_, i) => row(i)))
  const funded = await world.run('wallet', 'fund', 'org-1', 'USD', '500.00', '--reference', 'wire')
  expect(JSON.parse(funded.out)).toMatchObject({ wallet: { balance: 500 } })
  const again = await world.run('wallet', 'fund', 'org-1', 'USD', '500.00', '--reference', 'wire')
  expect([again.code, again.err]).toEqual([1, expect.stringContaining('already been seen')])

  async function serve() {
    const env = { API_PORT: '0', API_RATE_PER_SECOND: '1000', RULES_DIR: plainPack }
    const server = await startServer({ dataDir: world.env.DATA_DIR!, env })
    const [, port] = /"apiPort":([0-9]+)/.exec(server.output())!
    return { server, ask: createApiClient(`http://127.0.0.1:${port}`, credentials) }
  }

  const asked: Asked[] = []
  for (let round = 0; round < rounds; round++) {
    const { server, ask } = await serve()
    await ask('GET', '/wallets', undefined, `W-${round}`)
    const calls = Array.from({ length: perRound }, (_, i) => anyTransfer(round * perRound + i))
    asked.push(...calls)
    const work = calls.map(({ path, body, reference }) =>
      ask('POST', path, body, reference).catch(() => null),
    )
    await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 150))
    await server.kill()
    await Promise.all(work)
  }

  const last = await serve()
  await until(async () => (await openTransfers(last.server)) === 0)
  const { code } = await verified(last.server)
  expect(code).toBe(0)

  const { server, ask } = await serve()
  const expected = Array.from({ length: cards }, () => 2_000)
  for (const { path, body, reference, does } of asked) {
    const { said } = await ask('POST', path, body, reference)
    expect(['200 000', '400 139', '422 116']).toContain(said)
    if (said === '422 116') continue
    for (const [card, cents] of does) expected[card]! += cents
  }
  for (let i = 0; i < cards; i++) {
    const { data } = await ask('GET', `/cards/card-${i}`, undefined, `C-${i}`)
    expect(Math.round(data.balances.posted * 100)).toBe(expected[i])
  }
  const end = await verified(server)
  expect(end.out).toContain('USD: 500.00 funded adds up')
  expect(end.out).toContain('0.00 on its way')
  expect(end.code).toBe(0)

  async function verified(running: RunningServer) {
    await running.stop()
    expect((await world.run('transfers', '--open')).out).toBe('nothing is on its way\n')
    return world.run('verify')
  }
}, 600_000)

async function openTransfers(server: RunningServer): Promise<number> {
  const oldest = await readMetric(server, 'arbiter_transfers_oldest_seconds')
  return oldest + (await readMetric(server, 'arbiter_transfers_open'))
}
