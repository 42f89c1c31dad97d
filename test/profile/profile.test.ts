import { spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RelayAuthentication } from '../../src/config/config.ts'
import { currencyDecimals } from '../../src/domain/record/currency.ts'
import { type CardEvent, requestTypes } from '../../src/domain/record/event.ts'
import type { Answer } from '../../src/domain/record/event-record.ts'
import { formatMinor } from '../../src/domain/record/money.ts'
import { createProfileAuthentication } from '../../src/profile/authentication.ts'
import {
  defaultProfile,
  findProfile,
  loadProfile,
  type Profile,
  unmetRequirements,
} from '../../src/profile/profile.ts'
import { loadPack } from '../../src/rules/load/compiler.ts'
import { signatureWindowMs, signBody } from '../../src/wire/authentication.ts'
import { countries } from '../../src/wire/country.ts'
import { readEvent } from '../../src/wire/event.ts'
import { alpha2ByAlpha3, currencyByNumber } from '../../src/wire/iso-codes.ts'
import { isRefusal, type Refusal } from '../../src/wire/refusal.ts'
import { startServer, temporaryFolder } from '../support/server.ts'
import { defaultSwitches } from '../support/world.ts'

const root = join(import.meta.dirname, '..', '..')
const rules = join(root, 'rules')
const folder = temporaryFolder()
afterAll(() => folder.remove())

type Json = Record<string, unknown>

function example(name: string): Json {
  return JSON.parse(readFileSync(join(root, 'test', 'profiles', `${name}.json`), 'utf8'))
}

const loaded = new Map<string, Profile>()

function shipped(name: string): Profile {
  const profile = loaded.get(name) ?? findProfile(name, rules)
  loaded.set(name, profile)
  return profile
}

function bytes(body: unknown): Buffer {
  return Buffer.from(JSON.stringify(body))
}

function read(profile: Profile, body: unknown): CardEvent {
  const { event } = profile.read(bytes(body))
  if (isRefusal(event)) throw new Error(event.message)
  return event
}

function refusal(profile: Profile, body: unknown): Refusal {
  const { event } = profile.read(Buffer.isBuffer(body) ? body : bytes(body))
  if (!isRefusal(event)) throw new Error('it was understood')
  return event
}

/** A copy with one place changed; undefined takes it away. */
function changed(body: Json, path: string, value: unknown): Json {
  const copy = structuredClone(body)
  const names = path.split('/').slice(1)
  const last = names.pop()!
  let at = copy
  for (const name of names) at = at[name] as Json
  if (value === undefined) delete at[last]
  else at[last] = value
  return copy
}

function answer(given: Partial<Answer> = {}): Answer {
  return {
    code: '000',
    decidedBy: 'engine',
    cause: '',
    ruleId: '',
    approvedAmountMinor: null,
    rulesVersion: 'abc',
    ...given,
  }
}

function reply(profile: Profile, body: unknown, given: Partial<Answer> = {}) {
  const { event, echoes } = profile.read(bytes(body))
  if (isRefusal(event)) throw new Error(event.message)
  const { status, body: text } = profile.renderReply(event, answer(given), echoes)
  return { status, body: JSON.parse(text) }
}

function refused(profile: Profile, body: unknown) {
  const { echoes } = profile.read(Buffer.isBuffer(body) ? body : bytes(body))
  const { status, body: text } = profile.renderRefusal(refusal(profile, body), echoes)
  return { status, body: JSON.parse(text) }
}

/** The event in our own wire format. */
function toWire(event: CardEvent): Json {
  const { amountMinor, merchantAmountMinor, merchantCurrency, occurredAtMs, ...rest } = event
  return {
    ...rest,
    ...(amountMinor === null ? {} : { amount: formatMinor(amountMinor, event.currency) }),
    ...(merchantCurrency === ''
      ? {}
      : { merchantCurrency, merchantAmount: formatMinor(merchantAmountMinor, merchantCurrency) }),
    occurredAt: new Date(occurredAtMs).toISOString(),
  }
}

const nothingElse = {
  originalTransactionId: '',
  final: null,
  partialApprovalSupported: false,
  channel: '',
  entryMode: '',
}
const mercado = {
  mid: '90001234567',
  mcc: '5411',
  name: 'MERCADO EXEMPLO',
  city: 'Lisboa',
  country: 'PT',
}
const diner = {
  mid: '000000000012345',
  mcc: '5812',
  name: 'Example Diner',
  city: '',
  country: 'US',
}
const oakland = { ...diner, city: 'Oakland' }

/** What each example body must become. */
const expectedEvents: Readonly<Record<string, CardEvent>> = {
  'default.authorization': {
    ...nothingElse,
    eventId: 'evt-501',
    requestType: 'Authorization',
    transactionId: 'txn-501',
    cardId: 'card-1',
    amountMinor: 2540,
    currency: 'USD',
    partialApprovalSupported: true,
    merchant: { mid: 'MID501', mcc: '5411', name: 'Corner Grocery', city: 'Accra', country: 'GH' },
    channel: 'pos',
    entryMode: 'chip',
    merchantAmountMinor: 0,
    merchantCurrency: '',
    occurredAtMs: Date.UTC(2026, 10, 14, 10),
  },
  'stripe-issuing.request': {
    ...nothingElse,
    eventId: 'evt_example0001',
    requestType: 'Authorization',
    transactionId: 'iauth_example0001',
    cardId: 'ic_example0001',
    amountMinor: 2540,
    currency: 'USD',
    partialApprovalSupported: true,
    merchant: mercado,
    entryMode: 'contactless',
    merchantAmountMinor: 2310,
    merchantCurrency: 'EUR',
    occurredAtMs: 1_794_650_400_000,
    details: { cvc: 'not_provided', postalCode: '1000' },
  },
  'stripe-issuing.capture': {
    ...nothingElse,
    eventId: 'evt_example0002',
    requestType: 'Settlement',
    transactionId: 'iauth_example0001',
    cardId: 'ic_example0001',
    amountMinor: 2540,
    currency: 'USD',
    merchant: mercado,
    merchantAmountMinor: 2310,
    merchantCurrency: 'EUR',
    occurredAtMs: 1_794_736_800_000,
  },
  'stripe-issuing.refund': {
    ...nothingElse,
    eventId: 'evt_example0003',
    requestType: 'Refund',
    transactionId: 'ipi_example0002',
    originalTransactionId: 'iauth_example0001',
    cardId: 'ic_example0001',
    amountMinor: 1000,
    currency: 'USD',
    merchant: mercado,
    merchantAmountMinor: 910,
    merchantCurrency: 'EUR',
    occurredAtMs: 1_794_823_200_000,
  },
  'stripe-issuing.reversed': {
    ...nothingElse,
    eventId: 'evt_example0004',
    requestType: 'Reversal',
    transactionId: 'iauth_example0001',
    cardId: 'ic_example0001',
    amountMinor: null,
    currency: 'USD',
    merchant: { ...mercado, city: '' },
    merchantAmountMinor: 0,
    merchantCurrency: '',
    occurredAtMs: 1_794_650_460_000,
  },
  'lithic-asa.authorization': {
    ...nothingElse,
    eventId: '0a1b2c3d-0000-4000-8000-00000000e001.2026-11-14T10:00:00Z.4200',
    requestType: 'Authorization',
    transactionId: '0a1b2c3d-0000-4000-8000-00000000e001',
    cardId: '0a1b2c3d-0000-4000-8000-00000000c001',
    amountMinor: 4200,
    currency: 'USD',
    partialApprovalSupported: true,
    merchant: {
      mid: 'EXAMPLE00012345',
      mcc: '5942',
      name: 'EXAMPLE BOOKS',
      city: 'TORONTO',
      country: 'CA',
    },
    channel: 'POS_TERMINAL',
    entryMode: 'CONTACTLESS',
    merchantAmountMinor: 6300,
    merchantCurrency: 'CAD',
    occurredAtMs: Date.UTC(2026, 10, 14, 10),
    details: {
      ...{ avs: 'MATCH', pin: 'none', riskScore: '3', cashAmount: '0.00' },
      ...{ initiator: 'CARDHOLDER', state: 'ON', postalCode: 'M5V2T6' },
    },
  },
  'marqeta-jit.authorization': {
    ...nothingElse,
    eventId: 'a0000000-0000-4000-8000-000000000001',
    requestType: 'Authorization',
    transactionId: 'c0000000-0000-4000-8000-000000000001',
    cardId: 'card-token-example-1',
    amountMinor: 1875,
    currency: 'USD',
    partialApprovalSupported: true,
    merchant: oakland,
    channel: 'OTHER',
    entryMode: 'CHIP_CONTACTLESS',
    merchantAmountMinor: 0,
    merchantCurrency: '',
    occurredAtMs: Date.UTC(2026, 10, 14, 10),
    details: { state: 'CA', postalCode: '94601' },
  },
  'marqeta-jit.clearing': {
    ...nothingElse,
    eventId: 'a0000000-0000-4000-8000-000000000002',
    requestType: 'Settlement',
    transactionId: 'c0000000-0000-4000-8000-000000000001',
    cardId: 'card-token-example-1',
    amountMinor: 2200,
    currency: 'USD',
    final: false,
    merchant: oakland,
    merchantAmountMinor: 2200,
    merchantCurrency: 'USD',
    occurredAtMs: Date.UTC(2026, 10, 15, 4),
  },
  'marqeta-jit.reversal': {
    ...nothingElse,
    eventId: 'c0000000-0000-4000-8000-000000000003',
    requestType: 'PartialReversal',
    transactionId: 'c0000000-0000-4000-8000-000000000001',
    cardId: 'card-token-example-1',
    amountMinor: 550,
    currency: 'USD',
    merchant: diner,
    merchantAmountMinor: 0,
    merchantCurrency: '',
    occurredAtMs: Date.UTC(2026, 10, 14, 11),
  },
  'marqeta-jit.refund': {
    ...nothingElse,
    eventId: 'a0000000-0000-4000-8000-000000000004',
    requestType: 'Refund',
    transactionId: 'a0000000-0000-4000-8000-000000000004',
    originalTransactionId: 'c0000000-0000-4000-8000-000000000001',
    cardId: 'card-token-example-1',
    amountMinor: 1000,
    currency: 'USD',
    merchant: diner,
    merchantAmountMinor: 0,
    merchantCurrency: '',
    occurredAtMs: Date.UTC(2026, 10, 16, 9, 30),
  },
  'adyen-relayed.authorisation': {
    ...nothingElse,
    eventId: '1EXAMPLE00000001.000001.50000.-3125',
    requestType: 'Authorization',
    transactionId: '1EXAMPLE00000001',
    cardId: 'PI00000000000000000000001',
    amountMinor: 3125,
    currency: 'EUR',
    merchant: {
      mid: 'EXAMPLE0000001',
      mcc: '5732',
      name: 'Exempel Elektronik',
      city: 'Stockholm',
      country: 'SE',
    },
    channel: 'pos',
    entryMode: 'chip',
    merchantAmountMinor: 35_900,
    merchantCurrency: 'SEK',
    occurredAtMs: 0,
    details: { postalCode: '11120' },
  },
}

