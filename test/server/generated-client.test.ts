import { type Document, OpenAPIClientAxios } from 'openapi-client-axios'
import { expect, it, onTestFinished } from 'vitest'
import { signCall } from '../../src/api/signature.ts'
import type { Credentials } from '../../src/management/client.ts'
import { apiUrlOf } from '../support/api-client.ts'
import { createCliWorld, runCli } from '../support/cli.ts'
import { startReceiver } from '../support/receiver.ts'
import { startServer, until } from '../support/server.ts'

const sandbox = { SANDBOX: 'true' }
const address = { line1: '1 Marina', city: 'Lagos', state: 'Lagos', country: 'NG' }

// biome-ignore lint/suspicious/noExplicitAny: each call knows what it asked for
type Data = any

/** A client made from the document of a running sandbox, which signs, and says the data of a success. */
async function openClient() {
  const world = await createCliWorld()
  const env = { ...sandbox, DATA_DIR: world.env.DATA_DIR! }
  const named = ['--name', 'Acme', '--country', 'NG', '--currency', 'USD']
  await runCli(env, 'organization', 'add', 'org-1', ...named)
  const scopes = ['CardAPIs', 'CardAPIs.Fund', 'CardAPIs.Pan'].flatMap((one) => ['--scope', one])
  const client = ['client', 'add', '--organization', 'org-1', '--name', 'x', ...scopes]
  const credentials: Credentials = JSON.parse(await runCli(env, ...client))
  const server = await startServer({ dataDir: env.DATA_DIR, env: { ...sandbox, API_PORT: '0' } })
  onTestFinished(async () => {
    await server.stop()
    await world.dispose()
  })
  const url = await apiUrlOf(server)
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as Document
  const { clientId, clientSecret, uniqueKey } = credentials
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
  const asked = await fetch(`${url}/connect/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${basic}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  const { access_token: token } = (await asked.json()) as { access_token: string }
  const api = new OpenAPIClientAxios({
    definition: document,
    axiosConfigDefaults: { baseURL: url, validateStatus: () => true },
  })
  const made = await api.init()
  let references = 0
  made.interceptors.request.use((config) => {
    const target = made.getUri(config).slice(url.length)
    const method = (config.method ?? 'get').toUpperCase()
    const reference = `Client-${references++}`
    const signed = { method, baseUrls: [url], target, reference, clientId }
    config.headers.set({
      reference,
      serviceauthorization: `ServiceAuth ${Buffer.from(clientId).toString('base64')}`,
      authorization: `Bearer ${token}`,
      uniquekey: uniqueKey,
      signature: signCall(signed, clientSecret),
    })
    return config
  })
  const described = Object.entries(document.paths ?? {})
    .filter(([path]) => path.startsWith('/api/v1'))
    .flatMap(([, methods]) => Object.values(methods as object))
    .map(({ operationId }: { operationId: string }) => operationId)
  const called = new Set<string>()
  return {
    described,
    called,
    async call(operation: string, params: Record<string, string> = {}, body?: object) {
      const { status, data: envelope } = await made[operation]!(params, body)
      const { responseCode, finality, reference, data } = envelope as Data
      expect([operation, status, responseCode]).toEqual([operation, 200, '000'])
      expect([finality, reference]).toEqual(['TerminalSuccess', `Client-${references - 1}`])
      called.add(operation)
      return data as Data
    },
  }
}

type Call = Awaited<ReturnType<typeof openClient>>['call']

async function verifyCustomers(call: Call) {
  const person = { idType: 'BVN', idNumber: '22200000100', firstName: 'Ada', lastName: 'Obi' }
  const individualKyc = { ...person, address }
  const kyc = { clientReference: 'user-77', individualKyc }
  const { customerId } = await call('kyc.individual', {}, kyc)
  const businessKyc = { businessName: 'Acme', registrationNumber: 'RC1230100', address }
  const business = { clientReference: 'biz-1', businessKyc }
  const { kycToken } = await call('kyc.business', {}, business)
  await call('sandbox.kyc', { kycToken }, { status: 'Approved' })
  await call('kyc.status', {}, { kycToken })
  const { customerId: businessId } = await call('kyc.show', { kycToken })
  expect((await call('customers.list')).items).toHaveLength(2)
  await call('customers.show', { customerId })
  return { customerId, businessId }
}

async function steerCards(call: Call, customerId: string, businessId: string) {
  await call('wallets.fund', { currency: 'USD' }, { amount: 1000 })
  const { cardId } = await call('cards.issue.retail', {}, { customerId })
  await call('cards.issue.corporate', {}, { customerId: businessId })
  await call('cards.issue.lite', {}, { customerId, balance: 50, swipeCount: 3 })
  const shared = { customerId, sharedBalance: true, cardId }
  const { cardId: other } = await call('cards.reissue', {}, shared)
  const own = await call(
    'cards.reissue',
    {},
    {
      customerId,
      sharedBalance: false,
      initialBalance: 5,
    },
  )
  expect((await call('cards.list')).items).toHaveLength(5)
  await call('cards.update', { cardId }, { cardLimits: { dailyLimit: 400 } })
  await call('cards.freeze', { cardId }, {})
  await call('cards.unfreeze', { cardId }, {})
  await call('cards.terminate', { cardId: other }, {})
  expect((await call('cards.show', { cardId })).status).toBe('Active')
  expect((await call('cards.full', { cardId })).pan).toMatch(/^9{6}/)
  for (const route of ['blacklist', 'unblock-once', 'whitelist', 'whitelist.remove']) {
    await call(`merchants.${route}`, { cardId }, { mid: 'MID-7' })
  }
  await call('merchants.blacklist.remove', { cardId }, { mid: 'MID-7' })
  return { cardId, ownId: own.cardId as string }
}

async function moveMoney(call: Call, cardId: string, ownId: string) {
  await call('cards.topUp', { cardId }, { amount: 100 })
  await call('cards.withdrawal', { cardId }, { amount: 10 })
  const between = { sourceCardId: cardId, beneficiaryCardId: ownId, amount: 1 }
  await call('cards.transfer', {}, between)
  const merchant = { mid: 'MID-1', mcc: '5411', country: 'NG' }
  const occurredAt = new Date().toISOString()
  const event = { cardId, currency: 'USD', merchant, occurredAt }
  let transactionId = 'txn'
  // A busy machine may make the default answer: then it is asked anew.
  await until(async () => {
    transactionId += '-1'
    const ask = { eventId: `ask-${transactionId}`, requestType: 'Authorization', amount: 20 }
    const answer = await call('sandbox.events', {}, { ...event, ...ask, transactionId })
    return answer.responseCode === '000'
  })
  // More than was asked for, and than there is: the card owes it.
  const settlement = { eventId: 'settled', requestType: 'Settlement', amount: 120 }
  await call('sandbox.events', {}, { ...event, ...settlement, transactionId })
  await until(async () => (await call('cards.show', { cardId })).balances.posted < 0)
  expect((await call('cards.charges.reprocess', { cardId }, {})).taken).toBe(0)
  // Only what has ended is brought to zero.
  await call('cards.terminate', { cardId }, {})
  expect((await call('cards.regularize', { cardId }, {})).balances.posted).toBe(0)
  const shown = await call('transactions.show', { cardId, transactionId })
  expect(shown).toMatchObject({ settled: 120 })
  await call('wallets.list')
  await call('wallets.entries', { currency: 'USD' })
  await until(async () => (await call('transactions.list')).items.length > 0)
}

async function sendWebhooks(call: Call, webhookId: string) {
  await call('webhooks.list')
  await call('webhooks.change', { webhookId }, { description: 'all' })
  await call('webhooks.rotateSecret', { webhookId }, {})
  expect((await call('webhooks.test', { webhookId }, {})).httpStatus).toBe(200)
  await until(async () => (await call('events.list')).items.length > 0)
  const [{ eventId }] = (await call('events.list')).items
  await call('events.show', { eventId })
  await call('webhooks.replay', { webhookId }, { eventId })
  await call('webhooks.remove', { webhookId })
}

it('a client made from the OpenAPI document succeeds with every operation', async () => {
  const { call, called, described } = await openClient()
  const { url } = await startReceiver()
  await call('organization.show')
  const { webhookId } = await call('webhooks.add', {}, { url: `${url}/hook`, events: ['*'] })
  const { customerId, businessId } = await verifyCustomers(call)
  const { cardId, ownId } = await steerCards(call, customerId, businessId)
  await moveMoney(call, cardId, ownId)
  await sendWebhooks(call, webhookId)
  await call('requests.show', { reference: 'Client-0' })
  expect(described.filter((operation) => !called.has(operation))).toEqual([])
}, 120_000)
