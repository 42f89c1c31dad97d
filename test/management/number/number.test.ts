import { randomBytes } from 'node:crypto'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { noAccount } from '../../../src/domain/record/account.ts'
import { noCard } from '../../../src/domain/record/card.ts'
import { createAggregates } from '../../../src/engine/aggregates.ts'
import { accountAggregate, cardNumberKey } from '../../../src/engine/format/layout.ts'
import { importRows } from '../../../src/engine/import.ts'
import { accountIdOfCard } from '../../../src/management/card.ts'
import { pendingPlace } from '../../../src/management/effect.ts'
import { createNumbers } from '../../../src/management/number/choice.ts'
import { createHttpNumbers } from '../../../src/management/number/http.ts'
import { createSandboxNumbers, rewrapNumbers } from '../../../src/management/number/sandbox.ts'
import { noNumbers } from '../../../src/management/number/source.ts'
import { createSecretBox } from '../../../src/management/secret-box.ts'
import {
  aggregateOfSide,
  encodeTransfer,
  movingEntry,
  type Transfer,
} from '../../../src/management/transfer/transfer.ts'
import { anyAddress } from '../../../src/outgoing/address.ts'
import { createOutgoing } from '../../../src/outgoing/call.ts'
import { createResolver } from '../../../src/outgoing/name.ts'
import { writeWebhookSecret } from '../../../src/outgoing/signature.ts'
import { startEngine } from '../../support/engine-world.ts'
import { createMemoryState, createMemoryStore } from '../../support/memory-store.ts'
import { until } from '../../support/server.ts'

const card = {
  cardId: 'card-1',
  customerId: 'customer-1',
  type: 'retail',
  currency: 'USD',
  expiry: '2029-11',
  nameOnCard: 'ADA OBI',
}

const none = { rewrapped: 0, failed: 0, unopened: 0 }

function openSandbox() {
  const state = createMemoryState()
  const store = createMemoryStore(state)
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
  const key = randomBytes(32)
  const box = createSecretBox([key])
  const numbers = createSandboxNumbers({ store, box, bin: '999999' })
  const engine = startEngine(store)
  onTestFinished(() => engine.stop())
  /** A card that was opened with its number, as an issue does it. */
  async function issue(cardId: string) {
    const row = { cardId, customerId: 'c', type: 'retail', currency: 'USD' }
    expect((await importRows([row], engine)).problems).toEqual([])
    const made = await numbers.make({ ...card, cardId })
    if (typeof made === 'string') throw new Error(made)
    const { sealed, ...shown } = made
    const aggregate = accountAggregate((await accountIdOfCard({ engine }, cardId))!)
    const put = [{ ...cardNumberKey(cardId), value: sealed! }]
    await aggregates.change({ aggregate, decide: () => ({ result: null, write: { put } }) })
    return shown
  }
  return { store, aggregates, key, numbers, issue, engine }
}

/** By the rule as people write it: from the right, doubles of every second digit, digits added. */
function isLuhn(pan: string): boolean {
  const digits = [...pan].reverse().map(Number)
  const counted = digits.map((digit, i) => (i % 2 === 1 ? [...String(2 * digit)] : [digit]))
  return counted.flat().reduce<number>((sum, digit) => sum + Number(digit), 0) % 10 === 0
}