const names = ['default', 'stripe-issuing', 'lithic-asa', 'marqeta-jit', 'adyen-relayed']

describe('the shipped profiles', () => {
  it('are these, each with example bodies', () => {
    const files = readdirSync(join(rules, 'profiles')).sort()
    expect(files).toEqual([...names].sort().map((name) => `${name}.yaml`))
    const examples = readdirSync(join(root, 'test', 'profiles')).sort()
    expect(examples).toEqual(
      Object.keys(expectedEvents)
        .sort()
        .map((name) => `${name}.json`),
    )
  })

  it('are no part of the pack', () => {
    const own = temporaryFolder()
    const without = (path: string) => !path.startsWith(join(rules, 'profiles'))
    cpSync(rules, own.path, { recursive: true, filter: without })
    const alone = loadPack(own.path, 45).version
    own.remove()
    expect(loadPack(rules, 45).version).toBe(alone)
  })

  for (const [name, event] of Object.entries(expectedEvents)) {
    const profile = shipped(name.slice(0, name.indexOf('.')))

    it(`reads ${name} as ${event.requestType}`, () => {
      expect(read(profile, example(name))).toEqual(event)
    })

    it(`says the same of ${name} in our own wire format`, () => {
      const mapped = read(profile, example(name))
      expect(readEvent(bytes(toWire(mapped)))).toEqual(mapped)
      const codes = ['000', '116', '148', '176'] as const
      for (const code of codes) {
        const once = reply(profile, example(name), { code })
        expect(reply(profile, example(name), { code })).toEqual(once)
      }
    })
  }

  it('are found by name, in the folder of the pack first, or by path', () => {
    const own = temporaryFolder()
    expect(findProfile('default', own.path)).toBe(defaultProfile)
    expect(findProfile('lithic-asa', own.path).name).toBe('lithic-asa')
    const file = join(rules, 'profiles', 'marqeta-jit.yaml')
    expect(findProfile(file, own.path).name).toBe('marqeta-jit')
    expect(() => findProfile('stripe', own.path)).toThrow(
      /there is no relay profile stripe: known are adyen-relayed, default, lithic-asa, marqeta-jit, stripe-issuing/,
    )
    own.remove()
  })
})

describe('stripe-issuing', () => {
  const profile = shipped('stripe-issuing')
  const request = example('stripe-issuing.request')

  it('refuses the reversal of a refund, and an ask for less than nothing: neither is its opposite', () => {
    const back = changed(example('stripe-issuing.refund'), '/data/object/amount', -1000)
    expect(refusal(profile, back)).toMatchObject({ status: 400, field: 'amount', about: 'advice' })
    const ask = changed(request, '/data/object/pending_request/amount', -2540)
    expect(refusal(profile, ask)).toMatchObject({ field: 'amount', about: 'ask' })
  })

  it('answers with approved, and with the amount when it is partial', () => {
    expect(profile.headers).toEqual({ 'Stripe-Version': '2024-06-20' })
    expect(reply(profile, request)).toEqual({
      status: 200,
      body: { approved: true, metadata: { responseCode: '000' } },
    })
    expect(reply(profile, request, { approvedAmountMinor: 2000 }).body).toEqual({
      approved: true,
      amount: 2000,
      metadata: { responseCode: '000' },
    })
    expect(reply(profile, request, { code: '116' })).toEqual({
      status: 200,
      body: {
        approved: false,
        metadata: { responseCode: '116', reason: 'insufficient funds' },
      },
    })
    expect(reply(profile, example('stripe-issuing.capture')).body).toEqual({ received: true })
  })

  it('takes cash at a machine for a CashWithdrawal', () => {
    const atm = changed(request, '/data/object/merchant_data/category_code', '6011')
    expect(read(profile, atm).requestType).toBe('CashWithdrawal')
  })

  it('counts in the minor units of its peer', () => {
    const koruna = changed(request, '/data/object/pending_request/currency', 'isk')
    const body = changed(koruna, '/data/object/pending_request/amount', 150_000)
    expect(read(profile, body)).toMatchObject({ currency: 'ISK', amountMinor: 1500 })
    const { body: answered } = reply(profile, body, { approvedAmountMinor: 1000 })
    expect(answered.amount).toBe(100_000)
    const ariary = changed(body, '/data/object/pending_request/currency', 'mga')
    expect(read(profile, ariary)).toMatchObject({ currency: 'MGA', amountMinor: 15_000_000 })
    expect(reply(profile, ariary, { approvedAmountMinor: 1299 }).body.amount).toBe(12)
  })

  it('declines an ask without its request: the amount beside it was approved before', () => {
    const amount = changed(request, '/data/object/pending_request/amount', undefined)
    const whole = changed(request, '/data/object/pending_request', null)
    for (const body of [amount, whole]) {
      expect(refusal(profile, body)).toMatchObject({ field: 'amount' })
      expect(refused(profile, body).body.approved).toBe(false)
    }
  })

  it('acknowledges what is none of ours, and names what it does not know', () => {
    const other = changed(example('stripe-issuing.reversed'), '/data/object/status', 'closed')
    expect(refusal(profile, other)).toMatchObject({ status: 200, unknownKind: '' })
    const unknown = changed(request, '/type', 'issuing_card.created')
    expect(refusal(profile, unknown)).toMatchObject({ unknownKind: 'issuing_card.created' })
    const dispute = changed(example('stripe-issuing.capture'), '/data/object/type', 'dispute')
    const nameless = changed(request, '/type', undefined)
    expect(refusal(profile, nameless)).toMatchObject({ unknownKind: 'without a kind' })
    for (const body of [other, unknown, dispute, nameless]) {
      expect(refused(profile, body)).toEqual({ status: 200, body: { received: true } })
    }
  })

  it('declines an ask that it cannot read, but takes no receipt of such a capture', () => {
    const ask = changed(request, '/data/object/pending_request/currency', 'doubloons')
    expect(refused(profile, ask)).toMatchObject({ status: 200, body: { approved: false } })
    const capture = changed(example('stripe-issuing.capture'), '/data/object/currency', 'x')
    expect(refused(profile, capture).status).toBe(400)
  })
})

