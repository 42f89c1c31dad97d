import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, type TestContext } from 'vitest'
import type { Credentials } from '../../src/management/client.ts'
import { apiUrlOf, createApiClient } from '../support/api-client.ts'
import { type CliWorld, createCliWorld } from '../support/cli.ts'
import { durable, startRedis } from '../support/redis-server.ts'
import { type RunningServer, readMetric, startServer, until } from '../support/server.ts'

const torture = Boolean(process.env.TORTURE)
const perRound = torture ? 200 : 60
const rounds = torture ? 20 : 3
/** Every other crash takes the server too, the first of them does. */
const redisRounds = torture ? 20 : 2
const cards = 6
const maxMs = torture ? 3_600_000 : 600_000
const noneOpen = 'nothing is on its way\n'

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

interface Place {
  readonly rounds: number
  readonly env: Record<string, string>
  /** Whether what the last kill left waits for the sweeper; else everybody asks again at once. */
  readonly nobodyAsksAgain: boolean
  /** Ends servers as a crash would, somewhere in a round. */
  crash(server: RunningServer): Promise<void>
}

/** The second one runs while the first waits for the sweeper. */
describe.concurrent('transfers are exact', () => {
  it(
    'through kills of the server: nobody retries, then everybody does',
    async (test) => {
      const crash = (server: RunningServer) => server.kill()
      await survive({ rounds, env: {}, nobodyAsksAgain: true, crash }, test)
    },
    maxMs,
  )

  it(
    'through kills of the server and of Redis',
    async (test) => {
      const redis = await startRedis(durable)
      test.onTestFinished(redis.dispose)
      let crashes = 0
      async function crash(server: RunningServer): Promise<void> {
        const both = crashes++ % 2 === 0
        await Promise.all([redis.kill(), both && server.kill()])
        await sleep(Math.random() * 300)
        await redis.restart()
      }
      const env = { REDIS_URL: redis.url, SECRETS_KEY: randomBytes(32).toString('base64') }
      await survive({ rounds: redisRounds, env, nobodyAsksAgain: torture, crash }, test)
    },
    maxMs,
  )
})

async function survive(place: Place, test: TestContext): Promise<void> {
  const world = await createCliWorld()
  test.onTestFinished(() => world.dispose())
  Object.assign(world.env, place.env)
  const credentials = await openOrganization(world)
  const asked: Asked[] = []
  for (let round = 0; round < place.rounds; round++) {
    const { server, ask } = await serve()
    await ask('GET', '/wallets', undefined, `W-${round}`)
    const calls = Array.from({ length: perRound }, (_, i) => anyTransfer(round * perRound + i))
    asked.push(...calls)
    // A server that has just started answers its first calls late: with none done, few are on their way.
    const some = Math.floor(Math.random() * (perRound / 2))
    let work: readonly Promise<unknown>[] = []
    await new Promise<void>((resolve) => {
      let answered = 0
      work = calls.map(async ({ path, body, reference }) => {
        const answer = await ask('POST', path, body, reference).catch(() => null)
        if (answer !== null && answered++ === some) resolve()
      })
    })
    await place.crash(server)
    await Promise.all(work)
    await server.kill()
  }

  const { server, ask } = await serve()
  if (place.nobodyAsksAgain) {
    // Not by its metrics, which know of none before the first look.
    while ((await world.run('transfers', '--open')).out !== noneOpen) await sleep(500)
    await until(async () => (await openTransfers(server)) === 0)
    expect(await verified()).toMatchObject({ code: 0 })
  }
  const expected = Array.from({ length: cards }, () => 2_000)
  const askAgain = async ({ path, body, reference, does }: Asked) => {
    let { said } = await ask('POST', path, body, reference)
    // The server has just started, perhaps on a busy machine: its clients ask again, too.
    for (let tries = 0; said === '503 150' && tries < 10; tries++) {
      await sleep(300)
      said = (await ask('POST', path, body, reference)).said
    }
    expect(['200 000', '400 139', '422 116']).toContain(said)
    if (said === '422 116') return
    for (const [card, cents] of does) expected[card]! += cents
  }
  for (let at = 0; at < asked.length; at += 16) {
    await Promise.all(asked.slice(at, at + 16).map(askAgain))
  }
  for (let i = 0; i < cards; i++) {
    const { data } = await ask('GET', `/cards/card-${i}`, undefined, `C-${i}`)
    expect(Math.round(data.balances.posted * 100)).toBe(expected[i])
  }
  await server.stop()
  const end = await verified()
  expect(end.out).toContain('USD: 500.00 funded adds up')
  expect(end.out).toContain('0.00 on its way')
  expect(end.code).toBe(0)

  async function serve() {
    const env = { API_PORT: '0', API_RATE_PER_SECOND: '1000', ...place.env }
    const server = await startServer({ dataDir: world.env.DATA_DIR!, env })
    return { server, ask: createApiClient(await apiUrlOf(server), credentials) }
  }

  async function verified() {
    expect((await world.run('transfers', '--open')).out).toBe(noneOpen)
    expect((await world.run('damaged')).out).toBe('every record can be read\n')
    return world.run('verify')
  }
}

/** With cards of 20.00 and a wallet of 500.00. */
async function openOrganization(world: CliWorld): Promise<Credentials> {
  const run = (command: string) => world.run(...command.split(' '))
  await run('organization add org-1 --name A --country US --currency USD')
  const client = await run(
    'client add --organization org-1 --name x --scope CardAPIs --scope CardAPIs.Read',
  )
  const row = (i: number) => {
    const named = { cardId: `card-${i}`, customerId: `customer-${i}`, accountId: `account-${i}` }
    const more = { organizationId: 'org-1', type: 'retail', currency: 'USD', balance: '20.00' }
    return JSON.stringify({ ...named, ...more })
  }
  await world.importRows(...Array.from({ length: cards }, (_, i) => row(i)))
  const funded = await run('wallet fund org-1 USD 500.00 --reference wire')
  expect(JSON.parse(funded.out)).toMatchObject({ wallet: { balance: 500 } })
  const again = await run('wallet fund org-1 USD 500.00 --reference wire')
  expect([again.code, again.err]).toEqual([1, expect.stringContaining('already been seen')])
  return JSON.parse(client.out) as Credentials
}

async function openTransfers(server: RunningServer): Promise<number> {
  const oldest = await readMetric(server, 'arbiter_transfers_oldest_seconds')
  return oldest + (await readMetric(server, 'arbiter_transfers_open'))
}
