import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import * as adyen from '@adyen/api-library'
import Lithic from 'lithic'
import Stripe from 'stripe'
import { describe, expect, it } from 'vitest'
import { createLedger } from '../../src/domain/ledger/ledger.ts'
import type { CardEvent } from '../../src/domain/record/event.ts'
import { createProfileAuthentication } from '../../src/profile/authentication.ts'
import { findProfile, type Profile } from '../../src/profile/profile.ts'
import { readCardRow } from '../../src/wire/card-row.ts'
import { isRefusal, type Refusal } from '../../src/wire/refusal.ts'
import { defaultSwitches, packOf } from '../support/world.ts'

const root = join(import.meta.dirname, '..', '..')
const nowMs = Date.UTC(2026, 10, 20)
const pack = packOf(defaultSwitches)

type Json = Record<string, unknown>

function example(name: string): Json {
  return JSON.parse(readFileSync(join(root, 'test', 'profiles', `${name}.json`), 'utf8'))
}

/** One card with 1,000.00 behind a profile: bodies go in, answers and money come out. */
function openWorld(name: string, cardId: string, currency = 'USD') {
  const profile = findProfile(name, join(root, 'rules'))
  const row = { cardId, customerId: 'customer-1', type: 'retail', currency, balance: '1000' }
  const read = readCardRow(row)
  if (Array.isArray(read)) throw new Error(JSON.stringify(read))
  const { account, card } = read
  const ledger = createLedger()
  ledger.operate(
    account.accountId,
    { type: 'open', account, card, givesBalance: false },
    pack,
    nowMs,
  )
  let deliveries = 0

  function send(body: unknown, headers: IncomingHttpHeaders = {}) {
    const { event, echoes } = profile.read(Buffer.from(JSON.stringify(body)), headers)
    if (isRefusal(event)) {
      const { status, body: text } = profile.renderRefusal(event, echoes)
      return { status, body: JSON.parse(text) as Json, event: null }
    }
    const slot = `slot-${deliveries++}`
    const { answer } = ledger.deliver({ event, slot, receivedAtMs: nowMs, said: null }, pack)
    if (answer === null) throw new Error('no answer')
    const { status, body: text } = profile.renderReply(event, answer, echoes)
    return { status, body: JSON.parse(text) as Json, event }
  }

  return {
    profile,
    send,
    money() {
      const { postedMinor, heldMinor } = ledger.book(account.accountId).account()!
      return { posted: postedMinor / 100, held: heldMinor / 100 }
    },
    lastUnmatched: () => ledger.entries.at(-1)?.unmatched ?? null,
  }
}

function authenticationOf(profile: Profile, secret: string) {
  const check = createProfileAuthentication(profile.authentication, {
    mode: 'hmac',
    secrets: [secret],
  })
  return (headers: IncomingHttpHeaders, text: string) =>
    check(headers, Buffer.from(text), Date.now(), {})?.message ?? 'passes'
}