describe('lithic-asa', () => {
  const profile = shipped('lithic-asa')
  const request = example('lithic-asa.authorization')

  it('answers with the token and a result', () => {
    const { token } = request
    expect(reply(profile, request)).toEqual({ status: 200, body: { token, result: 'APPROVED' } })
    expect(reply(profile, request, { approvedAmountMinor: 4000 }).body).toEqual({
      token,
      result: 'APPROVED',
      approved_amount: 4000,
    })
    const results = {
      '116': 'INSUFFICIENT_FUNDS',
      '127': 'UNAUTHORIZED_MERCHANT',
      '176': 'DECLINED',
    }
    for (const [code, result] of Object.entries(results)) {
      const given = { code: code as Answer['code'] }
      expect(reply(profile, request, given)).toEqual({ status: 200, body: { token, result } })
    }
  })

  it('takes the event by its own token where there is one', () => {
    expect(read(profile, { ...request, event_token: 'e1' }).eventId).toBe('e1')
  })

  it('declines what it does not cover', () => {
    const { status, body } = refused(profile, { ...request, status: 'BALANCE_INQUIRY' })
    expect({ status, result: body.result }).toEqual({ status: 200, result: 'DECLINED' })
  })

  it('reads a body of before there were amounts', () => {
    expect(read(profile, changed(request, '/amounts', undefined))).toMatchObject({
      eventId: '0a1b2c3d-0000-4000-8000-00000000e001.2026-11-14T10:00:00Z.4200',
      amountMinor: 4200,
      currency: 'USD',
      merchantAmountMinor: 6300,
    })
  })
})

describe('marqeta-jit', () => {
  const profile = shipped('marqeta-jit')
  const request = example('marqeta-jit.authorization')
  const echoed = {
    token: 'c0000000-0000-4000-8000-000000000001',
    method: 'pgfs.authorization',
    user_token: 'user-example-1',
    acting_user_token: 'user-example-1',
  }

  it('repeats the funding request, with 200 or 402', () => {
    expect(reply(profile, request)).toEqual({
      status: 200,
      body: { jit_funding: { ...echoed, amount: 18.75 } },
    })
    expect(reply(profile, request, { approvedAmountMinor: 1000 }).body).toEqual({
      jit_funding: { ...echoed, amount: 10 },
    })
    expect(reply(profile, request, { code: '130' })).toEqual({
      status: 402,
      body: {
        jit_funding: {
          ...echoed,
          amount: 18.75,
          decline_reason: 'AMOUNT_LIMIT_EXCEEDED',
          memo: 'velocity limit exceeded',
        },
      },
    })
    expect(reply(profile, example('marqeta-jit.clearing'))).toEqual({ status: 200, body: {} })
  })

  it('leaves out what is not there to be repeated, and keeps the rest well-formed', () => {
    const place = '/gpa_order/jit_funding'
    const alone = changed(request, `${place}/acting_user_token`, undefined)
    const { acting_user_token: _, ...rest } = echoed
    expect(reply(profile, alone).body).toEqual({ jit_funding: { ...rest, amount: 18.75 } })
    const odd = changed(alone, `${place}/user_token`, 'a "quoted" \\ \u2028 name\n')
    expect(reply(profile, odd).body.jit_funding.user_token).toBe('a "quoted" \\ \u2028 name\n')
    const none = changed(alone, `${place}/user_token`, undefined)
    expect(reply(profile, none).body.jit_funding.user_token).toBeNull()
  })

  it('knows cash, single messages and increments', () => {
    const atm = changed(request, '/card_acceptor/mcc', '6011')
    expect(read(profile, atm).requestType).toBe('CashWithdrawal')
    const single = changed(request, '/gpa_order/jit_funding/method', 'pgfs.auth_plus_capture')
    expect(read(profile, single).requestType).toBe('CashWithdrawal')
    const more = changed(
      { ...request, preceding_related_transaction_token: 'another', amount: 28.75 },
      '/gpa_order/jit_funding',
      {
        ...echoed,
        method: 'pgfs.authorization.incremental',
        amount: 10,
        original_jit_funding_token: 'first',
      },
    )
    expect(read(profile, more)).toMatchObject({
      requestType: 'Authorization',
      transactionId: 'first',
      amountMinor: 1000,
    })
  })

  it('takes back no more than a reversal says: the amount beside it is what is left', () => {
    const reversal = example('marqeta-jit.reversal')
    expect(read(profile, reversal)).toMatchObject({ amountMinor: 550 })
    const without = changed(reversal, '/gpa_order_unload/jit_funding/amount', undefined)
    expect(refusal(profile, without).status).toBe(400)
  })

  it('reads a yes or no from its texts', () => {
    const said = (flag: unknown) => changed(request, '/pos/partial_approval_capable', flag)
    expect(read(profile, said('1')).partialApprovalSupported).toBe(true)
    expect(read(profile, said('0')).partialApprovalSupported).toBe(false)
    expect(read(profile, said(undefined)).partialApprovalSupported).toBe(false)
    expect(refusal(profile, said('2'))).toMatchObject({ field: 'partialApprovalSupported' })
  })

  it('needs the pack to be set for it', () => {
    expect(unmetRequirements(profile, defaultSwitches)).toEqual([])
    const other = { ...defaultSwitches, incrementalAmount: 'cumulative' as const }
    expect(unmetRequirements(profile, other)).toEqual([
      'the relay profile marqeta-jit needs incrementalAmount: delta in the pack, and it is cumulative',
    ])
  })
})

describe('adyen-relayed', () => {
  const profile = shipped('adyen-relayed')
  const request = example('adyen-relayed.authorisation')

  it('answers with a decision', () => {
    expect(reply(profile, request)).toEqual({
      status: 200,
      body: {
        authorisationDecision: { status: 'Authorised' },
        reference: '1EXAMPLE00000001.000001.50000.-3125',
        metadata: { decision: 'approve', responseCode: '000' },
      },
    })
    expect(reply(profile, request, { code: '127', ruleId: 'no-toys' })).toEqual({
      status: 200,
      body: {
        authorisationDecision: { status: 'Refused', refusalReason: 'mcc not supported' },
        reference: '1EXAMPLE00000001.000001.50000.-3125',
        metadata: { decision: 'decline', responseCode: '127', ruleId: 'no-toys' },
      },
    })
    expect(reply(profile, request, { code: '127' }).body.metadata).toEqual({
      decision: 'decline',
      responseCode: '127',
    })
  })

  it('never asks for a partial approval: it could not be told', () => {
    expect(read(profile, { ...request, partial: true }).partialApprovalSupported).toBe(false)
  })

  it('tells pre-authorizations and cash apart', () => {
    const estimate = { ...request, authorisationType: 'preAuthorisation' }
    expect(read(profile, estimate).requestType).toBe('PreAuthorization')
    const cash = { ...estimate, processingType: 'atmWithdraw' }
    expect(read(profile, cash).requestType).toBe('CashWithdrawal')
  })

  it('refuses money that comes in', () => {
    const refund = changed(request, '/amount/value', 3125)
    expect(refusal(profile, refund)).toMatchObject({
      responseCode: '136',
      field: 'amount',
      message: 'amount (/amount/value) must be negative',
    })
  })

  it('lets a country that nobody knows pass as none', () => {
    const place = '/merchantData/nameLocation/country'
    expect(read(profile, changed(request, place, 'ZZZ')).merchant.country).toBe('')
    expect(read(profile, changed(request, place, undefined)).merchant.country).toBe('')
  })
})

