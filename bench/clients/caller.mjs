/**
 * The client of the management API, in a process of its own: autocannon, each call with a Reference and a
 * Signature of its own, every answer looked at. A server without signatures gets the same calls.
 */
import { randomBytes } from 'node:crypto'
import { setPriority } from 'node:os'
import autocannon from 'autocannon'
import { signCall } from '../../dist/api/signature.js'
import { cardIdOf } from '../support/traffic.mjs'

process.on('message', async (job) => {
  process.send({ type: 'driven', result: await drive(job) })
})
process.on('disconnect', () => process.exit(0))

async function askToken(url, { clientId, clientSecret }) {
  const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
  const response = await fetch(`${url}/connect/token`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${basic}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: 'grant_type=client_credentials',
  })
  return (await response.json()).access_token
}

/** The headers of one call; those that never change are made once. */
async function signerOf(url, credentials) {
  const { clientId, clientSecret, uniqueKey } = credentials
  const fixed = {
    'content-type': 'application/json',
    serviceauthorization: `ServiceAuth ${Buffer.from(clientId).toString('base64')}`,
    authorization: `Bearer ${await askToken(url, credentials)}`,
    uniquekey: uniqueKey,
  }
  return (method, target) => {
    const reference = randomBytes(15).toString('base64url')
    const signed = { method, baseUrls: [url], target, reference, clientId }
    return { ...fixed, reference, signature: signCall(signed, clientSecret) }
  }
}

/** Calls in turn, of each of many clients on the cards of its own: those that lie `stride` apart. */
function callOf(method, i, { clients, cards, stride }) {
  const card = (i % clients) + stride * (Math.floor(i / clients) % Math.floor(cards / stride))
  const path = `/api/v1/cards/${cardIdOf(card)}`
  if (method === 'GET') return { path }
  if (method === 'POST') return { path: `${path}/topup`, body: '{"amount":0.01}' }
  return { path, body: `{"cardLimits":{"dailyLimit":${1e6 + i}}}` }
}

/** What needs no signature is known by a Reference alone. */
function unsigned() {
  return {
    'content-type': 'application/json',
    reference: randomBytes(15).toString('base64url'),
  }
}

async function drive(job) {
  const { url, method, connections, count, seconds, cards, credentials, ratePerSecond } = job
  const { clients = 1, stride = 1 } = job
  // A flood beside others must not take the client's core from whoever measures them.
  if (job.beside === true) setPriority(10)
  const signers = await Promise.all([credentials ?? []].flat().map((each) => signerOf(url, each)))
  const tally = { answered: 0, shed: 0, wrong: 0, firstWrong: '' }
  let sent = 0
  let first
  let lastMs = 0
  const note = (status, body) => {
    lastMs = performance.now()
    first ??= { ms: lastMs, answered: tally.answered }
    if (job.beside === true && status === 503) {
      tally.shed++
      return
    }
    tally.answered++
    if (status === 200 && body.includes('"responseCode":"000"')) return
    tally.wrong++
    tally.firstWrong ||= `${status} ${body.slice(0, 300)}`
  }
  const result = await autocannon({
    url,
    connections,
    ...(count === undefined ? { duration: seconds } : { amount: count }),
    ...(ratePerSecond === undefined ? {} : { overallRate: ratePerSecond }),
    timeout: 20,
    requests: [
      {
        method,
        setupRequest(request) {
          const i = sent++
          const { path, body } = callOf(method, i, { clients, cards, stride })
          const headersOf = signers[i % clients] ?? unsigned
          return { ...request, path, headers: headersOf(method, path), body }
        },
        onResponse: note,
      },
    ],
  })
  return {
    ...tally,
    errors: result.errors,
    perSecond: (tally.answered - first.answered) / ((lastMs - first.ms) / 1_000),
    p50: result.latency.p50,
    p99: result.latency.p99,
  }
}
