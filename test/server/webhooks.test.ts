import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { afterEach, describe, expect, it } from 'vitest'
import type { Credentials } from '../../src/management/client.ts'
import { startReceiver } from '../support/receiver.ts'
import { openRedisWorld } from '../support/redis-world.ts'
import {
  fastFolder,
  type RunningServer,
  readMetric,
  startServer,
  until,
} from '../support/server.ts'
import { createSignedClient, runCli } from '../support/signed-client.ts'

const { endings, redis, close } = openRedisWorld()
afterEach(close)

interface Told {
  readonly eventId: string
  readonly type: string
  readonly sequence: number
  readonly data: Record<string, unknown>
}

const newOrganization = ['organization', 'add', 'org-1', '--name', 'Acme', '--country', 'US']
const newClient = ['client', 'add', '--organization', 'org-1', '--name', 'x'].concat(
  ['CardAPIs', 'CardAPIs.Fund'].flatMap((scope) => ['--scope', scope]),
)

async function apiUrlOf(server: RunningServer): Promise<string> {
  const port = () => /"apiPort":([0-9]+)/.exec(server.output())?.[1]
  await until(async () => port() !== undefined)
  return `http://127.0.0.1:${port()}`
}

function importCards(
  env: Record<string, string>,
  folder: string,
  rows: readonly object[],
): Promise<unknown> {
  const file = join(folder, 'cards.jsonl')
  writeFileSync(file, rows.map((row) => JSON.stringify(row)).join('\n'))
  return runCli(env, 'import', file)
}

const cardRow = (cardId: string, customerId: string) => ({
  cardId,
  customerId,
  organizationId: 'org-1',
  type: 'corporate',
  currency: 'USD',
  country: 'US',
  balance: '1000.00',
  blackListedMccs: ['7995'],
})

const event = (eventId: string, cardId: string, mcc = '5411') => ({
  eventId,
  requestType: 'Authorization',
  transactionId: `txn-${eventId}`,
  cardId,
  amount: 12.5,
  currency: 'USD',
  merchant: { mid: 'MID1', mcc, country: 'US' },
  occurredAt: new Date().toISOString(),
})

describe('a back office that speaks HTTP only', () => {
  it('verifies a business, sees its card decided on, and is told of all by signed webhooks', async () => {
    const folder = fastFolder()
    endings.push(folder.remove)
    const env = {
      DATA_DIR: folder.path,
      SANDBOX: 'true',
      API_PORT: '0',
      KYC_SANDBOX_DELAY_MS: '200',
    }
    const server = await startServer({ dataDir: folder.path, env })
    endings.push(server.kill)
    await runCli(env, ...newOrganization, '--currency', 'USD')
    const call = createSignedClient(
      await apiUrlOf(server),
      (await runCli(env, ...newClient)) as Credentials,
    )
    const receiver = await startReceiver()
    const made = await call('POST', '/webhooks', { url: `${receiver.url}/hooks`, events: ['*'] })
    expect(made).toMatchObject({ status: 200 })
    const library = new Webhook(made.data.secret)
    const told = (type: string): Told[] =>
      receiver.received
        .map(({ headers, body }) => library.verify(body, headers) as Told)
        .filter((one) => one.type === type)

    const businessKyc = {
      businessName: 'Acme Ltd',
      registrationNumber: 'RC7654321',
      address: { line1: '1 Marina', city: 'Lagos', state: 'Lagos', country: 'NG' },
    }
    const kyb = await call('POST', '/kyc/business', { clientReference: 'biz-1', businessKyc })
    expect(kyb.data).toMatchObject({ status: 'Initiated' })
    await until(async () => told('kyc.approved').length === 1)
    const { customerId } = told('kyc.approved')[0]!.data as { customerId: string }
    expect((await call('GET', `/customers/${customerId}`)).data).toMatchObject({ type: 'business' })

    const issued = await call('POST', '/cards/corporate', { customerId, blackListedMccs: ['7995'] })
    expect(issued).toMatchObject({ status: 200, data: { type: 'corporate', customerId } })
    const { cardId } = issued.data as { cardId: string }
    await until(async () => told('card.issued').length === 1)
    expect(told('card.issued')[0]!.data).toMatchObject({ cardId, maskedPan: issued.data.maskedPan })
    expect((await call('POST', '/wallets/USD/fund', { amount: 100 })).status).toBe(200)
    expect((await call('POST', `/cards/${cardId}/topup`, { amount: 50 })).status).toBe(200)
    await until(async () => told('transfer.completed').length === 2)
    const transfers = told('transfer.completed').map(({ data }) => [data.type, data.amount])
    expect(transfers.sort()).toEqual([
      ['TopUp', 50],
      ['WalletFunding', 100],
    ])

    const approved = await call('POST', '/sandbox/events', event('e-1', cardId))
    expect(approved).toMatchObject({ status: 200, data: { responseCode: '000' } })
    const declined = await call('POST', '/sandbox/events', event('e-2', cardId, '7995'))
    expect(declined.data.responseCode).not.toBe('000')
    await until(async () => told('transaction.declined').length === 1)
    await until(async () => told('transaction.authorization').length === 1)
    expect(told('transaction.authorization')[0]!.data).toMatchObject({
      relayEventId: 'e-1',
      amount: 12.5,
      customerId,
    })
    expect(told('transaction.declined')[0]!.data).toMatchObject({
      relayEventId: 'e-2',
      responseCode: declined.data.responseCode,
    })
    const frozen = await call('POST', `/cards/${cardId}/freeze`, { reason: 'customer called' })
    expect(frozen.status).toBe(200)
    await until(async () => told('card.frozen').length === 1)
    expect(told('card.frozen')[0]!.data).toMatchObject({ status: 'Frozen', by: 'api' })
    const { webhookId } = made.data
    const listed = await runCli(env, 'webhooks', 'list')
    expect(listed).toMatchObject({ webhookId, organizationId: 'org-1', enabled: true })
    expect(await runCli(env, 'webhooks', 'test', webhookId)).toMatchObject({ delivered: true })
    expect(await runCli(env, 'kyc', 'show', kyb.data.kycToken)).toMatchObject({
      status: 'Approved',
    })
    await until(async () => (await readMetric(server, 'arbiter_webhooks_pending')) === 0)
    const secrets = ['RC7654321', made.data.secret]
    for (const secret of secrets) expect(server.output()).not.toContain(secret)
  }, 60_000)
})