describe('Stripe as a caller', () => {
  const stripe = new Stripe('sk_test_example')
  const secret = 'whsec_example of an endpoint'
  const cardId = 'ic_example0001'
  const request = example('stripe-issuing.request')
  const authorization = (request.data as { object: Stripe.Issuing.Authorization }).object

  /** An event as Stripe sends it when the authorization has come to this. */
  function event(id: string, type: string, more: Partial<Stripe.Issuing.Authorization>): Json {
    const object = { ...authorization, pending_request: null, ...more }
    return { ...request, id, type, data: { object } }
  }

  function decided(
    approved: boolean,
    reason: Stripe.Issuing.Authorization.RequestHistory.Reason,
    id = 'evt_created',
  ): Json {
    const one: Stripe.Issuing.Authorization.RequestHistory = {
      amount: 2540,
      amount_details: null,
      approved,
      authorization_code: null,
      created: 1_794_650_400,
      currency: 'usd',
      merchant_amount: 2310,
      merchant_currency: 'eur',
      network_risk_score: null,
      reason,
      reason_message: null,
      requested_at: null,
    }
    const status = approved ? 'pending' : 'closed'
    const more = { approved, status, amount: approved ? 2540 : 0, request_history: [one] }
    return event(id, 'issuing_authorization.created', more)
  }

  it('signs so that we let it in, and its own library takes the same call for true', () => {
    const { profile } = openWorld('stripe-issuing', cardId)
    const payload = JSON.stringify(request)
    const header = stripe.webhooks.generateTestHeaderString({ payload, secret })
    const check = authenticationOf(profile, secret)
    expect(check({ 'stripe-signature': header }, payload)).toBe('passes')
    expect(stripe.webhooks.constructEvent(payload, header, secret).id).toBe('evt_example0001')
    expect(check({ 'stripe-signature': header }, `${payload} `)).toBe('signature wrong')
    const other = stripe.webhooks.generateTestHeaderString({ payload, secret: 'another' })
    expect(check({ 'stripe-signature': other }, payload)).toBe('signature wrong')
  })

  it.each(['webhook_timeout', 'webhook_error', 'suspected_fraud'] as const)(
    'gets its hold released when it declined in the end, with %s',
    (reason) => {
      const { send, money } = openWorld('stripe-issuing', cardId)
      expect(send(request).body).toMatchObject({ approved: true })
      expect(money()).toEqual({ posted: 1000, held: 25.4 })
      const received = { status: 200, body: { received: true } }
      expect(send(decided(false, reason))).toMatchObject(received)
      expect(send(decided(false, reason))).toMatchObject(received)
      expect(money()).toEqual({ posted: 1000, held: 0 })
    },
  )

  it('is told no when its request comes after its own decline', () => {
    const { send, money } = openWorld('stripe-issuing', cardId)
    send(decided(false, 'webhook_timeout'))
    expect(send(request).body).toMatchObject({ approved: false })
    expect(money()).toEqual({ posted: 1000, held: 0 })
  })

  it('changes nothing by telling us what we decided', () => {
    const { send, money } = openWorld('stripe-issuing', cardId)
    send(request)
    expect(send(decided(true, 'webhook_approved')).event).toBeNull()
    expect(send(decided(false, 'webhook_declined', 'evt_other')).event).toBeNull()
    expect(send(decided(false, 'card_inactive', 'evt_before')).event).toBeNull()
    expect(money()).toEqual({ posted: 1000, held: 25.4 })
  })

  it('gets its hold released for any reason when it says that we had approved', () => {
    const { send, money } = openWorld('stripe-issuing', cardId)
    const { metadata } = send(request).body
    const told = decided(false, 'insufficient_funds')
    const { object } = told.data as { object: Json }
    send({ ...told, data: { object: { ...object, metadata } } })
    expect(money()).toEqual({ posted: 1000, held: 0 })
  })

  it('is understood in bodies far above 16 KiB', () => {
    const { send, money } = openWorld('stripe-issuing', cardId)
    const categories = Array.from({ length: 280 }, (_, i) => `a_category_of_merchants_${i}`)
    const spending_controls = {
      allowed_categories: null,
      allowed_merchant_countries: null,
      blocked_categories: categories,
      blocked_merchant_countries: [],
      spending_limits: Array.from({ length: 40 }, (_, i) => ({
        amount: 100_000 + i,
        categories: categories.slice(i, i + 20),
        interval: 'monthly',
      })),
      spending_limits_currency: 'usd',
    }
    const card = { ...authorization.card, spending_controls }
    const object = { ...authorization, card }
    const large = { ...request, data: { object } }
    const transactions = Array.from({ length: 8 }, (_, i) => ({
      ...example('stripe-issuing.capture'),
      id: `ipi_example_${i}`,
      card,
    }))
    const reversed = event('evt_reversed', 'issuing_authorization.updated', {
      status: 'reversed',
      card: card as unknown as Stripe.Issuing.Card,
      transactions: transactions as unknown as Stripe.Issuing.Transaction[],
    })
    expect(JSON.stringify(large).length).toBeGreaterThan(16_384)
    expect(JSON.stringify(reversed).length).toBeGreaterThan(120_000)
    expect(send(large).body).toMatchObject({ approved: true })
    expect(money().held).toBe(25.4)
    expect(send(reversed).body).toEqual({ received: true })
    expect(money().held).toBe(0)
  })
})

