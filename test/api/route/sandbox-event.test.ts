import { expect, it } from 'vitest'
import { openCardApi } from '../../support/card-world.ts'
import { startReceiver } from '../../support/receiver.ts'

/** A sandbox whose relay port writes down what comes to it, and approves. */
async function open(profile = 'default') {
  const { url, received } = await startReceiver(() => ({
    status: 200,
    body: { decision: 'approve' },
  }))
  const port = new Int32Array(new SharedArrayBuffer(4))
  port[0] = Number(new URL(url).port)
  const relay = {
    host: '127.0.0.1',
    port,
    secret: '',
    authorization: '',
    profile,
    rulesDir: 'rules',
  }
  return { ...(await openCardApi({ sandbox: true, relay })), received }
}

const merchant = { mid: 'm-1', mcc: '5411' }

/** The same ask in the words of each profile. */
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
  const { send, received } = await open()
  await send('POST', '/sandbox/events', { cardId: 'card-1' })
  expect(received).toHaveLength(1)
})