describe('every profile', () => {
  it('refuses a body without what it needs, and names the field and its place', () => {
    const needed: [string, string, string][] = [
      ['stripe-issuing.request', '/data/object/card', 'cardId'],
      ['stripe-issuing.request', '/data/object/merchant_data/network_id', 'merchant.mid'],
      ['stripe-issuing.request', '/created', 'occurredAt'],
      ['lithic-asa.authorization', '/card/token', 'cardId'],
      ['lithic-asa.authorization', '/merchant/mcc', 'merchant.mcc'],
      ['marqeta-jit.authorization', '/token', 'eventId'],
      ['marqeta-jit.authorization', '/currency_code', 'currency'],
      ['adyen-relayed.authorisation', '/amount/currency', 'currency'],
      ['adyen-relayed.authorisation', '/paymentInstrument/id', 'cardId'],
    ]
    for (const [name, place, field] of needed) {
      const profile = shipped(name.slice(0, name.indexOf('.')))
      const result = refusal(profile, changed(example(name), place, undefined))
      expect(result).toMatchObject({ status: 400, responseCode: '136', field })
      expect(result.message).toMatch(/^\S+ \(\/.*\) is required$/)
    }
  })

  it('refuses what is not JSON, in its own style', () => {
    for (const name of names) {
      for (const text of ['', '{', '[]', '"a"', '{"a":1,"a":2}', '\ufeff{}']) {
        const result = refusal(shipped(name), Buffer.from(text))
        expect(result).toMatchObject({ responseCode: '136', field: '', eventId: '' })
        JSON.parse(shipped(name).renderRefusal(result, []).body)
      }
    }
  })

  it('takes no receipt of what is not JSON: it may have been a capture', () => {
    const capture = JSON.stringify(example('stripe-issuing.capture'))
    const halved = capture.replace('"MERCADO', '"\\ud83dMERCADO')
    expect(halved).not.toBe(capture)
    for (const name of names) {
      const refused = refusal(shipped(name), Buffer.from(halved))
      expect(shipped(name).renderRefusal(refused, []).status).toBe(400)
    }
  })

  it('keeps the status of a stranger, and of what went wrong on our side', () => {
    for (const name of names) {
      for (const status of [400, 401, 404, 413, 503] as const) {
        const given: Refusal = {
          status,
          responseCode: '146',
          field: '',
          message: 'm',
          eventId: '',
          transactionId: '',
          about: 'request',
          unknownKind: '',
        }
        expect(shipped(name).renderRefusal(given, []).status).toBe(status)
      }
    }
  })

  it('writes JSON whatever the ids and texts are', () => {
    const texts = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 })
    fc.assert(
      fc.property(texts, texts, (ruleId, token) => {
        for (const name of names) {
          const [exampleName] = Object.keys(expectedEvents).filter((one) => one.startsWith(name))
          let body = example(exampleName!)
          if (name === 'marqeta-jit') {
            body = changed(body, '/gpa_order/jit_funding/user_token', token)
          }
          reply(shipped(name), body, { code: '301', ruleId })
        }
      }),
      { numRuns: 50 },
    )
  })

  it('takes any body without throwing', () => {
    const profiles = [...names.map(shipped), loadProfile(join(rules, 'profiles', 'default.yaml'))]
    const bodies = Object.keys(expectedEvents).map(example)
    const places = bodies.map((body) => paths(body, ''))
    fc.assert(
      fc.property(
        fc.nat(bodies.length - 1),
        fc.nat(),
        fc.oneof(fc.jsonValue(), fc.constant(undefined), fc.string({ unit: 'binary' })),
        (which, place, value) => {
          const options = places[which]!
          const body = changed(bodies[which]!, options[place % options.length]!, value)
          for (const profile of profiles) {
            const { event, echoes } = profile.read(bytes(body))
            if (isRefusal(event)) JSON.parse(profile.renderRefusal(event, echoes).body)
            else JSON.parse(profile.renderReply(event, answer(), echoes).body)
          }
        },
      ),
      { numRuns: process.env.TORTURE ? 20_000 : 250 },
    )
  })
})

function paths(body: unknown, at: string): string[] {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return []
  return Object.entries(body).flatMap(([name, value]) => [
    `${at}/${name}`,
    ...paths(value, `${at}/${name}`),
  ])
}

describe('default.yaml', () => {
  const written = loadProfile(join(rules, 'profiles', 'default.yaml'))
  const id = fc.string({
    unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
    minLength: 1,
    maxLength: 64,
  })
  const people = fc.string({ unit: 'grapheme', maxLength: 20 })
  const merchantOf = fc.record(
    {
      mid: id,
      mcc: fc.nat(9999).map((number) => String(number).padStart(4, '0')),
      name: people,
      city: people,
      country: fc.constantFrom(...countries),
    },
    { requiredKeys: ['mid', 'mcc'] },
  )
  const currency = fc.constantFrom(...currencyDecimals.keys())
  const amount = fc.nat(1_000_000_000)
  const good = fc
    .record(
      {
        eventId: id,
        requestType: fc.constantFrom(...Object.keys(requestTypes)),
        transactionId: fc.oneof(id, fc.constant('')),
        cardId: id,
        amount,
        currency,
        merchant: merchantOf,
        occurredAt: fc
          .date({ min: new Date('1971-01-01'), max: new Date('2099-01-01'), noInvalidDate: true })
          .map((date) => date.toISOString()),
        originalTransactionId: fc.oneof(id, fc.constant(null)),
        partialApprovalSupported: fc.boolean(),
        final: fc.oneof(fc.boolean(), fc.constant(null)),
        channel: id,
        entryMode: id,
        theirs: fc.record({ merchantAmount: amount, merchantCurrency: currency }),
        more: fc.jsonValue(),
      },
      {
        requiredKeys: [
          'eventId',
          'requestType',
          'transactionId',
          'cardId',
          'amount',
          'currency',
          'merchant',
          'occurredAt',
        ],
      },
    )
    .map(({ theirs, ...body }): Json => ({ ...body, ...theirs }))
    .map((body) => ({
      ...body,
      amount: formatMinor(body.amount as number, body.currency as string),
      ...(body.merchantCurrency === undefined
        ? {}
        : {
            merchantAmount: formatMinor(
              body.merchantAmount as number,
              body.merchantCurrency as string,
            ),
          }),
    }))

  it('reads as the built-in reader does', () => {
    fc.assert(
      fc.property(good, (body) => {
        expect(written.read(bytes(body)).event).toEqual(readEvent(bytes(body)))
      }),
      { numRuns: process.env.TORTURE ? 10_000 : 150 },
    )
  })

  it('answers with the bytes of the built-in answer', () => {
    const answers = fc.record({
      code: fc.constantFrom('000', '116', '127', '176', '139'),
      decidedBy: fc.constantFrom('engine', 'default'),
      cause: fc.constantFrom('', 'deadline', 'overload'),
      ruleId: fc.oneof(fc.constant(''), fc.string()),
      approvedAmountMinor: fc.constant(null),
      rulesVersion: fc.string(),
    }) as fc.Arbitrary<Answer>
    fc.assert(
      fc.property(good, answers, fc.nat(), (body, given, partialMinor) => {
        const event = readEvent(bytes(body)) as CardEvent
        const partial =
          given.code === '000' && event.requestType === 'Authorization'
            ? { ...given, approvedAmountMinor: partialMinor }
            : given
        for (const one of [given, partial]) {
          const ours = defaultProfile.renderReply(event, one, [])
          expect(written.renderReply(event, one, [])).toEqual(ours)
        }
      }),
      { numRuns: process.env.TORTURE ? 10_000 : 150 },
    )
  })

  it('refuses with the same status, code and field', () => {
    const body = example('default.authorization')
    // What a peer calls a shop is taken as it comes; our own format is strict about it.
    const lenient = ['/merchant/name', '/merchant/city']
    const other = ['/transactionId', '/merchant', '/partialApprovalSupported', ...lenient]
    const places = paths(body, '').filter((place) => !other.includes(place))
    for (const place of places) {
      for (const value of [undefined, {}, 'x'.repeat(300)]) {
        const broken = bytes(changed(body, place, value))
        const [theirs, ours] = [written.read(broken).event, readEvent(broken)] as [Refusal, Refusal]
        const seen = ({ status, responseCode, field, eventId }: Refusal) => [
          ...[status, responseCode, field, eventId],
        ]
        expect([place, seen(theirs)]).toEqual([place, seen(ours)])
      }
    }
  })
})

