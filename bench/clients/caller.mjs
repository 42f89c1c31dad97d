/**
 * The client of the management API, in a process of its own, each call with a Reference and a Signature of its own,
 * every answer looked at. A server without signatures gets the same calls. As fast as it goes: autocannon. At a rate:
 * each call at its intended time, and its latency counts from there; autocannon would send the calls of each second at
 * its beginning, and answers would show how long such a crowd takes.
 */
import { randomBytes } from 'node:crypto'
import { setPriority } from 'node:os'
import autocannon from 'autocannon'
import { signCall } from '../../dist/api/signature.js'
import { quantile } from '../support/rounds.mjs'
import { cardIdOf } from '../support/traffic.mjs'
import { createConnections } from './connections.mjs'
import { drained, intendedTimes, sendAtTimes } from './intended.mjs'

const drainMs = 10_000

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
  const { url, method, cards, credentials, clients = 1, stride = 1 } = job
  // A flood beside others must not take the client's core from whoever measures them.
  if (job.beside === true) setPriority(10)
  const signers = await Promise.all([credentials ?? []].flat().map((each) => signerOf(url, each)))
  const tally = { answered: 0, shed: 0, wrong: 0, firstWrong: '' }
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
  const makeCall = (i) => {
    const { path, body } = callOf(method, i, { clients, cards, stride })
    const headersOf = signers[i % clients] ?? unsigned
    return { method, path, headers: headersOf(method, path), body }
  }
  const driveIt = job.ratePerSecond === undefined ? driveFlatOut : driveAtRate
  const result = await driveIt(job, makeCall, note)
  const perSecond = (tally.answered - first.answered) / ((lastMs - first.ms) / 1_000)
  return { ...tally, perSecond, ...result }
}

async function driveFlatOut({ url, connections, count, seconds }, makeCall, note) {
  let sent = 0
  const setupRequest = (request) => ({ ...request, ...makeCall(sent++) })
  const { errors, latency } = await autocannon({
    url,
    connections,
    ...(count === undefined ? { duration: seconds } : { amount: count }),
    timeout: 20,
    requests: [{ setupRequest, onResponse: note }],
  })
  return { errors, p50: latency.p50, p99: latency.p99 }
}

async function driveAtRate(job, makeCall, note) {
  const { ratePerSecond, seconds, connections: maxConnections } = job
  const { host, port } = new URL(job.url)
  const latencies = []
  let lost = 0
  const connections = createConnections({
    maxConnections,
    onAnswer({ intendedMs }, status, body, nowMs) {
      latencies.push(nowMs - intendedMs)
      note(status, body)
    },
    onLost() {
      lost++
    },
  })
  await connections.open(maxConnections, Number(port))
  const times = intendedTimes(Math.ceil(ratePerSecond * seconds), ratePerSecond)
  await sendAtTimes(times, (i, { intendedMs }) => {
    const expected = { port: Number(port), request: textOf(makeCall(i), host) }
    connections.send({ expected, intendedMs })
  })
  await drained(connections, performance.now() + drainMs)
  const errors = lost + connections.pending
  connections.end()
  const sorted = latencies.sort((a, b) => a - b)
  return { errors, p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) }
}

function textOf({ method, path, headers, body = '' }, host) {
  const all = { host, ...headers, 'content-length': Buffer.byteLength(body) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}