describe('made-up numbers', () => {
  it('begin with the BIN, end by Luhn, and leave nothing behind without a card', async () => {
    const { numbers, issue } = openSandbox()
    const masks = new Set<string>()
    for (let i = 0; i < 50; i++) {
      const cardId = `card-${i}`
      const made = await issue(cardId)
      const full = await numbers.read(cardId)
      if (typeof full === 'string') throw new Error(full)
      expect(full.pan).toMatch(/^999999\d{10}$/)
      expect(isLuhn(full.pan)).toBe(true)
      expect(full.cvv).toMatch(/^\d{3}$/)
      expect(made).toEqual({
        maskedPan: `999999******${full.pan.slice(-4)}`,
        expiry: '2029-11',
      })
      masks.add(full.pan)
    }
    expect(masks.size).toBe(50)
    await numbers.make({ ...card, cardId: 'nobody' })
    expect(await numbers.read('nobody')).toBe('none')
  })

  it('are nowhere in the clear, and follow a change of the key', async () => {
    const { store, aggregates, key, numbers, issue } = openSandbox()
    await issue('card-1')
    const full = await numbers.read('card-1')
    if (typeof full === 'string') throw new Error(full)
    for await (const page of store.scan()) expect(JSON.stringify(page)).not.toContain(full.pan)
    const next = randomBytes(32)
    const both = createSecretBox([next, key])
    expect(await rewrapNumbers(store, aggregates, both)).toEqual({ ...none, rewrapped: 1 })
    expect(await rewrapNumbers(store, aggregates, both)).toEqual(none)
    expect(await numbers.read('card-1')).toBe('failed')
    const later = { store, bin: '999999' }
    const reading = createSandboxNumbers({ ...later, box: createSecretBox([next]) })
    expect(await reading.read('card-1')).toEqual(full)
    const stranger = createSecretBox([randomBytes(32)])
    expect(await rewrapNumbers(store, aggregates, stranger)).toEqual({ ...none, failed: 1 })
  })

  it('are sealed anew also behind the first 500 cards', async () => {
    const { store, aggregates, key, issue, engine } = openSandbox()
    const rows = Array.from({ length: 500 }, (_, i) => {
      return { cardId: `card-${i}`, customerId: 'c', type: 'retail', currency: 'USD' }
    })
    expect((await importRows(rows, engine)).problems).toEqual([])
    await issue('last')
    const both = createSecretBox([randomBytes(32), key])
    expect(await rewrapNumbers(store, aggregates, both)).toEqual({ ...none, rewrapped: 1 })
  })

  it('are told of while their cards are not opened yet, and an old key encrypts them', async () => {
    const { store, aggregates, key, numbers } = openSandbox()
    const { sealed } = (await numbers.make(card)) as { readonly sealed: string }
    const from = { kind: 'wallet', organizationId: 'org-1', currency: 'USD' } as const
    const transfer: Transfer = {
      id: 'trf_1',
      hash: 'h',
      path: '/cards/lite',
      type: 'InitialFunding',
      amountMinor: 0,
      currency: 'USD',
      from,
      to: { kind: 'card', accountId: 'account-1', cardId: 'card-1' },
      clientId: 'cli',
      reference: 'R',
      seenAtMs: Date.now(),
      narration: '',
      opening: {
        account: { ...noAccount, accountId: 'account-1', currency: 'USD', country: 'US' },
        card: { ...noCard, cardId: 'card-1', accountId: 'account-1', type: 'lite' },
        put: [{ ...cardNumberKey('card-1'), value: sealed }],
        terminates: '',
      },
      fromAfter: null,
      data: null,
    }
    const put = [{ ...pendingPlace(transfer), value: encodeTransfer(transfer) }]
    const index = [{ ...movingEntry(transfer), value: '' }]
    await aggregates.change({
      aggregate: aggregateOfSide(from),
      decide: () => ({ result: null, write: { root: '', put, index } }),
    })
    const both = createSecretBox([randomBytes(32), key])
    expect(await rewrapNumbers(store, aggregates, both)).toEqual({ ...none, unopened: 1 })
    expect(await rewrapNumbers(store, aggregates, createSecretBox([key]))).toEqual(none)
  })

  it('are none where nobody gives them', async () => {
    expect(await noNumbers.make(card)).toEqual({ maskedPan: '', expiry: '2029-11' })
    expect(await noNumbers.read('card-1')).toBe('none')
  })
})

/** By the library of Standard Webhooks. */
function isAccepted(library: Webhook, headers: http.IncomingHttpHeaders, body: string): boolean {
  try {
    library.verify(body, headers as Record<string, string>)
    return true
  } catch {
    return false
  }
}

interface Said {
  readonly status?: number
  readonly body?: unknown
}

