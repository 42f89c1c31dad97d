import { Ajv2020 } from 'ajv/dist/2020.js'
import type { OpenAPIV3_1 } from 'openapi-client-axios'
import { expect, it } from 'vitest'
import { webhookOperations } from '../../src/api/document/webhook-operation.ts'
import { startSweeper } from '../../src/engine/sweeper.ts'
import { setOrganization } from '../../src/management/organization.ts'
import { createProjector } from '../../src/projection/projector.ts'
import { createRowDesk } from '../../src/projection/row-desk.ts'
import { eventTypes } from '../../src/webhook/event-type.ts'
import { handed, testEvent } from '../support/engine-world.ts'
import { openMoneyApi } from '../support/money-world.ts'
import { startReceiver } from '../support/receiver.ts'
import { defaultSwitches, packOf } from '../support/world.ts'

const dayMs = 86_400_000
const abroad = { mid: 'M', mcc: '5411', name: 'Shop', city: 'Paris', country: 'FR' }
const home = { ...abroad, city: 'Boston', country: 'US' }
const address = { line1: '1 Marina', city: 'Lagos', state: 'Lagos', country: 'NG' }

interface Told {
  readonly eventId: string
  readonly type: string
  readonly sequence: number
  // biome-ignore lint/suspicious/noExplicitAny: each step knows what it is about
  readonly data: any
}

const described = webhookOperations()
const ajv = new Ajv2020({ strict: false, validateFormats: false })

/** What the OpenAPI document does not say of an event; each of its objects may have no more than is described. */
function undescribedIn(told: Told) {
  const { post } = described[told.type] as { post: OpenAPIV3_1.OperationObject }
  const { content } = post.requestBody as OpenAPIV3_1.RequestBodyObject
  const { schema } = content['application/json']!
  const { type } = told
  return ajv.validate(closed(schema) as object, told) ? [] : [type, ajv.errors]
}

/** The same schema for nothing more than it names. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (schema === null || typeof schema !== 'object') return schema
  const inner = Object.fromEntries(Object.entries(schema).map(([key, one]) => [key, closed(one)]))
  return 'properties' in inner ? { additionalProperties: false, ...inner } : inner
}

/** A back office that wants to hear of everything, and what it hears by each step. */
async function openWorld() {
  const cards = [
    { cardId: 'card-1', balance: '100.00' },
    { cardId: 'card-2', balance: '50.00' },
    { cardId: 'card-3', balance: '1.00' },
  ]
  const cardNumbers = { source: 'sandbox', bin: '999999' } as const
  const world = await openMoneyApi(cards, 100_000, { sandbox: true, cardNumbers })
  const { engine, store, aggregates, clock, time, outside } = world
  const crossBorder = { percentMillionths: 20_000, fixedMinor: {} }
  engine.setPack(packOf({ ...defaultSwitches, crossBorder }))
  const rows = createRowDesk({ aggregates, retentionDays: 400, nowMs: clock.nowMs })
  const onTrouble = (message: string) => expect(message).toBe('')
  const consumers = [rows, outside.consumer]
  const given = { store, aggregates, clock, instance: 'i', consumers, onTrouble }
  const projector = createProjector(given)
  while (await projector.step()) {}
  time.ms += 1_000
  const receiver = await startReceiver()
  const made = await world.post('/webhooks', { url: receiver.url, events: ['*'] })
  const { webhookId, secret } = made.data as { webhookId: string; secret: string }
  receiver.verifyWith(secret)
  let heard = 0

  /** Does something, and resolves to what was told of it once all of that has arrived. */
  async function hear(count: number, work: () => Promise<unknown>): Promise<Told[]> {
    time.ms += 1_000
    await work()
    await engine.idle()
    while (await projector.step()) {}
    time.ms += 1_000
    await expect
      .poll(async () => {
        await outside.office.dispatcher.look()
        return receiver.received.length - heard
      })
      .toBe(count)
    const told = receiver.received.slice(heard).map(({ body }) => JSON.parse(body) as Told)
    heard = receiver.received.length
    return told.sort((a, b) => a.sequence - b.sequence)
  }

  /** One step that tells one thing. */
  async function one(type: string, work: () => Promise<unknown>): Promise<Told['data']> {
    const [told] = await hear(1, work)
    expect(told!.type).toBe(type)
    types.add(type)
    return told!.data
  }

  const types = new Set<string>()
  const relay =
    (event: Parameters<typeof testEvent>[0], said = {}) =>
    async () => {
      engine.deliver({ ...handed(testEvent(event), `slot-${event.eventId}`, time.ms), ...said })
      await engine.idle()
    }
  const post = (path: string, body: object) => async () => {
    const { status, answer } = await world.post(path, body)
    expect(status, JSON.stringify(answer)).toBe(200)
    return answer.data
  }
  const bodies = () => receiver.received.map(({ body }) => body)
  return { ...world, hear, one, relay, call: post, types, webhookId, bodies }
}

