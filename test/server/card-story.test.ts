import { describe, expect, it, onTestFinished } from 'vitest'
import { apiUrlOf, createApiClient } from '../support/api-client.ts'
import { createCliWorld } from '../support/cli.ts'
import { plainPack, startServer, until } from '../support/server.ts'

const sandbox = { SANDBOX: 'true' }
const idNumber = '22200000100'

/** A sandbox with one organization, and its back office and relay as they see it: over HTTP. */
async function openSandbox() {
  const world = await createCliWorld()
  const cli = async (...args: string[]) => {
    const { code, out, err } = await world.runWith({ env: sandbox }, ...args)
    if (code !== 0) throw new Error(err)
    return out
  }
  await cli(
    'organization',
    'add',
    'org-1',
    '--name',
    'Acme',
    '--country',
    'NG',
    '--currency',
    'USD',
  )
  const client = ['client', 'add', '--organization', 'org-1', '--name', 'x', '--scope', 'CardAPIs']
  const scopes = ['--scope', 'CardAPIs.Fund', '--scope', 'CardAPIs.Pan']
  const credentials = JSON.parse(await cli(...client, ...scopes))
  const env = { ...sandbox, API_PORT: '0', RULES_DIR: plainPack }
  const server = await startServer({ dataDir: world.env.DATA_DIR!, env })
  onTestFinished(async () => {
    await server.stop()
    await world.dispose()
  })
  const api = createApiClient(await apiUrlOf(server), credentials)
  let events = 0
  /** A busy machine may make the default answer: then it is asked anew. */
  const ask = async (cardId: string, mid: string, amount = '10.00'): Promise<string> => {
    const eventId = `evt-${events++}`
    const merchant = { mid, mcc: '5411', name: 'Shop', city: 'Lagos', country: 'NG' }
    const event = { eventId, requestType: 'Authorization', transactionId: eventId, cardId, amount }
    const occurredAt = new Date().toISOString()
    const response = await fetch(server.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...event, currency: 'USD', merchant, occurredAt }),
    })
    const { responseCode, decidedBy } = (await response.json()) as Record<string, string>
    return decidedBy === 'engine' ? responseCode! : ask(cardId, mid, amount)
  }
  return { api, ask, server, cli }
}

describe('a back office', () => {
  it('verifies a customer, issues and steers its cards, and every decision follows', async () => {
    const { api, ask, server, cli } = await openSandbox()
    const said = async (...call: Parameters<typeof api>) => (await api(...call)).said
    const address = { line1: '1 Marina', city: 'Lagos', state: 'Lagos', country: 'NG' }
    const person = { idType: 'BVN', idNumber, firstName: 'Ada', lastName: 'Obi', address }
    const kyc = { clientReference: 'user-77', individualKyc: person }
    const { customerId } = (await api('POST', '/kyc/individual', kyc)).data
    expect((await api('GET', `/customers/${customerId}`)).data).toMatchObject({
      name: 'Ada Obi',
      cards: 0,
      kycStatus: 'Approved',
    })
    const { cardId, nameOnCard } = (await api('POST', '/cards/retail', { customerId })).data
    expect(nameOnCard).toBe('ADA OBI')
    expect(await said('POST', '/wallets/USD/fund', { amount: 500 })).toBe('200 000')
    expect(await said('POST', `/cards/${cardId}/topup`, { amount: 100 })).toBe('200 000')
    const limits = { cardLimits: { transactionLimit: 20 } }
    expect(await said('PATCH', `/cards/${cardId}`, limits)).toBe('200 000')
    expect([await ask(cardId, 'MID-1'), await ask(cardId, 'MID-1', '20.01')]).toEqual([
      '000',
      '129',
    ])

    const merchants = `/cards/${cardId}/merchants`
    expect(await said('POST', `${merchants}/blacklist`, { mid: 'MID-7' })).toBe('200 000')
    expect(await ask(cardId, 'MID-7')).toBe('186')
    expect(await said('POST', `${merchants}/unblock-once`, { mid: 'MID-7' })).toBe('200 000')
    expect([await ask(cardId, 'MID-7'), await ask(cardId, 'MID-7')]).toEqual(['000', '186'])

    const list = async () => (await api('GET', `/transactions?cardId=${cardId}`)).data.items
    await until(async () => (await list()).length >= 6)
    const codes = (await list()).map((row: { responseCode: string }) => row.responseCode)
    expect(codes.filter((code: string) => code === '186')).toHaveLength(2)

    expect(await said('POST', `/cards/${cardId}/freeze`, { reason: 'lost' })).toBe('200 000')
    expect(await ask(cardId, 'MID-1')).toBe('117')
    const again = { customerId, sharedBalance: true, cardId, terminateOriginal: true }
    const issued = (await api('POST', '/cards/reissue', again)).data
    expect(issued).toMatchObject({
      replaces: cardId,
      balances: { posted: 100, held: 20, available: 80 },
      cardLimits: { transactionLimit: 20 },
      blackListedMids: ['MID-7'],
    })
    expect(await ask(cardId, 'MID-1')).toBe('143')
    expect(await ask(issued.cardId, 'MID-7')).toBe('186')
    expect(await ask(issued.cardId, 'MID-1')).toBe('000')
    const full = (await api('GET', `/cards/${issued.cardId}/full`)).data
    expect(full.pan).toMatch(/^999999\d{10}$/)
    expect(await said('POST', `/cards/${issued.cardId}/terminate`)).toBe('200 000')
    expect(await ask(issued.cardId, 'MID-1')).toBe('143')
    expect((await api('GET', `/customers/${customerId}`)).data.cards).toBe(2)

    const lineOfRead = () =>
      server
        .output()
        .split('\n')
        .find((line) => line.includes('cards.full'))
    await until(async () => lineOfRead() !== undefined)
    for (const said of ['clientId', 'reference', issued.cardId]) {
      expect(lineOfRead()).toContain(said)
    }
    expect(server.output()).not.toContain(full.pan)
    expect(await cli('verify')).toContain('0 differences')
    expect(await cli('damaged')).toContain('every record can be read')
    expect(await cli('show', 'card', cardId)).not.toContain(full.pan)
  }, 120_000)
})
