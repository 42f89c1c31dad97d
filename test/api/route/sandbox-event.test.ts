import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { RelayAuthentication } from '../../../src/config/config.ts'
import { createProfileAuthentication } from '../../../src/profile/authentication.ts'
import { compileProfile, findProfile, type Profile } from '../../../src/profile/profile.ts'
import { openCardApi } from '../../support/card-world.ts'
import type { MemoryStoreOptions } from '../../support/memory-store.ts'
import { startReceiver } from '../../support/receiver.ts'

const secret = `whsec_${Buffer.from('a secret of the relay').toString('base64')}`
const secrets = { hmac: { mode: 'hmac', secrets: [secret] } } as const

/** A sandbox whose relay port writes down what comes to it, lets pass what is signed, and answers. */
async function open(
  given: string | Profile = 'default',
  status = 200,
  faults: MemoryStoreOptions['faults'] = () => ({ kind: 'none' }),
) {
  const profile = typeof given === 'string' ? findProfile(given, 'rules') : given
  const { scheme } = profile.authentication
  const authentication: RelayAuthentication =
    scheme === 'basic' ? { mode: 'basic', user: 'relay', password: 'pass' } : secrets.hmac
  const authenticate = createProfileAuthentication(profile.authentication, authentication)
  const { url, received } = await startReceiver(({ headers, body }) => {
    const refused = authenticate(headers, Buffer.from(body), api.clock.nowMs(), {})
    return refused ?? { status, body: { decision: 'approve' } }
  })
  const port = new Int32Array(new SharedArrayBuffer(4))
  port[0] = Number(new URL(url).port)
  const relay = { host: '127.0.0.1', port, authentication, profile: profile.source }
  const api = await openCardApi({ sandbox: true, relay, faults })
  return { ...api, received }
}

const merchant = { mid: 'm-1', mcc: '5411' }

/** The example of a profile, with another card. */
function example(name: string, cardId: string, was: string): object {
  const text = readFileSync(join('test', 'profiles', `${name}.json`), 'utf8')
  return JSON.parse(text.replaceAll(was, cardId))
}

/** An ask in the words of each profile. */
const bodies: Readonly<Record<string, (cardId: string) => object>> = {
  default: (cardId) => ({
    eventId: 'e-1',
    requestType: 'Authorization',
    transactionId: 't-1',
    cardId,
    amount: 5,
    currency: 'USD',
    occurredAt: '2026-01-02T03:04:05Z',
    merchant,
  }),
  'stripe-issuing': (cardId) => ({
    id: 'evt_1',
    type: 'issuing_authorization.request',
    created: 1_767_323_045,
    data: {
      object: {
        id: 'iauth_1',
        card: { id: cardId },
        pending_request: { amount: 500, currency: 'usd' },
        merchant_data: { network_id: 'm-1', category_code: '5411' },
      },
    },
  }),
  'lithic-asa': (cardId) =>
    example('lithic-asa.authorization', cardId, '0a1b2c3d-0000-4000-8000-00000000c001'),
  'marqeta-jit': (cardId) => example('marqeta-jit.authorization', cardId, 'card-token-example-1'),
  'adyen-relayed': (cardId) =>
    example('adyen-relayed.authorisation', cardId, 'PI00000000000000000000001'),
}

it.each(Object.keys(bodies))(
  'an event of a sandbox goes to the relay port when its card is of the caller: %s',
  async (profile) => {
    const { send, received } = await open(profile)
    const { said, data } = await send('POST', '/sandbox/events', bodies[profile]!('card-1'))
    expect([said, data]).toEqual(['200 000', { decision: 'approve' }])
    expect(received.map(({ path }) => path)).toEqual(['/authorize/org-1'])
  },
)

it.each(Object.keys(bodies))(
  'an event for another’s card is refused as one for a card that nobody knows, and goes nowhere: %s',
  async (profile) => {
    const { send, received } = await open(profile)
    for (const cardId of ['foreign', 'nobody']) {
      const { said } = await send('POST', '/sandbox/events', bodies[profile]!(cardId))
      expect([cardId, said]).toEqual([cardId, '404 148'])
    }
    expect(received).toEqual([])
  },
)

