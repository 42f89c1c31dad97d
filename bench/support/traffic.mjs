import { createHmac } from 'node:crypto'
import { expectationOf } from './rulebook.mjs'

/** For loopback and for these runs only. */
export const benchSecret = 'bench-only-not-a-secret'
export const openingMinor = 100_000_000

export function cardIdOf(i) {
  return `card-${4_000_000 + i}`
}

export function accountIdOf(i) {
  return `account-${4_000_000 + i}`
}

export function cardRow(i, accountId = accountIdOf(i)) {
  return {
    cardId: cardIdOf(i),
    customerId: `customer-${4_000_000 + i}`,
    accountId,
    type: 'retail',
    currency: 'USD',
    country: 'US',
    balance: (openingMinor / 100).toFixed(2),
    expiry: '2039-12',
  }
}

/** Two in a hundred go to a blocked merchant, a gambling one or a listed country each. */
function merchantOf(i) {
  const shop = { mid: `MID${i % 5_000}`, mcc: '5411', country: 'US' }
  const turn = i % 100
  if (turn < 2) return { ...shop, mid: `BAD${1 + 5 * (i % 20)}` }
  if (turn < 4) return { ...shop, mcc: '7995' }
  if (turn < 6) return { ...shop, country: 'IR' }
  return shop
}

function startOf(run) {
  let sum = 0
  for (const letter of run) sum = (sum * 31 + letter.charCodeAt(0)) % 4_999
  return sum
}

/**
 * The i-th event of a run: another event, transaction and, until all had their turn, card each time.
 * A prime step walks through all cards in no order that a store could guess.
 */
function eventOf(run, i, cards) {
  const { mid, mcc, country } = merchantOf(i)
  // A prime, and another start in each run: the same card, amount and merchant soon again is an anomaly.
  const amountMinor = 100 + ((i * 37 + startOf(run)) % 4_999)
  return {
    eventId: `evt-${run}-${i.toString(36)}`,
    cardId: cardIdOf((i * 7_919) % cards),
    amountMinor,
    mid,
    mcc,
    country,
  }
}

function bodyOf(event, occurredAt) {
  const { eventId, cardId, amountMinor, mid, mcc, country } = event
  return JSON.stringify({
    eventId,
    requestType: 'Authorization',
    transactionId: eventId.replace('evt', 'txn'),
    cardId,
    amount: (amountMinor / 100).toFixed(2),
    currency: 'USD',
    merchant: { mid, mcc, name: 'Corner Shop', city: 'Lagos', country },
    occurredAt,
  })
}

function signatureOf(body, nowMs) {
  const mac = createHmac('sha256', benchSecret).update(`${nowMs}.`).update(body).digest('hex')
  return `t=${nowMs},v1=${mac}`
}

/** Signed bodies with what must be answered to each; made before the clock runs. */
export function makeEvents({ run, count, cards, rules, constant = false, hotCard, from = 0 }) {
  const expect = constant ? () => ({ code: '000', ruleId: '' }) : expectationOf(rules)
  const nowMs = Date.now()
  const occurredAt = new Date(nowMs).toISOString()
  return Array.from({ length: count }, (_, k) => {
    const spread = eventOf(run, from + k, cards)
    const event = hotCard === undefined ? spread : { ...spread, cardId: hotCard }
    const body = bodyOf(event, occurredAt)
    return { event, body, signature: signatureOf(body, nowMs), constant, ...expect(event) }
  })
}

/** The whole request as it goes over the connection. */
export function requestOf({ body, signature }, port) {
  return Buffer.from(
    `POST /authorize HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\n` +
      `relay-signature: ${signature}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

/** '' when the answer is the right one; `default` and `wrong …` say what it is instead. */
export function judge(expected, status, body) {
  if (status !== 200) return `wrong: status ${status}: ${body.slice(0, 200)}`
  let answer
  try {
    answer = JSON.parse(body)
  } catch {
    return `wrong: not JSON: ${body.slice(0, 200)}`
  }
  if (expected.constant) return answer.responseCode === '000' ? '' : `wrong: ${body}`
  if (answer.eventId !== expected.event.eventId) return `wrong: another event: ${body}`
  if (answer.decidedBy === 'default') return 'default'
  const same =
    answer.responseCode === expected.code &&
    (answer.ruleId ?? '') === expected.ruleId &&
    answer.decision === (expected.code === '000' ? 'approve' : 'decline')
  return same ? '' : `wrong: ${expected.code} ${expected.ruleId} was due: ${body}`
}