describe('two servers on one Redis, of which one is killed again and again', () => {
  const events = 1_000
  // The same with instances that are only cut off is in test/webhook/share.test.ts.
  it.runIf(process.env.TORTURE)(
    'tell every event, and what they tell twice has the same bytes',
    async () => {
      const { url } = await redis()
      const key = { SECRETS_KEY: randomBytes(32).toString('base64') }
      const env = { REDIS_URL: url, SANDBOX: 'true', API_PORT: '0', ...key }
      const cliFolder = fastFolder()
      endings.push(cliFolder.remove)
      const start = async () => {
        const folder = fastFolder()
        endings.push(folder.remove)
        const server = await startServer({ dataDir: folder.path, env })
        endings.push(server.kill)
        return server
      }
      const pair = [await start(), await start()]
      const cliEnv = { ...env, DATA_DIR: cliFolder.path }
      await runCli(cliEnv, ...newOrganization, '--currency', 'USD')
      const credentials = (await runCli(cliEnv, ...newClient)) as Credentials
      const cards = Array.from({ length: 10 }, (_, i) => `card-${i}`)
      await importCards(
        cliEnv,
        cliFolder.path,
        cards.map((id) => cardRow(id, 'c')),
      )
      const receiver = await startReceiver()
      const call = createSignedClient(await apiUrlOf(pair[0]!), credentials)
      await call('POST', '/webhooks', { url: receiver.url, events: ['transaction.*'] })
      await sleep(1_100)
      for (let i = 0; i < events; i++) {
        if (i % 20 === 10) {
          const side = Math.random() < 0.5 ? 0 : 1
          await pair[side]!.kill()
          pair[side] = await start()
        }
        const response = await fetch(pair[i % 2]!.url, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ ...event(`k-${i}`, cards[i % 10]!), amount: 0.5 }),
        })
        expect(response.status).toBe(200)
        await sleep(Math.random() * 20)
      }
      /** By event, and which events of the relay were told: one whose approval is taken back is told twice. */
      const arrived = () => {
        const bodies = new Map<string, Set<string>>()
        const relayed = new Set<unknown>()
        for (const { body } of receiver.received) {
          const { eventId, data } = JSON.parse(body) as Told
          bodies.set(eventId, (bodies.get(eventId) ?? new Set()).add(body))
          relayed.add(data.relayEventId)
        }
        return { bodies, relayed }
      }
      await until(async () => arrived().relayed.size >= events)
      await sleep(500)
      const { bodies, relayed } = arrived()
      expect(relayed.size).toBe(events)
      expect([...bodies.values()].every(({ size }) => size === 1)).toBe(true)
    },
    90_000 + events * 500,
  )
})