describe('Lithic as a caller', () => {
  const key = Buffer.from('0123456789abcdef01234567')
  const secret = `whsec_${key.toString('base64')}`
  const lithic = new Lithic({ apiKey: 'example', webhookSecret: secret })
  const request = example('lithic-asa.authorization') as Json &
    Lithic.Webhooks.CardAuthorizationApprovalRequestWebhookEvent
  const cardId = request.card.token

  function updated(status: Lithic.Transactions.Transaction['status'], more: Json = {}): Json {
    const told: Partial<Lithic.Webhooks.CardTransactionUpdatedWebhookEvent> = {
      event_type: 'card_transaction.updated',
      token: request.token,
      card_token: cardId,
      status,
      result: status === 'DECLINED' ? 'UNKNOWN_HOST_TIMEOUT' : 'APPROVED',
      created: '2026-11-14T10:00:00Z',
      updated: '2026-11-14T10:00:03Z',
      amounts: {
        cardholder: { amount: 4200, conversion_rate: '1', currency: 'USD' },
        hold: { amount: 4200, currency: 'USD' },
        merchant: { amount: 6300, currency: 'CAD' },
        settlement: { amount: 0, currency: 'USD' },
      },
      events: [],
    }
    return { ...told, ...more }
  }

  it('signs so that we let it in, and its own library takes the same call for true', () => {
    const { profile } = openWorld('lithic-asa', cardId)
    const text = JSON.stringify(request)
    const seconds = Math.floor(Date.now() / 1000)
    const mac = createHmac('sha256', key).update(`msg_1.${seconds}.${text}`).digest('base64')
    const headers = {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(seconds),
      'webhook-signature': `v1,${mac}`,
    }
    expect(lithic.webhooks.parse(text, { headers })).toEqual(request)
    expect(authenticationOf(profile, secret)(headers, text)).toBe('passes')
  })

  it('may add the same amount twice, and send each of them again', () => {
    const { send, money } = openWorld('lithic-asa', cardId)
    const call = (id: string) => send(request, { 'webhook-id': id }).body
    const approved = { token: request.token, result: 'APPROVED' }
    for (const id of ['msg_1', 'msg_2', 'msg_1', 'msg_2']) expect(call(id)).toEqual(approved)
    expect(money().held).toBe(84)
    const named = { ...request, event_token: 'event-3' }
    for (const id of ['msg_3', 'msg_4']) send(named, { 'webhook-id': id })
    expect(money().held).toBe(126)
  })

  it.each(['DECLINED', 'VOIDED', 'EXPIRED'] as const)(
    'gets its hold released when the transaction is %s',
    (status) => {
      const { send, money } = openWorld('lithic-asa', cardId)
      send(request)
      expect(money().held).toBe(42)
      expect(send(updated('PENDING'))).toMatchObject({ status: 200, event: null })
      for (let i = 0; i < 2; i++) expect(send(updated(status))).toMatchObject({ status: 200 })
      expect(money()).toEqual({ posted: 1000, held: 0 })
      expect(send(request, { 'webhook-id': 'late' }).body).toMatchObject({ result: 'DECLINED' })
    },
  )

  it('changes nothing by telling us of our own decline', () => {
    const { send, money } = openWorld('lithic-asa', cardId)
    send(request)
    const ours = updated('DECLINED', { events: [{ detailed_results: ['CUSTOM_ASA_RESULT'] }] })
    expect(send(ours)).toMatchObject({ status: 200, event: null })
    expect(money().held).toBe(42)
  })

  it('is not taken for a card transaction when it tells of another thing that was declined', () => {
    const { send, profile } = openWorld('lithic-asa', cardId)
    const payment = updated('DECLINED', { event_type: 'payment_transaction.updated' })
    expect(send(payment)).toMatchObject({ status: 200, body: {}, event: null })
    const { event } = profile.read(Buffer.from(JSON.stringify(payment)))
    const { unknownKind } = event as Refusal
    expect(unknownKind).toBe('payment_transaction.updated')
  })
})

