import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it, onTestFinished } from 'vitest'
import { apiUrlOf, createApiClient } from '../support/api-client.ts'
import { runCli } from '../support/cli.ts'
import { startReceiver } from '../support/receiver.ts'
import { fastFolder, plainPack, readMetric, startServer, until } from '../support/server.ts'

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

/** A pack with one rule. */
function rulesIn(folder: string): string {
  const rules = join(folder, 'rules')
  cpSync(plainPack, rules, { recursive: true })
  const rule = { id: 'no-gambling', when: "merchant.mcc == '7995'", decline: '302', why: 'Ours' }
  writeFileSync(join(rules, 'ours.rules.yaml'), JSON.stringify([rule]))
  return rules
}

describe('a back office that speaks HTTP only', () => {
  it('verifies a business, sees its card decided on, and is told of all by signed webhooks', async () => {
    const folder = fastFolder()
    onTestFinished(folder.remove)
    const env = {
      DATA_DIR: folder.path,
      SANDBOX: 'true',
      API_PORT: '0',
      KYC_SANDBOX_DELAY_MS: '200',
      RULES_DIR: rulesIn(folder.path),
    }
    const server = await startServer({ dataDir: folder.path, env })
    onTestFinished(server.kill)
    await runCli(env, ...newOrganization, '--currency', 'USD')
    const call = createApiClient(
      await apiUrlOf(server),
      JSON.parse(await runCli(env, ...newClient)),
    )
    const receiver = await startReceiver()
    const made = await call('POST', '/webhooks', { url: `${receiver.url}/hooks`, events: ['*'] })
    expect(made).toMatchObject({ status: 200 })
    const library = new Webhook(made.data.secret)
    receiver.verifyWith(made.data.secret)
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

    const issued = await call('POST', '/cards/corporate', { customerId })
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
    expect(declined.data).toMatchObject({ responseCode: '302' })
    await until(async () => told('transaction.declined').length === 1)
    await until(async () => told('transaction.authorization').length === 1)
    expect(told('transaction.authorization')[0]!.data).toMatchObject({
      relayEventId: 'e-1',
      amount: 12.5,
      customerId,
    })
    expect(told('transaction.declined')[0]!.data).toMatchObject({
      relayEventId: 'e-2',
      responseCode: '302',
      ruleId: 'no-gambling',
      decidedBy: 'engine',
    })
    const frozen = await call('POST', `/cards/${cardId}/freeze`, { reason: 'customer called' })
    expect(frozen.status).toBe(200)
    await until(async () => told('card.frozen').length === 1)
    expect(told('card.frozen')[0]!.data).toMatchObject({ status: 'Frozen', by: 'api' })
    const { webhookId } = made.data
    const listed = JSON.parse(await runCli(env, 'webhooks', 'list'))
    expect(listed).toMatchObject({ webhookId, organizationId: 'org-1', enabled: true })
    expect(JSON.parse(await runCli(env, 'webhooks', 'test', webhookId))).toMatchObject({
      delivered: true,
    })
    expect(JSON.parse(await runCli(env, 'kyc', 'show', kyb.data.kycToken))).toMatchObject({
      status: 'Approved',
    })
    await until(async () => (await readMetric(server, 'arbiter_webhooks_pending')) === 0)
    const secrets = ['RC7654321', made.data.secret]
    for (const secret of secrets) expect(server.output()).not.toContain(secret)
  }, 60_000)
})