/** A source of numbers that answers as it is told, and what it was asked. */
async function openSource(answer: (path: string) => Said) {
  const secret = randomBytes(32)
  const library = new Webhook(writeWebhookSecret(secret))
  const asked: { method: string; path: string; body: string; signed: boolean }[] = []
  const server = http.createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { method = '', url: path = '', headers } = request
    asked.push({ method, path, body, signed: isAccepted(library, headers, body) })
    const { status = 200, body: said } = answer(path)
    response.writeHead(status).end(typeof said === 'string' ? said : JSON.stringify(said))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const outgoing = createOutgoing({
    clock: systemClock,
    allows: anyAddress,
    allowsPlain: true,
    resolve: createResolver(systemClock),
    maxCalls: 4,
  })
  onTestFinished(() => {
    outgoing.close()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const troubles: string[] = []
  const onTrouble = (message: string) => troubles.push(message)
  const numbers = createHttpNumbers({ outgoing, clock: systemClock, url, secret, onTrouble })
  return { numbers, asked, outgoing, onTrouble, troubles }
}

describe('numbers of somebody else', () => {
  it('are asked for by 64 calls at once, and one more fails at once', async () => {
    let asked = 0
    const server = http.createServer(() => void asked++)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const secret = writeWebhookSecret(randomBytes(32))
    const troubles: string[] = []
    const needs = { clock: systemClock, onTrouble: (line: string) => troubles.push(line) }
    const numbers = createNumbers({ source: 'http', url, secret }, needs as never)
    const answers = Array.from({ length: 65 }, (_, i) => numbers.read(`card-${i}`))
    expect(await answers[64]).toBe('failed')
    await until(async () => asked === 64)
    server.closeAllConnections()
    expect(await Promise.all(answers)).toEqual(Array(65).fill('failed'))
    expect(troubles[0]).toMatch(/too many/)
  })

  it('are asked for by signed calls, and passed on', async () => {
    const { numbers, asked } = await openSource((path) =>
      path.endsWith('/full')
        ? { body: { pan: '9999990123456788', cvv: '123' } }
        : { body: { maskedPan: '999999******6788', expiry: '2030-01', other: 1 } },
    )
    expect(await numbers.make(card)).toEqual({ maskedPan: '999999******6788', expiry: '2030-01' })
    expect(await numbers.read('card 1/x')).toEqual({ pan: '9999990123456788', cvv: '123' })
    expect(asked).toEqual([
      { method: 'POST', path: '/v1/cards', body: JSON.stringify(card), signed: true },
      { method: 'GET', path: '/v1/cards/card%201%2Fx/full', body: '', signed: true },
    ])
  })

  const otherwise = 'answers otherwise than docs/WEBHOOKS.md says'
  it.each<readonly [string, Said, string]>([
    ['an error', { status: 500, body: {} }, 'answers 500'],
    ['a redirect', { status: 302, body: {} }, 'answers 302'],
    ['no JSON', { body: 'x' }, `${otherwise}: it is not JSON`],
    [
      'a number where a mask belongs',
      { body: { maskedPan: '9999990123456788', expiry: '2030-01' } },
      `${otherwise}: \`maskedPan\``,
    ],
    [
      'no month',
      { body: { maskedPan: '999999******6788', expiry: '2030-13' } },
      `${otherwise}: \`expiry\``,
    ],
    [
      'a month that has passed',
      { body: { maskedPan: '999999******6788', expiry: '2020-01' } },
      'answers an expiry that has passed',
    ],
    ['nothing there', { status: 404, body: {} }, 'answers 404 to a new card'],
  ])('fail by %s, and the log says why', async (_name, said, why) => {
    const { numbers, troubles } = await openSource(() => said)
    expect(await numbers.make(card)).toBe('failed')
    expect(troubles).toEqual([`the card number service ${why}`])
  })

  it('are good for the month they end in, and fail where the answer is cut', async () => {
    const expiry = new Date().toISOString().slice(0, 7)
    const { numbers, onTrouble, troubles } = await openSource(() => ({
      body: { maskedPan: '999999******6788', expiry },
    }))
    expect(await numbers.make(card)).toEqual({ maskedPan: '999999******6788', expiry })
    const url = 'http://127.0.0.1:9'
    const body = JSON.stringify({ pan: '9999990123456788', cvv: '123' })
    const answering = { call: async () => ({ status: 200, body, isCut: true }) as never }
    const named = { url, secret: randomBytes(32), onTrouble, clock: systemClock }
    const reading = createHttpNumbers({ ...named, outgoing: answering })
    expect(await reading.read('card-1')).toBe('failed')
    expect(troubles).toEqual([`the card number service ${otherwise}: it is too long`])
  })

  it('are none where the source knows none, and late when it does not answer', async () => {
    const { numbers, outgoing, onTrouble, troubles } = await openSource(() => ({ status: 404 }))
    expect(await numbers.read('card-1')).toBe('none')
    expect(troubles).toEqual([])
    const late = {
      ...outgoing,
      call: async () => ({ fault: 'timedOut', detail: 'no answer', ms: 0 }) as const,
    }
    const named = { url: 'http://x', secret: randomBytes(32), onTrouble }
    const options = { outgoing: late, clock: systemClock, ...named }
    expect(await createHttpNumbers(options).read('card-1')).toBe('timedOut')
    expect(troubles).toEqual(['the card number service cannot be reached: no answer'])
    outgoing.close()
    expect(await numbers.read('card-1')).toBe('failed')
  })
})
