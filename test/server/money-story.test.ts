import { describe, expect, it, onTestFinished } from 'vitest'
import { apiUrlOf, createApiClient } from '../support/api-client.ts'
import { createCliWorld } from '../support/cli.ts'
import { plainPack, startServer, until } from '../support/server.ts'

/** Cards of an organization with money in its wallet, its back office and its relay, all over HTTP. */
async function openMoney() {
  const world = await createCliWorld()
  const cli = async (...args: string[]) => {
    const { code, out, err } = await world.run(...args)
    if (code !== 0) throw new Error(err)
    return out
  }
  const settings = ['--name', 'Acme', '--country', 'US', '--currency', 'USD']
  await cli('organization', 'add', 'org-1', ...settings)
  const client = ['client', 'add', '--organization', 'org-1', '--name', 'x', '--scope', 'CardAPIs']
  const credentials = JSON.parse(await cli(...client))
  await cli('wallet', 'fund', 'org-1', 'USD', '1000.00', '--reference', 'wire-1')
  const customer = { customerId: 'customer-1', organizationId: 'org-1', type: 'individual' }
  const row = JSON.stringify({ ...customer, name: 'Ada Obi' })
  const file = await world.write('customers.ndjson', row)
  await cli('customers', 'import', file)
  const env = { API_PORT: '0', RULES_DIR: plainPack }
  const server = await startServer({ dataDir: world.env.DATA_DIR!, env })
  onTestFinished(async () => {
    await server.stop()
    await world.dispose()
  })
  const api = createApiClient(await apiUrlOf(server), credentials)
  let events = 0
  /** A settlement that comes late, for more than there is: an advice is always booked. */
  const settle = async (cardId: string, amount: string): Promise<void> => {
    const eventId = `evt-${events++}`
    const merchant = { mid: 'MID-1', mcc: '5411', name: 'Shop', city: 'Lagos', country: 'NG' }
    const event = { eventId, requestType: 'Settlement', transactionId: eventId, cardId, amount }
    const occurredAt = new Date().toISOString()
    await fetch(server.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...event, currency: 'USD', merchant, occurredAt }),
    })
    await until(async () => (await postedOf(cardId)) < 0)
  }
  const postedOf = async (cardId: string): Promise<number> =>
    (await api('GET', `/cards/${cardId}`)).data.balances.posted
  /** Of a run in which nothing was sent. */
  const audit = async (): Promise<string> => {
    const meaning = {
      incrementalAmount: 'delta',
      partialReversalAmount: 'released',
      settlementRemainder: 'release',
    }
    const named = { format: 2, seed: 1, runId: 'r', defaultDecision: 'decline', meaning }
    const report = { ...named, figures: {}, transactions: [] }
    return cli('relay', 'audit', await world.write('report.json', JSON.stringify(report)))
  }
  return { api, cli, settle, postedOf, audit }
}

describe('a card that owes money', () => {
  it('stops issuing to its customer until a top-up or a regularization heals it', async () => {
    const { api, cli, settle, postedOf, audit } = await openMoney()
    const said = async (...call: Parameters<typeof api>) => (await api(...call)).said
    const issue = () => api('POST', '/cards/retail', { customerId: 'customer-1' })
    const { cardId } = (await issue()).data
    expect(await said('POST', `/cards/${cardId}/topup`, { amount: 10 })).toBe('200 000')

    await settle(cardId, '25.00')
    expect(await postedOf(cardId)).toBe(-15)
    expect((await issue()).said).toBe('422 161')
    expect(await said('POST', `/cards/${cardId}/regularize`, {})).toBe('422 119')
    expect(await said('POST', `/cards/${cardId}/topup`, { amount: 15 })).toBe('200 000')
    const second = (await issue()).data.cardId

    await settle(second, '40.00')
    expect(await said('POST', `/cards/${second}/terminate`)).toBe('200 000')
    expect(await said('POST', `/cards/${second}/topup`, { amount: 40 })).toBe('422 143')
    expect((await issue()).said).toBe('422 161')
    const healed = (await api('POST', `/cards/${second}/regularize`, {})).data
    expect(healed).toMatchObject({ type: 'Regularization', amount: 40, balances: { posted: 0 } })
    expect((await issue()).said).toBe('200 000')

    const adds = 'USD: 1000.00 funded adds up: 935.00 in wallets, 65.00 on cards, 0.00 on its way'
    expect(await cli('verify')).toContain(adds)
    expect(await cli('damaged')).toContain('every record can be read')
    expect(await audit()).toContain(adds)
    expect(JSON.parse(await cli('show', 'transfer', healed.transferId))).toMatchObject({
      state: 'arrived',
      moved: [{ at: 'wallet org-1 USD' }, { at: `card ${second}` }],
    })
    expect(JSON.parse(await cli('show', 'wallet', 'org-1', 'USD'))).toMatchObject({
      balance: '935.00 USD',
      entryCount: 4,
    })
    expect(await cli('transfers', '--open')).toContain('nothing is on its way')
  }, 120_000)
})