const small = `name: small
requestType:
  pointer: /kind
  map: { buy: Authorization, undo: Reversal }
fields:
  eventId: /id
  transactionId: /txn
  cardId: { pointer: /card, hash: true }
  amount: { pointer: /amount, unit: minor }
  currency: /currency
  occurredAt: { pointer: /at, form: unix-milliseconds }
  merchant:
    mid: /shop/0/mid
    mcc: { pointer: /shop/0/kind, map: { food: "5411" }, default: "5999" }
    name: { concat: [/shop/0/name, " of ", /shop/0/city], fallback: "a shop" }
answer:
  approve: { body: { ok: true, "a/b": "{{eventId}}: {{decision}} {{/amount}}" } }
  decline: { body: { ok: false } }
  refuse: { body: { ok: false } }
`

function fileOf(text: string, name = 'peer.yaml'): string {
  const file = join(folder.path, name)
  writeFileSync(file, text)
  return file
}

/** Every fault of the file, without its folder. */
function faultsOf(text: string): string[] {
  const file = fileOf(text)
  try {
    loadProfile(file)
    return []
  } catch (error) {
    return (error as Error).message.split('\n').map((line) => line.replace(file, 'peer.yaml'))
  }
}

describe('the language', () => {
  const profile = loadProfile(fileOf(small, 'small.yaml'))
  const body = {
    id: 7,
    txn: 't',
    card: 'card',
    kind: 'buy',
    amount: '1500',
    currency: '978',
    at: 1_794_650_400_123,
    shop: [{ mid: 'M', kind: 'food', name: 'Bakery', city: 'Bonn' }],
  }

  it('reads numbers as texts, arrays by index, numeric currencies, maps and joined texts', () => {
    expect(read(profile, body)).toMatchObject({
      eventId: '7',
      amountMinor: 1500,
      currency: 'EUR',
      occurredAtMs: 1_794_650_400_123,
      merchant: { mid: 'M', mcc: '5411', name: 'Bakery of Bonn' },
    })
    const other = { ...body, shop: [{ mid: 'M', kind: 'toys', name: 'Bakery' }] }
    expect(read(profile, other).merchant).toMatchObject({ mcc: '5999', name: 'a shop' })
    expect(reply(profile, body).body).toEqual({ ok: true, 'a/b': '7: approve 1500' })
  })

  it('replaces an id that does not fit by its hash only where it says so', () => {
    const long = 'ñ'.repeat(70)
    const { cardId } = read(profile, { ...body, card: long })
    expect(cardId).toMatch(/^[0-9a-f]{32}$/)
    expect(read(profile, { ...body, card: long }).cardId).toBe(cardId)
    expect(refusal(profile, { ...body, id: long })).toMatchObject({
      responseCode: '136',
      field: 'eventId',
      message: 'eventId (/id) must be 1 to 64 printable ASCII characters',
    })
  })

  it('reads money exactly or not at all', () => {
    const problem = (amount: unknown) => refusal(profile, { ...body, amount }).message
    expect(problem('12.5')).toBe('amount (/amount) must be a whole number of minor units')
    expect(problem('-1')).toBe('amount (/amount) must not be negative')
    expect(problem('1234567890123456')).toBe('amount (/amount) must have at most 15 digits')
    expect(problem({})).toBe('amount (/amount) must be a number or a decimal text')
    expect(problem(null)).toBe('amount (/amount) is required')
    expect(problem('1e2')).toBe('amount (/amount) must be a number or a decimal text')
    expect(read(profile, { ...body, amount: '15.00' }).amountMinor).toBe(15)
    const number = JSON.stringify(body).replace('"1500"', '1.5E+3')
    expect(profile.read(Buffer.from(number)).event).toMatchObject({ amountMinor: 1500 })
    expect(read(profile, { ...body, kind: 'undo', amount: null }).amountMinor).toBeNull()
  })

  it('refuses times and currencies that are none', () => {
    for (const at of ['soon', -1, '1e3', 999_999_999_999_999]) {
      expect(refusal(profile, { ...body, at }).field).toBe('occurredAt')
    }
    for (const currency of ['XXX', '999', 'dollars', 5]) {
      expect(refusal(profile, { ...body, currency }).field).toBe('currency')
    }
    expect(read(profile, { ...body, currency: 36 }).currency).toBe('AUD')
  })

  it('knows alpha-3 for each country, and currencies by number', () => {
    expect(new Set(alpha2ByAlpha3.values())).toEqual(countries)
    expect(alpha2ByAlpha3.size).toBe(countries.size + 1)
    for (const alpha3 of alpha2ByAlpha3.keys()) expect(alpha3).toMatch(/^[A-Z]{3}$/)
    for (const number of currencyByNumber.keys()) expect(number).toMatch(/^[0-9]{3}$/)
    expect([...currencyByNumber.values()].sort()).toEqual([...currencyDecimals.keys()].sort())
    expect(read(profile, { ...body, currency: '068' }).currency).toBe('BOB')
  })

  it('has no currency that Node does not name', () => {
    const named = new Intl.DisplayNames('en', { type: 'currency', fallback: 'none' })
    const nameless = [...currencyByNumber.values()].filter((code) => named.of(code) === undefined)
    // The Arab Accounting Dinar is newer than the names of some releases of Node.
    expect(nameless.filter((code) => code !== 'XAD')).toEqual([])
  })

  it('takes a header where it says so, when it came once', () => {
    const text = small.replace('eventId: /id', 'eventId: [{ header: X-Call }, /id]')
    const called = loadProfile(fileOf(text, 'called.yaml'))
    const idOf = (headers: IncomingHttpHeaders) => called.read(bytes(body), headers).event.eventId
    expect(idOf({ 'x-call': 'call-1' })).toBe('call-1')
    expect(idOf({})).toBe('7')
    expect(idOf({ 'x-call': ['call-1', 'call-2'] })).toBe('7')
    expect(called.read(bytes(body)).event.eventId).toBe('7')
    const odd = called.read(bytes(body), { 'x-call': 'ñ' }).event as Refusal
    expect(odd.message).toBe(
      'eventId (header X-Call or /id) must be 1 to 64 printable ASCII characters',
    )
  })

  it('takes its fallback for a yes or no that is not there', () => {
    const text = small.replace(
      '  merchant:\n',
      '  final: { pointer: /f, fallback: false }\n  merchant:\n',
    )
    const flagged = loadProfile(fileOf(text, 'flagged.yaml'))
    expect(read(flagged, body).final).toBe(false)
    expect(read(flagged, { ...body, f: true }).final).toBe(true)
    expect(refusal(flagged, { ...body, f: 'perhaps' }).field).toBe('final')
  })

  it('writes an amount as a number, or as a text where it says so', () => {
    const amounts =
      '{ n: "{{approvedAmount}}", t: "{{approvedAmount:text}}", m: "{{amountMinor:text?}}" }'
    const text = small.replace('approve: {', `approve: { body: ${amounts} }\n  partial: {`)
    const { renderReply, read } = loadProfile(fileOf(text, 'texts.yaml'))
    const { event, echoes } = read(Buffer.from(JSON.stringify(body)))
    const reply = renderReply(event as CardEvent, answer(), echoes)
    expect(reply.body).toBe('{"n":15.00,"t":"15.00","m":"1500"}')
    expect(faultsOf(small.replace('{{decision}}', '{{amout:text}}'))[0]).toContain(
      '{{amout:text}} is not known here: did you mean amount?',
    )
  })

  it('counts in an answer as the message did, where requestTypes have other minor units', () => {
    const minor = (decimals: string) =>
      `{ pointer: /amount, unit: minor, decimals: { ${decimals} } }`
    const text = small
      .replace('amount: { pointer: /amount, unit: minor }', `amount: ${minor('ISK: 2')}`)
      .replace(
        'answer:\n',
        `overrides:\n  Authorization: { amount: ${minor('UGX: 2')} }\nanswer:\n`,
      )
      .replace('approve: {', 'approve: { body: { m: "{{approvedAmountMinor}}" } }\n  partial: {')
    const { renderReply, read } = loadProfile(fileOf(text, 'minor.yaml'))
    const said = (given: object) => {
      const { event, echoes } = read(Buffer.from(JSON.stringify({ ...body, ...given })))
      return [
        (event as CardEvent).amountMinor,
        renderReply(event as CardEvent, answer(), echoes).body,
      ]
    }
    expect(said({ currency: 'UGX' })).toEqual([15, '{"m":1500}'])
    expect(said({ currency: 'ISK' })).toEqual([1500, '{"m":1500}'])
    const undone = { kind: 'undo', amount: '1500' }
    expect(said({ ...undone, currency: 'ISK' })).toEqual([15, '{"m":1500}'])
    expect(said({ ...undone, currency: 'UGX' })).toEqual([1500, '{"m":1500}'])
  })

  it('cuts a long name between two characters, and not within one', () => {
    const shop = [{ ...body.shop[0], name: `${'x'.repeat(199)}\u{1f600} of` }]
    expect(read(profile, { ...body, shop }).merchant.name).toBe('x'.repeat(199))
    const even = [{ ...body.shop[0], name: `${'x'.repeat(198)}\u{1f600}` }]
    expect(read(profile, { ...body, shop: even }).merchant.name).toBe(`${'x'.repeat(198)}\u{1f600}`)
  })

  it('declines what is not JSON as what cannot be read else, where only asks are sent', () => {
    const text = small
      .replace('map: { buy: Authorization, undo: Reversal }', 'map: { buy: Authorization }')
      .replace('refuse: {', 'refuse: { status: 200,')
    const asking = loadProfile(fileOf(text, 'asking.yaml'))
    expect(asking.renderRefusal(refusal(asking, Buffer.from('{')), []).status).toBe(200)
    const telling = loadProfile(fileOf(small.replace('refuse: {', 'refuse: { status: 200,')))
    expect(telling.renderRefusal(refusal(telling, Buffer.from('[]')), []).status).toBe(400)
  })

  it('tells all that is wrong with a body', () => {
    const { card: _, ...rest } = body
    expect(refusal(profile, { ...rest, id: '', amount: '-1', at: 'soon' })).toMatchObject({
      field: 'eventId',
      message:
        'eventId (/id) is required; cardId (/card) is required; ' +
        'occurredAt (/at) must be a time in unix-milliseconds; amount (/amount) must not be negative',
    })
    // And forgets it with that body.
    expect(read(profile, body).eventId).toBe('7')
  })

  it('lets no fact stand in the way of an advice, nor a name or foreign amount in that of an ask', () => {
    const file = fileOf(
      small.replace(
        '  merchant:\n',
        '  channel: /ch\n  merchantAmount: { pointer: /theirs, unit: major }\n  merchantCurrency: /cur\n  merchant:\n',
      ),
      'facts.yaml',
    )
    const facts = loadProfile(file)
    const long = { mid: 'M', kind: 'food', name: 'x'.repeat(300), city: 'Bonn' }
    const foreign = { ...body, shop: [long], cur: 'doubloons', theirs: '1e2' }
    const ask = read(facts, foreign)
    expect(ask).toMatchObject({ merchantCurrency: '', merchantAmountMinor: 0 })
    expect(ask.merchant.name).toBe('x'.repeat(200))
    for (const theirs of ['1.005', -3, {}, '1e2']) {
      expect(read(facts, { ...foreign, cur: 'usd', theirs })).toMatchObject({
        merchantCurrency: 'USD',
        merchantAmountMinor: 0,
      })
    }
    expect(refusal(facts, { ...foreign, ch: {} }).field).toBe('channel')
    const undo = { ...foreign, kind: 'undo', ch: {}, shop: [{ mid: {}, kind: {}, name: 7 }] }
    expect(read(facts, undo)).toMatchObject({
      channel: '',
      merchant: { mid: '', mcc: '', name: 'a shop' },
    })
  })
})

