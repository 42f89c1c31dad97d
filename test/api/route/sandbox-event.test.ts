import { expect, it } from 'vitest'
import { openCardApi } from '../../support/card-world.ts'
import { startReceiver } from '../../support/receiver.ts'

/** A sandbox whose relay port writes down what comes to it, and approves. */
async function open() {
  const { url, received } = await startReceiver(() => ({
    status: 200,
    body: { decision: 'approve' },
  }))
  const port = new Int32Array(new SharedArrayBuffer(4))
  port[0] = Number(new URL(url).port)
  const relay = { host: '127.0.0.1', port, secret: '', authorization: '' }
  return { ...(await openCardApi({ sandbox: true, relay })), received }
}

it('an event of a sandbox goes to the relay port when its card is of the caller', async () => {
  const { send, received } = await open()
  const { said, data } = await send('POST', '/sandbox/events', { cardId: 'card-1' })
  expect([said, data]).toEqual(['200 000', { decision: 'approve' }])
  expect(received.map(({ path }) => path)).toEqual(['/authorize/org-1'])
})

it('an event for another’s card is refused as one for a card that nobody knows, and goes nowhere', async () => {
  const { send, received } = await open()
  for (const cardId of ['foreign', 'nobody']) {
    const { said } = await send('POST', '/sandbox/events', { cardId })
    expect([cardId, said]).toEqual([cardId, '404 148'])
  }
  expect(received).toEqual([])
})