describe('Adyen as a caller', () => {
  const request = example('adyen-relayed.authorisation')
  const { relayedAuthorizationWebhooks, transferWebhooks } = adyen.Types
  const cardId = 'PI00000000000000000000001'

  function transfer(status: string, more: Json = {}): Json {
    const data = Object.assign(new transferWebhooks.TransferData(), {
      id: '1EXAMPLE00000001',
      status,
      category: transferWebhooks.TransferData.CategoryEnum.IssuedCard,
      categoryData: { type: transferWebhooks.IssuedCard.TypeEnum.IssuedCard, ...more },
      amount: { currency: 'EUR', value: 3125 },
      paymentInstrument: { id: cardId },
    })
    const notification = Object.assign(new transferWebhooks.TransferNotificationRequest(), {
      environment: 'test',
      type: transferWebhooks.TransferNotificationRequest.TypeEnum.BalancePlatformTransferUpdated,
      data,
    })
    return JSON.parse(JSON.stringify(notification))
  }

  it('is what its own library reads, and reads our answers with it', () => {
    const { send } = openWorld('adyen-relayed', cardId, 'EUR')
    const { ObjectSerializer } = relayedAuthorizationWebhooks
    const read = ObjectSerializer.deserialize(request, 'RelayedAuthorisationRequest', '')
    expect(read).toMatchObject({ id: '1EXAMPLE00000001', amount: { value: -3125 } })
    const answerTo = (body: unknown) =>
      ObjectSerializer.deserialize(send(body).body, 'RelayedAuthorisationResponse', '')
    const { Authorised, Refused } = relayedAuthorizationWebhooks.AuthorisationDecisionResponse
      .StatusEnum as Record<'Authorised' | 'Refused', string>
    expect(answerTo(request)).toMatchObject({ authorisationDecision: { status: Authorised } })
    const incoming = { ...request, amount: { currency: 'EUR', value: 5 } }
    expect(answerTo(incoming)).toMatchObject({ authorisationDecision: { status: Refused } })
    expect(send(incoming).status).toBe(200)
  })

  it('may adjust by the same amount twice, and send each of them again', () => {
    const { send, money } = openWorld('adyen-relayed', cardId, 'EUR')
    const second = { ...request, authCode: '000002' }
    const balanceBefore = { currency: 'EUR', value: 46_875 }
    const [mutation] = request.balanceMutations as Json[]
    const third = { ...second, balanceMutations: [{ ...mutation, balanceBefore }] }
    for (const body of [request, second, third, second, request, third]) {
      expect(send(body).body).toMatchObject({ authorisationDecision: { status: 'Authorised' } })
    }
    expect(money().held).toBe(93.75)
  })

  it('gets its hold released when it refused in the end, or the payment expired', () => {
    for (const status of ['refused', 'expired']) {
      const { send, money } = openWorld('adyen-relayed', cardId, 'EUR')
      send(request)
      expect(money().held).toBe(31.25)
      const accepted = { status: 200, body: { notificationResponse: '[accepted]' } }
      for (let i = 0; i < 2; i++) expect(send(transfer(status))).toMatchObject(accepted)
      expect(money()).toEqual({ posted: 1000, held: 0 })
    }
  })

  it('changes nothing by telling us of our own decline, or of what this profile leaves to others', () => {
    const { send, money } = openWorld('adyen-relayed', cardId, 'EUR')
    send(request)
    const ours = { relayedAuthorisationData: { metadata: { decision: 'decline' } } }
    const bank = { type: 'bank' }
    for (const body of [
      transfer('refused', ours),
      transfer('refused', bank),
      transfer('authorised'),
      transfer('captured'),
      { ...request, type: 'balancePlatform.balanceAccount.created' },
    ]) {
      expect(send(body)).toMatchObject({ status: 200, event: null })
    }
    expect(money().held).toBe(31.25)
  })
})