describe('a broken profile', () => {
  it.each([
    [
      'an unknown field',
      /cardId:/,
      'cardID:',
      ['5:1 fields.cardId is required', '8:3 fields.cardID is not known: did you mean cardId?'],
    ],
    [
      'a misspelt setting',
      'unit: minor',
      'unti: minor',
      [
        '9:3 fields.amount.unit is required',
        '9:31 fields.amount.unti is not known: did you mean unit?',
      ],
    ],
    [
      'a bad pointer',
      'eventId: /id',
      'eventId: id',
      ['6:12 fields.eventId must be a JSON pointer (RFC 6901), such as /data/id'],
    ],
    [
      'a bad escape in a list',
      'eventId: /id',
      'eventId: [/id, /a~2]',
      ['6:18 fields.eventId.1 must be a JSON pointer (RFC 6901), such as /data/id'],
    ],
    [
      'a wrong type',
      'eventId: /id',
      'eventId: 7',
      ['6:12 fields.eventId must be a JSON pointer, a list of them, or a map'],
    ],
    [
      'another wrong type',
      'hash: true',
      'hash: "yes"',
      ['8:35 fields.cardId.hash must be true or false'],
    ],
    [
      'a wrong word',
      'unit: minor',
      'unit: mionr',
      ['9:37 fields.amount.unit must be one of major, minor: did you mean minor?'],
    ],
    [
      'an unknown target',
      'buy: Authorization',
      'buy: Authorisation',
      [
        '4:15 requestType.map.buy must be a map or one of Authorization, PreAuthorization, CashWithdrawal, Settlement, PartialReversal, Reversal, Refund, ignore, unknown, refuse: did you mean Authorization?',
      ],
    ],
    ['a missing mapping', '  currency: /currency\n', '', ['5:1 fields.currency is required']],
    [
      'a missing part of the merchant',
      '    mid: /shop/0/mid\n',
      '',
      ['12:3 fields.merchant.mid is required'],
    ],
    [
      'two sources',
      'pointer: /amount,',
      'pointer: /amount, concat: [/a],',
      ['9:3 fields.amount must have one of pointer, coalesce, concat, constant'],
    ],
    [
      'a part with two sources',
      'eventId: /id',
      'eventId: [{ header: X-Id, pointer: /id }]',
      ['6:13 fields.eventId.0 must be a pointer, a concat or a header'],
    ],
    [
      'a header that can be none',
      'eventId: /id',
      'eventId: [{ header: "X Id" }]',
      ['6:23 fields.eventId.0.header must be the name of a header'],
    ],
    [
      'an unknown placeholder',
      '{{decision}}',
      '{{desicion}}',
      ['17:39 answer.approve.body.a/b {{desicion}} is not known here: did you mean decision?'],
    ],
    [
      'a placeholder without its end',
      '{{decision}}',
      '{{decision',
      ['17:39 answer.approve.body.a/b has a placeholder without its }}'],
    ],
    [
      'a code that is none',
      'answer:\n',
      'answer:\n  codes: { "999": X, default: Y }\n',
      ['17:12 answer.codes.999 is not a response code, nor default'],
    ],
    [
      'no default code',
      'answer:\n',
      'answer:\n  codes: { "116": X }\n',
      ['17:3 answer.codes needs a default'],
    ],
    [
      'a code that is read as a number',
      'answer:\n',
      'answer:\n  codes: { 000: X, default: Y }\n',
      ['17:12 000 is not a text: put it in quotes'],
    ],
    [
      'an approval that is none',
      'approve: {',
      'approve: { status: 402,',
      ['17:22 answer.approve.status must be from 200 to 299'],
    ],
    [
      'a status that is none',
      'decline: {',
      'decline: { status: 99,',
      ['18:22 answer.decline.status must be at least 200'],
    ],
    [
      'an override of no requestType',
      'answer:\n',
      'overrides:\n  Settlment: {}\nanswer:\n',
      ['17:3 overrides.Settlment is not known: did you mean Settlement?'],
    ],
    [
      'an ask without an amount',
      'answer:\n',
      'overrides:\n  Authorization: { amount: none }\nanswer:\n',
      ['17:28 overrides.Authorization.amount only a Reversal may come without an amount'],
    ],
    [
      'partial approval that could not be told',
      '  merchant:\n',
      '  partialApprovalSupported: /p\n  merchant:\n',
      ['12:29 fields.partialApprovalSupported needs answer.partial, to tell how much'],
    ],
    [
      'a header that a scheme has not',
      'fields:\n',
      'authentication: { scheme: basic, idHeader: X-Id }\nfields:\n',
      ['5:44 authentication.idHeader is not known to the scheme basic'],
    ],
    [
      'a header of ours',
      'answer:\n',
      'answer:\n  headers: { Content-Type: text/plain }\n',
      ['17:14 answer.headers.Content-Type is set by the server'],
    ],
    ['a key twice', 'name: small', 'name: small\nname: other', ['2:1 name is there twice']],
    ['half a file', /\{ body: \{ ok: true[\s\S]*/, '{ body: { ok: tr', null],
    ['an empty file', /[\s\S]*/, '', ['1:1 is required', '1:1 requestType is required']],
    ['a list', /[\s\S]*/, '- a\n- b\n', ['1:1 must be a map', '1:1 requestType is required']],
    ['two documents', 'fields:', '---\nfields:', null],
    ['a tag', 'name: small', 'name: !!js/function x', null],
    [
      'an alias',
      'eventId: /id',
      'eventId: &a /id\n  channel: *a',
      ['7:12 aliases are not allowed'],
    ],
  ])('is refused for %s', (_, from, to, expected) => {
    const faults = faultsOf(small.replace(from, to))
    if (expected === null) {
      expect(faults.length).toBeGreaterThan(0)
      for (const fault of faults) expect(fault).toMatch(/^peer\.yaml:[1-9][0-9]*:[1-9][0-9]* \S/)
    } else {
      expect(faults).toEqual(expected.map((fault) => `peer.yaml:${fault}`))
    }
  })

  it('is refused with all its faults at once', () => {
    const faults = faultsOf(
      small
        .replace('pointer: /kind', 'pointer: kind')
        .replace('/id', 'id')
        .replace('unit: minor', 'unit: cents')
        .replace('buy: Auth', 'buy: A')
        .replace('{{decision}}', '{{decided}}')
        .replace('refuse: {', 'codes: { "999": X, default: Y }\n  refuse: {'),
    )
    expect(faults.map((fault) => fault.split(' ')[0])).toEqual([
      'peer.yaml:3:12',
      'peer.yaml:4:15',
      'peer.yaml:6:12',
      'peer.yaml:9:37',
      'peer.yaml:17:39',
      'peer.yaml:19:12',
    ])
  })

  it('is refused at once when its aliases would unfold', () => {
    const bomb = ['a: &a [x,x,x,x,x,x,x,x,x]']
    for (let i = 1; i < 20; i++) {
      const [last, next] = [i - 1, i].map((n) => String.fromCharCode(97 + n))
      bomb.push(`${next}: &${next} [*${last},*${last},*${last},*${last},*${last},*${last}]`)
    }
    const startedMs = performance.now()
    expect(faultsOf(bomb.join('\n'))[0]).toBe('peer.yaml:2:8 aliases are not allowed')
    expect(performance.now() - startedMs).toBeLessThan(2_000)
  })

  it('is refused when it is large, deep, or not there', () => {
    expect(faultsOf(`# ${'x'.repeat(70_000)}`)).toEqual([
      'peer.yaml:1:1 is larger than 65536 bytes',
    ])
    expect(faultsOf('['.repeat(60_000)).length).toBeGreaterThan(0)
    const deep = `requestType: ${'{ pointer: /a, map: { a: '.repeat(10)}Refund${' } }'.repeat(10)}\n`
    expect(faultsOf(small.replace(/requestType:[\s\S]*?fields/, `${deep}fields`))).toHaveLength(1)
    expect(() => loadProfile(join(folder.path, 'none.yaml'))).toThrow(/cannot be read \(ENOENT\)/)
  })

  it('never throws anything but its report, wherever it is cut', () => {
    for (const name of names) {
      const text = readFileSync(join(rules, 'profiles', `${name}.yaml`), 'utf8')
      for (let at = 0; at < text.length; at += process.env.TORTURE ? 13 : 197) {
        for (const fault of faultsOf(text.slice(0, at))) {
          expect(fault).toMatch(/^peer\.yaml:[1-9][0-9]*:[1-9][0-9]* \S/)
        }
      }
    }
  })
})

describe('authentication', () => {
  const nowMs = 1_794_650_400_000
  const seconds = nowMs / 1000
  const body = Buffer.from('{"id":"evt_1"}')
  const secret = 'whsec_stripe example secret'
  const nextSecret = 'whsec_stripe example secret two'
  const mac = (key: string | Buffer, text: string, form: 'hex' | 'base64') =>
    createHmac('sha256', key).update(text).digest(form)

  const says = (profile: Profile, relay: RelayAuthentication) => {
    const authenticate = createProfileAuthentication(profile.authentication, relay)
    return (headers: IncomingHttpHeaders, raw = body, atMs = nowMs) =>
      authenticate(headers, raw, atMs, {})?.message ?? 'passes'
  }

  it('reads the signature of Stripe', () => {
    const check = says(shipped('stripe-issuing'), { mode: 'hmac', secrets: [secret, nextSecret] })
    const v1 = mac(secret, `${seconds}.${body}`, 'hex')
    const next = mac(nextSecret, `${seconds}.${body}`, 'hex')
    const other = mac('another', `${seconds}.${body}`, 'hex')
    const signed = (value: string) => ({ 'stripe-signature': value })
    expect(check(signed(`t=${seconds},v1=${v1}`))).toBe('passes')
    expect(check(signed(`t=${seconds},v1=${next}`))).toBe('passes')
    expect(check(signed(`t=${seconds},v1=${other},v1=${v1},v0=abc`))).toBe('passes')
    expect(check({})).toBe('signature missing')
    expect(check(signed(''))).toBe('signature missing')
    expect(check(signed(`t=${seconds},v1=${other}`))).toBe('signature wrong')
    expect(check(signed(`t=${seconds},v1=${v1}`), Buffer.from('{}'))).toBe('signature wrong')
    expect(check(signed(`t=${seconds},t=${seconds},v1=${v1}`))).toBe('signature wrong')
    expect(check(signed(`t=${seconds},v0=${v1}`))).toBe('signature wrong')
    expect(check(signed(`t=${seconds},v1=${v1.slice(1)}`))).toBe('signature wrong')
    expect(check(signed(`v1=${v1}`))).toBe('signature wrong')
    expect(check(signed(`t=${seconds},${'v1=a,'.repeat(100_000)}`))).toBe('signature wrong')
    const good = signed(`t=${seconds},v1=${v1}`)
    expect(check(good, body, nowMs + signatureWindowMs)).toBe('passes')
    expect(check(good, body, nowMs + signatureWindowMs + 1)).toBe('signature too old')
    expect(check(good, body, nowMs - signatureWindowMs - 1)).toBe('signature too new')
  })

  it('reads the signatures of the Standard Webhooks', () => {
    const key = Buffer.from('0123456789abcdef01234567')
    const relay = { mode: 'hmac', secrets: [`whsec_${key.toString('base64')}`] } as const
    const check = says(shipped('lithic-asa'), relay)
    const headers = (signature: string, more: IncomingHttpHeaders = {}) => ({
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(seconds),
      'webhook-signature': signature,
      ...more,
    })
    const good = `v1,${mac(key, `msg_1.${seconds}.${body}`, 'base64')}`
    expect(check(headers(good))).toBe('passes')
    expect(check(headers(`v1a,xyz ${good}`))).toBe('passes')
    expect(check({})).toBe('signature missing')
    expect(check(headers(good, { 'webhook-id': undefined }))).toBe('signature missing')
    expect(check(headers(good, { 'webhook-id': 'msg_2' }))).toBe('signature wrong')
    expect(check(headers(good, { 'webhook-timestamp': `${seconds + 1}` }))).toBe('signature wrong')
    expect(check(headers(good, { 'webhook-timestamp': '-1' }))).toBe('signature wrong')
    expect(check(headers(good), Buffer.from('{}'))).toBe('signature wrong')
    expect(check(headers('v1,AAAA'))).toBe('signature wrong')
    expect(check(headers(good.slice(3)))).toBe('signature wrong')
    expect(check(headers(good), body, nowMs + signatureWindowMs + 1)).toBe('signature too old')
    expect(check(headers(good), body, nowMs - signatureWindowMs - 1)).toBe('signature too new')
  })

  it('reads user and password', () => {
    const relay = { mode: 'basic', user: 'relay', password: 'a long enough password' } as const
    const basic = (text: string) => ({
      authorization: `Basic ${Buffer.from(text).toString('base64')}`,
    })
    for (const name of ['marqeta-jit', 'adyen-relayed']) {
      const check = says(shipped(name), relay)
      expect(check(basic('relay:a long enough password'))).toBe('passes')
      expect(check(basic('relay:another password'))).toBe('credentials wrong')
      expect(check({})).toBe('credentials missing')
    }
  })

  it('takes our own signature, under another name too', () => {
    const relay = { mode: 'hmac', secrets: [secret] } as const
    const value = signBody(secret, body, nowMs)
    expect(says(defaultProfile, relay)({ 'relay-signature': value })).toBe('passes')
    const renamed = loadProfile(
      fileOf(
        `${small}authentication: { scheme: arbiter-hmac, header: X-Signature }\n`,
        'named.yaml',
      ),
    )
    expect(says(renamed, relay)({ 'x-signature': value })).toBe('passes')
    expect(says(renamed, relay)({ 'relay-signature': value })).toBe('signature missing')
  })

  it('does not start with an authentication that the peer does not have', () => {
    const basic = { mode: 'basic', user: 'relay', password: 'a long enough password' } as const
    const hmac = { mode: 'hmac', secrets: ['not base64 at all!'] } as const
    expect(() => says(shipped('stripe-issuing'), basic)).toThrow(/needs RELAY_AUTH=hmac/)
    expect(() => says(shipped('marqeta-jit'), hmac)).toThrow(/needs RELAY_AUTH=basic/)
    expect(() => says(shipped('lithic-asa'), hmac)).toThrow(/needs RELAY_SECRET in base64/)
    expect(says(shipped('stripe-issuing'), { mode: 'none' })({})).toBe('passes')
    expect(says(shipped('stripe-issuing'), { mode: 'mtls' })({})).toMatch(/^client certificate/)
  })
})

describe('the server with RELAY_PROFILE', () => {
  const secret = 'an endpoint secret of ours'
  const data = temporaryFolder()
  let server: Awaited<ReturnType<typeof startServer>>

  beforeAll(async () => {
    server = await startServer({
      dataDir: data.path,
      args: ['--demo'],
      env: { RELAY_PROFILE: 'stripe-issuing', RELAY_SECRET: secret },
    })
  })
  afterAll(async () => {
    await server?.kill()
    data.remove()
  })

  async function post(body: Json, key = secret) {
    const text = JSON.stringify(body)
    const seconds = Math.floor(Date.now() / 1000)
    const mac = createHmac('sha256', key).update(`${seconds}.${text}`).digest('hex')
    const response = await fetch(server.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'stripe-signature': `t=${seconds},v1=${mac}`,
      },
      body: text,
    })
    const version = response.headers.get('stripe-version')
    return { status: response.status, version, body: (await response.json()) as Json }
  }

  function request(id: string, more: readonly [string, unknown][] = []): Json {
    let body = changed(example('stripe-issuing.request'), '/data/object/card/id', 'card-1')
    body = changed(body, '/data/object/id', `iauth_${id}`)
    for (const [place, value] of [['/id', `evt_${id}`] as const, ...more]) {
      body = changed(body, place, value)
    }
    return body
  }

  it('decides, acknowledges, refuses and turns strangers away, all in the shape of its peer', async () => {
    const approved = { approved: true, metadata: { responseCode: '000' } }
    const once = await post(request('one'))
    expect(once).toEqual({ status: 200, version: '2024-06-20', body: approved })
    expect(await post(request('one'))).toEqual(once)

    const place = '/data/object/merchant_data/category_code'
    const gambling = await post(request('two', [[place, '7995']]))
    expect(gambling.body).toEqual({
      approved: false,
      metadata: { responseCode: '127', reason: 'mcc not supported' },
    })

    const capture = changed(example('stripe-issuing.capture'), '/data/object/card', 'card-1')
    const settled = changed(capture, '/data/object/authorization', 'iauth_one')
    expect((await post(settled)).body).toEqual({ received: true })

    const unread = await post(request('three', [['/created', 'yesterday']]))
    expect(unread).toMatchObject({ status: 200, version: '2024-06-20', body: { approved: false } })
    for (const kind of ['balance.available', 'issuing_authorization.updated']) {
      const ignored = await post(request('four', [['/type', kind]]))
      expect(ignored).toMatchObject({ status: 200, body: { received: true } })
    }
    const metrics = await (await fetch(`${server.adminUrl}/metrics`)).text()
    expect(metrics).toMatch(/^arbiter_unknown_kinds_total 1$/m)
    // The ask that could not be read; what was acknowledged was not refused.
    expect(metrics).toMatch(/^arbiter_refusals_total\{status="400"\} 1$/m)
    expect(metrics).not.toContain('arbiter_refusals_total{status="200"}')
    const controls = { blocked_categories: Array(2_000).fill('betting_casino_gambling') }
    const large = request('large', [['/data/object/card/spending_controls', controls]])
    expect(JSON.stringify(large).length).toBeGreaterThan(50_000)
    expect((await post(large)).body).toEqual(approved)
    const stranger = await post(request('five'), 'another secret than ours')
    expect(stranger).toMatchObject({ status: 401, body: { approved: false } })
  })

  it('does not start with a profile that has faults', () => {
    const file = fileOf(small.replace('unit: minor', 'unit: cents'))
    const { status, stderr } = spawnSync(process.execPath, [join(root, 'dist', 'main.js')], {
      cwd: root,
      env: { PATH: process.env.PATH, DATA_DIR: data.path, RELAY_PROFILE: file },
      encoding: 'utf8',
      timeout: 20_000,
    })
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: `The relay profile has 1 problem(s):\n${file}:9:37 fields.amount.unit must be one of major, minor\n`,
    })
  })

  it('does not start with an authentication that does not go with its profile', () => {
    const { status, stderr } = spawnSync(process.execPath, [join(root, 'dist', 'main.js')], {
      cwd: root,
      env: {
        PATH: process.env.PATH,
        DATA_DIR: data.path,
        RELAY_PROFILE: 'marqeta-jit',
        RELAY_SECRET: secret,
      },
      encoding: 'utf8',
      timeout: 20_000,
    })
    expect(status).toBe(2)
    expect(stderr).toMatch(/needs RELAY_AUTH=basic/)
  })
})
