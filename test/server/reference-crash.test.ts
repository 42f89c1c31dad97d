import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { apiUrlOf, createApiClient } from '../support/api-client.ts'
import { createCliWorld } from '../support/cli.ts'
import { startServer } from '../support/server.ts'

const torture = Boolean(process.env.TORTURE)
const rounds = torture ? 20 : 2
const perRound = torture ? 120 : 32

interface Asked {
  readonly reference: string
  readonly path: string
  readonly body: object
}

/** One of each way to have an effect: on a wallet, on a card, with something new, over two aggregates. */
function anyCall(i: number): Asked {
  const reference = `C-${i}`
  switch (i % 4) {
    case 0:
      return { reference, path: '/wallets/USD/fund', body: { amount: 1 } }
    case 1:
      return { reference, path: '/cards/card-1/merchants/blacklist', body: { mid: `MID-${i}` } }
    case 2: {
      const businessKyc = { businessName: 'Acme', registrationNumber: `RC${10_000 + i}`, address }
      return { reference, path: '/kyc/business', body: { clientReference: 'one', businessKyc } }
    }
    default:
      return { reference, path: '/cards/retail', body: { customerId: 'holder' } }
  }
}

const address = { line1: '1 Marina', city: 'Lagos', state: 'Lagos', country: 'NG' }

it('a call has one effect, however often its server is killed on the way and it is sent again', async () => {
  const world = await createCliWorld()
  onTestFinished(() => world.dispose())
  Object.assign(world.env, { SANDBOX: 'true' })
  const run = async (command: string) => {
    const { code, out, err } = await world.run(...command.split(' '))
    if (code !== 0) throw new Error(err)
    return out
  }
  await run('organization add org-1 --name A --country US --currency USD')
  const scopes = '--scope CardAPIs --scope CardAPIs.Fund'
  const credentials = JSON.parse(await run(`client add --organization org-1 --name x ${scopes}`))
  const holder = { customerId: 'holder', organizationId: 'org-1', type: 'individual', name: 'Ada' }
  await run(`customers import ${await world.write('customers.ndjson', JSON.stringify(holder))}`)
  const named = { cardId: 'card-1', customerId: 'holder', accountId: 'account-1' }
  const card = { ...named, organizationId: 'org-1', type: 'retail', currency: 'USD', balance: '0' }
  await world.importRows(JSON.stringify(card))

  const asked = Array.from({ length: rounds * perRound }, (_, i) => anyCall(i))
  for (let round = 0; round < rounds; round++) {
    const { server, ask } = await serve()
    await ask('GET', '/wallets', undefined, `W-${round}`)
    const calls = asked.slice(round * perRound, (round + 1) * perRound)
    const work = calls.map(({ path, body, reference }) =>
      ask('POST', path, body, reference).catch(() => null),
    )
    await sleep(10 + Math.random() * 100)
    await server.kill()
    await Promise.all(work)
  }

  const { server, ask } = await serve()
  onTestFinished(() => server.kill())
  const made = new Set<string>()
  for (const { path, body, reference } of asked) {
    const { said } = await ask('POST', path, body, reference)
    expect(['200 000', '400 139']).toContain(said)
    expect((await ask('POST', path, body, reference)).said).toBe('400 139')
    const { data } = await ask('GET', `/requests/${reference}`)
    expect(data).toMatchObject({ state: 'Succeeded', path: `/api/v1${path}`, responseCode: '000' })
    const { transferId, cardId, kycToken, results } = data.data
    made.add(kycToken ?? transferId ?? results?.[0].mid ?? cardId)
    if (results !== undefined) expect(results[0].result).toBe('Added')
  }
  // What each made is its own, and nothing else was made.
  expect(made.size).toBe(asked.length)
  const of = (path: string) => asked.filter((call) => call.path.startsWith(path)).length
  const { data: wallets } = await ask('GET', '/wallets')
  expect(wallets.items).toMatchObject([{ balance: of('/wallets') }])
  const { data: customer } = await ask('GET', '/customers/holder')
  expect(customer.cards).toBe(1 + of('/cards/retail'))
  const { data: shown } = await ask('GET', '/cards/card-1')
  expect(shown.blackListedMids).toHaveLength(of('/cards/card-1'))
  await server.stop()
  expect(await world.run('verify')).toMatchObject({ code: 0 })
  expect((await world.run('damaged')).out).toBe('every record can be read\n')

  async function serve() {
    const env = { API_PORT: '0', API_RATE_PER_SECOND: '1000', SANDBOX: 'true' }
    const server = await startServer({ dataDir: world.env.DATA_DIR!, env })
    return { server, ask: createApiClient(await apiUrlOf(server), credentials) }
  }
}, 600_000)