it('webhooks tell everything that the catalogue has, with all its fields', async () => {
  const { hear, one, relay, call, types, webhookId, bodies, ...world } = await openWorld()
  const { time, store, aggregates, engine, clock, outside, numbers } = world
  const onCard = { cardId: 'card-1', amountMinor: 1_000, currency: 'USD', merchant: home } as const

  // Events of the relay, each a row of the transactions list.
  const row = { cardId: 'card-1', amount: 10, currency: 'USD', accountId: 'account-of-card-1' }
  const asks = [
    ['Authorization', 'transaction.authorization'],
    ['PreAuthorization', 'transaction.preauthorization'],
    ['CashWithdrawal', 'transaction.cash_withdrawal'],
  ] as const
  for (const [requestType, type] of asks) {
    const event = { eventId: requestType, requestType, ...onCard }
    const told = await one(type, relay(event))
    expect(told).toMatchObject({ ...row, transactionType: requestType, status: 'Approved' })
  }
  const large = { ...onCard, amountMinor: 900_000 }
  const declined = await one('transaction.declined', relay({ eventId: 'large', ...large }))
  expect(declined).toMatchObject({ status: 'Declined', responseCode: '116', decidedBy: 'engine' })
  const advices = [
    ['PartialReversal', 'transaction.partial_reversal', 'PreAuthorization', 400],
    ['Settlement', 'transaction.settlement', 'Authorization', 1_000],
    ['Refund', 'transaction.refund', 'Authorization', 500],
    ['Reversal', 'transaction.reversal', 'PreAuthorization', 600],
  ] as const
  for (const [requestType, type, transactionId, amountMinor] of advices) {
    const event = { ...onCard, eventId: requestType, requestType, transactionId, amountMinor }
    expect(await one(type, relay(event))).toMatchObject({ status: 'Booked', transactionId })
  }
  const other = { ...onCard, eventId: 'Settlement', requestType: 'Settlement' } as const
  const kept = await one('transaction.unmatched', relay({ ...other, amountMinor: 777 }))
  expect(kept).toMatchObject({ status: 'Unmatched', transactionType: 'Settlement', amount: 7.77 })

  // An approval that is taken back is told twice, as what it was and as what it became.
  const taken = { eventId: 'back', ...onCard }
  await one('transaction.authorization', relay(taken))
  const byDefault = { code: '170', decidedBy: 'default', cause: 'timeout', ruleId: '' }
  const said = { said: { ...byDefault, approvedAmountMinor: null, rulesVersion: '' } }
  const back = await one('transaction.declined', relay(taken, said))
  expect(back).toMatchObject({ relayEventId: 'back', decidedBy: 'default', responseCode: '170' })

  // What only the gate answered is told as soon as the ledger has it.
  const alone = await one('transaction.declined', relay({ eventId: 'alone', ...onCard }, said))
  expect(alone).toMatchObject({ relayEventId: 'alone', status: 'Declined', decidedBy: 'default' })

  // Charges.
  const foreign = { cardId: 'card-2', requestType: 'Settlement', merchant: abroad } as const
  const spent = await hear(
    2,
    relay({ eventId: 'abroad', ...foreign, amountMinor: 1_000, currency: 'USD' }),
  )
  const charged = spent.find(({ type }) => type.startsWith('charge'))
  types.add(charged!.type)
  const charge = { cardId: 'card-2', transactionId: 'abroad', currency: 'USD' }
  expect(charged).toMatchObject({ type: 'charge.taken' })
  expect(charged!.data).toEqual({ ...charge, amount: 0.2, pending: 0 })
  const poor = { ...foreign, cardId: 'card-3', currency: 'USD', amountMinor: 100 }
  const overspent = await hear(2, relay({ eventId: 'poor', ...poor }))
  const owed = overspent.find(({ type }) => type.startsWith('charge'))
  types.add(owed!.type)
  const owing = { cardId: 'card-3', transactionId: 'poor', currency: 'USD' }
  expect(owed).toMatchObject({ type: 'charge.pending' })
  expect(owed!.data).toEqual({ ...owing, amount: 0, pending: 0.02 })

  // Money.
  const balances = (available: number) => expect.objectContaining({ available })
  const wallet = (balance: number) => ({ currency: 'USD', balance })
  const moved = { transferId: expect.any(String), currency: 'USD', completedAt: expect.any(String) }
  const transfer = (work: () => Promise<unknown>) => one('transfer.completed', work)
  expect(await transfer(call('/wallets/USD/fund', { amount: 5 }))).toEqual({
    ...moved,
    type: 'WalletFunding',
    amount: 5,
    wallet: wallet(1_005),
  })
  expect(await transfer(call('/cards/card-3/topup', { amount: 0.01 }))).toEqual({
    ...moved,
    type: 'TopUp',
    amount: 0.01,
    cardId: 'card-3',
    balances: balances(0.01),
    wallet: wallet(1_004.99),
  })
  const reprocessed = await one('charge.taken', call('/cards/card-3/charges/reprocess', {}))
  expect(reprocessed).toEqual({ ...owing, amount: 0.01, pending: 0.01 })
  expect(await transfer(call('/cards/card-2/withdrawal', { amount: 9.8 }))).toEqual({
    ...moved,
    type: 'Withdrawal',
    amount: 9.8,
    cardId: 'card-2',
    balances: balances(30),
    wallet: wallet(1_014.79),
  })
  const between = { sourceCardId: 'card-2', beneficiaryCardId: 'card-3', amount: 10 }
  expect(await transfer(call('/cards/transfer', between))).toEqual({
    ...moved,
    type: 'CardToCard',
    amount: 10,
    cardId: 'card-2',
    balances: balances(20),
    beneficiaryCardId: 'card-3',
    beneficiaryBalances: balances(10),
  })
  const forced = { ...onCard, cardId: 'card-3', requestType: 'Settlement' } as const
  await one('transaction.settlement', relay({ eventId: 'forced', ...forced, amountMinor: 1_500 }))
  await one('card.terminated', call('/cards/card-3/terminate', {}))
  expect(await transfer(call('/cards/card-3/regularize', {}))).toEqual({
    ...moved,
    type: 'Regularization',
    amount: 5,
    cardId: 'card-3',
    balances: balances(0),
    wallet: wallet(1_009.79),
  })

  // KYC of a business, with a card for it.
  const business = (registrationNumber: string) => ({
    clientReference: 'biz-1',
    businessKyc: { businessName: 'Acme Ltd', registrationNumber, address },
  })
  const verdicts = async (number: string) => {
    const [pending, ended] = await hear(2, async () => {
      const { kycToken } = (await call('/kyc/business', business(number))()) as { kycToken: string }
      for (const passedMs of [0, 1_000, 1_000]) {
        time.ms += passedMs
        await outside.kyc!.desk.followUp(kycToken)
      }
    })
    types.add(pending!.type).add(ended!.type)
    expect(pending).toMatchObject({ type: 'kyc.pending', sequence: 1, data: { status: 'Pending' } })
    return ended!
  }
  const approved = await verdicts('RC1234567')
  expect(approved).toMatchObject({ type: 'kyc.approved', data: { kycCode: '000' } })
  const rejected = await verdicts('RC1230001')
  expect(rejected).toMatchObject({
    type: 'kyc.rejected',
    data: { kycCode: '185', rejectType: 'FINAL', rejectLabels: ['ID_NOT_FOUND'] },
  })
  const { customerId } = approved.data
  const opened = await hear(2, call('/cards/lite', { customerId, balance: 20, swipeCount: 3 }))
  const issued = opened.find(({ type }) => type === 'card.issued')!
  const { cardId } = issued.data
  types.add('card.issued')
  const card = { cardId, customerId, type: 'lite', currency: 'USD' }
  expect(issued.data).toMatchObject({ ...card, status: 'Active', by: 'api' })
  expect(opened.find(({ type }) => type === 'transfer.completed')!.data).toEqual({
    ...moved,
    type: 'InitialFunding',
    amount: 20,
    cardId,
    balances: balances(20),
    wallet: wallet(989.79),
  })
  const steps = [
    ['card.updated', 'merchants/blacklist', { mid: 'MID-7' }, 'Active'],
    ['card.frozen', 'freeze', {}, 'Frozen'],
    ['card.unfrozen', 'unfreeze', {}, 'Active'],
    ['card.terminated', 'terminate', {}, 'Terminated'],
  ] as const
  for (const [type, path, body, status] of steps) {
    const data = await one(type, call(`/cards/${cardId}/${path}`, body))
    expect(data).toMatchObject({ ...card, status, by: 'api' })
    expect(Object.keys(data).filter((name) => /mids/i.test(name))).toEqual([])
  }
  expect(await one('ping', call(`/webhooks/${webhookId}/test`, {}))).toEqual({})
  // A disabled organization cannot call any more, and is still told.
  await setOrganization(aggregates, 'org-1', { enabled: false })
  // Last, for no token lives that long.
  await one('transaction.authorization', relay({ eventId: 'left', ...onCard }))
  const sweeper = startSweeper({
    store,
    engine,
    clock: { ...clock, isDoubted: () => false },
    intervalMs: 3_600_000,
    logRetentionMs: 400 * dayMs,
    onError: (error) => expect(error).toBe(null),
  })
  const expired = await one('transaction.expired', async () => {
    time.ms += 40 * dayMs
    await sweeper.sweep()
  })
  sweeper.stop()
  expect(expired).toMatchObject({ transactionType: 'Expiry', transactionId: 'left', amount: 10 })
  expect([...types].sort()).toEqual([...eventTypes].sort())
  const { pan } = (await numbers.read(cardId)) as { pan: string }
  const all = bodies().join('\n')
  expect(all).toContain(`999999******${pan.slice(-4)}`)
  for (const secret of [pan, 'cvv', 'RC1234567']) expect(all).not.toContain(secret)
  for (const body of bodies()) expect(undescribedIn(JSON.parse(body))).toEqual([])
}, 60_000)