describe('Marqeta as a caller', () => {
  const cardId = 'card-token-example-1'
  const first = example('marqeta-jit.authorization')
  const original = 'c0000000-0000-4000-8000-000000000001'

  interface Message {
    readonly token: string
    readonly method: string
    readonly amount: number
    readonly preceding?: string
    readonly more?: Json
    /** How our gateway answered, in a notification of what became of a request. */
    readonly log?: Json
  }

  function message({ token, method, amount, preceding, more = {}, log }: Message): Json {
    const jit_funding = {
      token: `jit-${token}`,
      method,
      user_token: 'user-example-1',
      amount,
      ...(preceding === undefined ? {} : { original_jit_funding_token: original }),
    }
    const funding = log === undefined ? {} : { funding: { gateway_log: log } }
    return {
      ...first,
      token,
      amount,
      ...(preceding === undefined ? {} : { preceding_related_transaction_token: preceding }),
      gpa_order: { jit_funding, ...funding },
      pos: {},
      ...more,
    }
  }
  const increment: Message = {
    token: 'inc',
    method: 'pgfs.authorization.incremental',
    amount: 10,
    preceding: 'a0000000-0000-4000-8000-000000000001',
  }
  const approved = { timed_out: false, response: { code: '200' } }

  it('finds the hold again after an increment and an advice, and keeps the rest of it', () => {
    const { send, money } = openWorld('marqeta-jit', cardId)
    expect(send(first).status).toBe(200)
    expect(send(message(increment)).status).toBe(200)
    expect(money().held).toBe(28.75)
    const advice = {
      token: 'adv',
      method: 'pgfs.authorization.reversal',
      amount: 5.5,
      preceding: 'inc',
      more: { type: 'authorization.advice', amount: 23.25 },
    }
    send(message(advice))
    expect(money().held).toBe(23.25)
    const part = (token: string, amount: number, is_final_clearing?: boolean) =>
      message({
        token,
        method: 'pgfs.authorization.clearing',
        amount,
        preceding: 'adv',
        more: { state: 'COMPLETION', is_final_clearing },
      })
    for (let i = 0; i < 2; i++) send(part('clr1', 10))
    expect(money()).toEqual({ posted: 990, held: 13.25 })
    send(part('clr2', 3, false))
    expect(money()).toEqual({ posted: 987, held: 10.25 })
    send(part('clr3', 10, true))
    expect(money()).toEqual({ posted: 977, held: 0 })
  })

  it('gets its hold released when it declined in the end, or had no answer in time', () => {
    for (const log of [approved, { timed_out: true }, undefined]) {
      for (const state of ['DECLINED', 'ERROR']) {
        const { send, money } = openWorld('marqeta-jit', cardId)
        const ask: Message = { token: 'one', method: 'pgfs.authorization', amount: 18.75 }
        send(message(ask))
        expect(money().held).toBe(18.75)
        const told = message({ ...ask, more: { state }, ...(log === undefined ? {} : { log }) })
        for (let i = 0; i < 2; i++) expect(send(told)).toMatchObject({ status: 200, body: {} })
        expect(money()).toEqual({ posted: 1000, held: 0 })
      }
    }
  })

  it('gets back no more than the increment that it declined, and only where we had approved it', () => {
    const { send, money } = openWorld('marqeta-jit', cardId)
    send(first)
    send(message(increment))
    const declined = (log: Json, more: Json = {}) =>
      send(message({ ...increment, log, more: { state: 'DECLINED', ...more } }))
    declined({ timed_out: false, response: { code: '402' } })
    declined({ timed_out: true })
    declined(approved, { pos: { partial_approval_capable: true } })
    expect(money().held).toBe(28.75)
    declined(approved)
    declined(approved)
    expect(money().held).toBe(18.75)
  })

  it('changes nothing by telling us what we decided', () => {
    const { send, money } = openWorld('marqeta-jit', cardId)
    const ask: Message = { token: 'one', method: 'pgfs.authorization', amount: 18.75 }
    send(message(ask))
    // A partial approval is told with the amount that was approved.
    expect(send(message({ ...ask, amount: 9, log: approved }))).toMatchObject({ event: null })
    const ours = { timed_out: false, response: { code: '402' } }
    expect(send(message({ ...ask, more: { state: 'DECLINED' }, log: ours })).event).toBeNull()
    const unasked = { ...first, state: 'DECLINED', gpa_order: undefined }
    expect(send(unasked)).toMatchObject({ status: 200, event: null })
    expect(money().held).toBe(18.75)
  })

  it('is declined in its own shape, and takes no receipt of a clearing that we cannot read', () => {
    const { send, money } = openWorld('marqeta-jit', cardId)
    const bad = message({
      token: 'one',
      method: 'pgfs.authorization',
      amount: 5,
      more: { currency_code: '?' },
    })
    expect(send(bad)).toEqual({
      status: 402,
      event: null,
      body: {
        jit_funding: {
          token: 'jit-one',
          method: 'pgfs.authorization',
          user_token: 'user-example-1',
          amount: 5,
          decline_reason: 'TRANSACTION_NOT_PERMITTED',
          memo: 'currency (/currency_code) must be an ISO 4217 code',
        },
      },
    })
    const inquiry = message({ token: 'two', method: 'pgfs.balanceinquiry', amount: 0 })
    expect(send(inquiry)).toMatchObject({ status: 402, body: { jit_funding: { amount: 0 } } })
    const clearing = { token: 'three', method: 'pgfs.authorization.clearing', amount: 5 }
    expect(send(message({ ...clearing, more: { currency_code: '?' } })).status).toBe(400)
    const dispute = message({ token: 'four', method: 'pgfs.dispute.credit', amount: 5 })
    expect(send(dispute)).toMatchObject({ status: 200, body: {}, event: null })
    expect(money()).toEqual({ posted: 1000, held: 0 })
  })

  it('may count its merchants in any currency of ISO 4217, or in one that is none', () => {
    const { send } = openWorld('marqeta-jit', cardId)
    const counted = (original_currency_code: string): CardEvent | null => {
      const network = { original_amount: 130.5, original_currency_code }
      const more = { currency_conversion: { network } }
      const token = `cur-${original_currency_code}`
      return send(message({ token, method: 'pgfs.authorization', amount: 1, more })).event
    }
    expect(counted('068')).toMatchObject({ merchantCurrency: 'BOB', merchantAmountMinor: 13_050 })
    expect(counted('392')).toMatchObject({ merchantCurrency: 'JPY', merchantAmountMinor: 0 })
    expect(counted('999')).toMatchObject({ merchantCurrency: '', merchantAmountMinor: 0 })
  })
})

describe('an advice of before 1970', () => {
  it('is too old to be booked', () => {
    const world = openWorld('default', 'card-1')
    const settlement = {
      ...example('default.authorization'),
      requestType: 'Settlement',
      occurredAt: '1969-07-20T20:17:40Z',
    }
    expect(world.send(settlement).status).toBe(200)
    expect(world.lastUnmatched()).toBe('too old')
    expect(world.money()).toEqual({ posted: 1000, held: 0 })
  })
})