it('what is no event of the profile goes to the relay port, which says what is wrong with it', async () => {
  const { send, received } = await open('default', 400)
  const { said, message } = await send('POST', '/sandbox/events', {
    ...bodies.default!('card-1'),
    amount: 'x',
  })
  expect(received).toHaveLength(1)
  expect([said, message]).toEqual([
    '400 136',
    'Format error: the relay port answered 400: amount must be a number or a decimal text',
  ])
})

it('an event of a sandbox goes to the path that the profile has, as it was when the server started', async () => {
  const { source } = findProfile('stripe-issuing', 'rules')
  const text = `${source!.text}\npath: /hooks/cards\n`
  const { send, received } = await open(compileProfile({ file: 'gone.yaml', text }))
  const { said } = await send('POST', '/sandbox/events', bodies['stripe-issuing']!('card-1'))
  expect([said, received[0]?.path]).toEqual(['200 000', '/hooks/cards/org-1'])
})

it('a decline with a status of the profile is an answer, what says to send it again tells so, and any other status is a refusal', async () => {
  const body = bodies['marqeta-jit']!('card-1')
  for (const [status, expected] of [
    [402, '200 000'],
    [401, '400 136'],
    [429, '503 150'],
    [503, '503 150'],
  ] as const) {
    const { send } = await open('marqeta-jit', status)
    const { said } = await send('POST', '/sandbox/events', body)
    expect([status, said]).toEqual([status, expected])
  }
})

it('an event goes nowhere when its Reference was seen, or was begun with another payload', async () => {
  const { send, received } = await open()
  const event = bodies.default!('card-1')
  expect((await send('POST', '/sandbox/events', event, 'Same')).said).toBe('200 000')
  await send('POST', '/cards/nobody/freeze', {}, 'Begun')
  for (const reference of ['Same', 'Begun']) {
    const again = { ...event, eventId: `e-${reference}` }
    const { said } = await send('POST', '/sandbox/events', again, reference)
    expect([reference, said]).toEqual([reference, '400 139'])
  }
  expect(received).toHaveLength(1)
})

it('of two events at once under one Reference one is sent; the same call has its answer, another is refused', async () => {
  const { send, received } = await open()
  const event = bodies.default!('card-1')
  const both = (others: readonly object[], reference: string) =>
    Promise.all(others.map((one) => send('POST', '/sandbox/events', one, reference)))
  const equal = await both([event, event], 'Equal')
  expect(equal.map(({ said }) => said)).toEqual(['200 000', '200 000'])
  expect(received).toHaveLength(1)
  const differing = await both([event, { ...event, eventId: 'e-2' }], 'Differing')
  expect(differing.map(({ said }) => said).sort()).toEqual(['200 000', '400 139'])
  expect(received).toHaveLength(2)
})

it('an event that was sent is told, also where the store is away before its Reference is noted', async () => {
  let received: readonly unknown[] = []
  const isAway = () => received.length > 0
  const api = await open('default', 200, () => ({ kind: isAway() ? 'refused' : 'none' }))
  received = api.received
  const { said } = await api.send('POST', '/sandbox/events', bodies.default!('card-1'))
  expect([said, received.length]).toEqual(['200 000', 1])
}, 20_000)

it.each([
  ['is decided on and not answered', true, '504 151'],
  ['nobody takes', false, '503 150'],
])('an event that %s is told so', async (_what, isTaken, expected) => {
  const taken = createServer((request) => request.resume().on('end', () => request.destroy()))
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  const { port } = taken.address() as AddressInfo
  const close = () => new Promise<void>((resolve) => taken.close(() => resolve()))
  if (isTaken) onTestFinished(close)
  else await close()
  const profile = findProfile('default', 'rules').source
  const shared = new Int32Array(new SharedArrayBuffer(4))
  shared[0] = port
  const relay = { host: '127.0.0.1', port: shared, authentication: secrets.hmac, profile }
  const { send } = await openCardApi({ sandbox: true, relay })
  expect((await send('POST', '/sandbox/events', bodies.default!('card-1'))).said).toBe(expected)
})
