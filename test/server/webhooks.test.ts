import { randomBytes } from 'node:crypto'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it, onTestFinished } from 'vitest'
import { apiUrlOf, createApiClient } from '../support/api-client.ts'
import { makeCertificate } from '../support/certificate.ts'
import { runCli } from '../support/cli.ts'
import { startReceiver } from '../support/receiver.ts'
import { fastFolder, plainPack, readMetric, startServer, until } from '../support/server.ts'

interface Told {
  readonly eventId: string
  readonly type: string
  readonly sequence: number
  readonly data: Record<string, unknown>
}

const inOrganization = ['--organization', 'org-1']
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
      SECRETS_KEY: randomBytes(32).toString('base64'),
      NODE_EXTRA_CA_CERTS: join(folder.path, 'authority.pem'),
    }
    const authority = makeCertificate('Our authority')
    writeFileSync(env.NODE_EXTRA_CA_CERTS, authority.certPem)
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

    const certificate = makeCertificate('localhost', authority)
    const secure = await startReceiver(() => 200, undefined, certificate)
    const add = async (url: string, event: string) => {
      const given = [...inOrganization, '--url', url, '--event', event]
      return JSON.parse(await runCli(env, 'webhooks', 'add', ...given))
    }
    const byTls = await add(secure.url, 'card.*')
    secure.verifyWith(byTls.secret)
    const dead = await add('http://127.0.0.1:1/', 'transfer.*')

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
    await runCli(env, 'wallet', 'fund', 'org-1', 'USD', '7.00', '--reference', 'wire-1')
    await until(async () => told('transfer.completed').length === 3)
    const transfers = told('transfer.completed').map(({ data }) => [data.type, data.amount])
    expect(transfers.sort()).toEqual([
      ['TopUp', 50],
      ['WalletFunding', 100],
      ['WalletFunding', 7],
    ])

    /** On a busy machine an answer may come too late, and is one by default then. */
    const decide = async (mcc: string) => {
      for (let i = 0; ; i++) {
        const { data } = await call('POST', '/sandbox/events', event(`${mcc}-${i}`, cardId, mcc))
        if (data.decidedBy === 'engine') return data as { eventId: string; responseCode: string }
      }
    }
    const toldOf = (type: string, { eventId }: { readonly eventId: string }) =>
      told(type).filter(({ data }) => data.relayEventId === eventId)
    const approved = await decide('5411')
    expect(approved).toMatchObject({ responseCode: '000' })
    const declined = await decide('7995')
    expect(declined).toMatchObject({ responseCode: '302' })
    await until(async () => toldOf('transaction.declined', declined).length === 1)
    await until(async () => toldOf('transaction.authorization', approved).length === 1)
    expect(toldOf('transaction.authorization', approved)[0]!.data).toMatchObject({
      amount: 12.5,
      customerId,
    })
    expect(toldOf('transaction.declined', declined)[0]!.data).toMatchObject({
      responseCode: '302',
      ruleId: 'no-gambling',
      decidedBy: 'engine',
    })
    const frozen = await call('POST', `/cards/${cardId}/freeze`, { reason: 'customer called' })
    expect(frozen.status).toBe(200)
    await until(async () => told('card.frozen').length === 1)
    expect(told('card.frozen')[0]!.data).toMatchObject({ status: 'Frozen', by: 'api' })
    const { webhookId } = made.data
    const frozenAtTls = () => secure.received.filter(({ body }) => body.includes('card.frozen'))
    await until(async () => frozenAtTls().length === 1)
    const { eventId } = JSON.parse(frozenAtTls()[0]!.body) as Told
    const replayed = ['webhooks', 'replay', byTls.webhookId, '--event-id', eventId]
    expect(await runCli(env, ...replayed)).toBe('1 event is sent again\n')
    await until(async () => frozenAtTls().length === 2)
    expect(frozenAtTls()[1]!.body).toBe(frozenAtTls()[0]!.body)
    await until(async () => (await readMetric(server, 'arbiter_webhooks_pending')) === 3)
    const secrets = ['RC7654321', made.data.secret]
    for (const secret of secrets) expect(server.output()).not.toContain(secret)

    // Another key, then another store: all of it is still there.
    await server.stop()
    const next = { ...env, SECRETS_KEY: randomBytes(32).toString('base64') }
    const changing = { ...next, SECRETS_KEY_OLD: env.SECRETS_KEY }
    expect(await runCli(changing, 'secrets', 'rewrap')).toContain('1 verifications are rewrapped')
    const file = join(folder.path, 'backup.gz')
    await runCli(next, 'backup', file)
    const restored = { ...next, DATA_DIR: join(folder.path, 'restored') }
    await runCli(restored, 'restore', file)
    const listed = await runCli(restored, 'webhooks', 'list')
    expect(listed).toBe(await runCli(next, 'webhooks', 'list'))
    const lines = listed.trim().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { webhookId, organizationId: 'org-1', enabled: true, pending: 0 },
      { webhookId: byTls.webhookId, pending: 0 },
      { webhookId: dead.webhookId, pending: 3, lastFailure: { status: 0 } },
    ])
    const shown = JSON.parse(await runCli(restored, 'kyc', 'show', kyb.data.kycToken))
    expect(shown).toMatchObject({ status: 'Approved', customerId })
    const pinged = JSON.parse(await runCli(restored, 'webhooks', 'test', webhookId))
    expect(pinged).toMatchObject({ delivered: true })
  }, 120_000)
})
