import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { makeTemplates, startArbiter } from './support/arbiter.mjs'
import { startCaller } from './support/calling.mjs'
import { findKnee } from './support/knee.mjs'
import { logLine, root, runToEnd, usedBetween } from './support/processes.mjs'
import { inRounds, median, medianRatio } from './support/rounds.mjs'
import { packOf, rulesOf } from './support/rulebook.mjs'
import { startSender } from './support/sending.mjs'
import { startStack } from './support/stack.mjs'
import { cardIdOf } from './support/traffic.mjs'

const place = 'anywhere'
const connectionCounts = [1, 16, 64]
const methods = ['GET', 'PATCH']
const rules = 100
const floodConnections = 64

export async function run({ smoke, rounds = 5, seconds = 4, progress }) {
  const cards = smoke ? 50 : 2_000
  const size = { cards, warm: smoke ? 64 : 20_000, count: smoke ? 128 : 2_000 }
  const world = await makeWorld(cards)
  try {
    const calls = await measureCalls(world, size, smoke ? 1 : rounds, progress)
    const times = { seconds: smoke ? 0.3 : seconds, rounds: smoke ? 1 : rounds, smoke }
    const beside = await measureBeside(world, cards, times, progress)
    return report(calls, beside, size)
  } finally {
    world.remove()
  }
}

/** A store with cards of an organization, and a client of it. */
async function makeWorld(cards) {
  const templates = await makeTemplates({ cards, pack: packOf(rulesOf(rules)), redis: false })
  const secretsKey = randomBytes(32).toString('base64')
  const env = {
    DATA_DIR: templates.dataDir,
    RULES_DIR: templates.rulesDir,
    SECRETS_KEY: secretsKey,
  }
  const arbiter = (...words) => runToEnd([join(root, 'dist/cli/main.js'), ...words], env)
  const made = ['--name', 'Bench', '--country', 'US', '--currency', 'USD']
  await arbiter('organization', 'add', 'org-1', ...made)
  await arbiter('organization', 'adopt', 'org-1')
  const client = ['client', 'add', '--organization', 'org-1', '--name', 'bench']
  const credentials = JSON.parse(await arbiter(...client, '--scope', 'CardAPIs'))
  const served = { API_PORT: '0', API_RATE_PER_SECOND: '100000', SECRETS_KEY: secretsKey }
  return {
    credentials,
    async start() {
      const server = await startArbiter({ templates, place, env: served })
      const { apiPort } = await logLine(server, '"serving the management API"')
      return { ...server, apiUrl: `http://127.0.0.1:${apiPort}` }
    },
    remove: () => templates.remove(),
  }
}

/**
 * Signed calls of Arbiter against the same calls, unsigned, of Fastify with the same JSON, and against one that does
 * nothing but what the contract asks of every call.
 */
async function measureCalls(world, { cards, warm, count }, rounds, progress) {
  const arbiter = await world.start()
  const caller = startCaller()
  const signed = { url: arbiter.apiUrl, credentials: world.credentials, cards }
  const answer = await askCard(arbiter, world.credentials)
  const bare = await startStack('constant.mjs', [], { ANSWER: answer }, place)
  const floor = await startFloor(answer, world.credentials)
  const targets = {
    arbiter: { server: arbiter, job: signed },
    Fastify: { server: bare, job: { url: `http://127.0.0.1:${bare.port}`, cards } },
    floor: { server: floor, job: { ...signed, url: `http://127.0.0.1:${floor.port}` } },
  }
  try {
    for (const { job } of Object.values(targets)) {
      for (const method of methods) {
        progress(`warming ${method}`)
        await caller.drive({ ...job, method, connections: 16, count: warm })
      }
    }
    const names = methods.flatMap((method) =>
      connectionCounts.flatMap((n) => Object.keys(targets).map((who) => `${method} ${n} ${who}`)),
    )
    return await inRounds(rounds, names, progress, async (name) => {
      const [method, connections, who] = name.split(' ')
      const { server, job } = targets[who]
      const before = await server.figures()
      const some = Math.max(Number(connections), Number(connections) === 1 ? count / 4 : count)
      const load = { ...job, method, connections: Number(connections), count: some }
      const result = await caller.drive(load)
      const { processUs } = usedBetween(before, await server.figures())
      return { ...result, us: processUs / result.answered }
    })
  } finally {
    caller.end()
    for (const server of [arbiter, bare, floor]) {
      await server.stop()
      server.remove()
    }
  }
}

/** One of Arbiter's own answers, which the others give byte for byte. */
function askCard({ apiUrl }, credentials) {
  const env = {
    ARBITER_API_URL: apiUrl,
    ARBITER_CLIENT_ID: credentials.clientId,
    ARBITER_CLIENT_SECRET: credentials.clientSecret,
    ARBITER_UNIQUE_KEY: credentials.uniqueKey,
  }
  return runToEnd([join(root, 'dist/cli/main.js'), 'api', 'GET', `/cards/${cardIdOf(0)}`], env)
}

function startFloor(answer, { clientId, clientSecret, uniqueKey }) {
  const client = { CLIENT_ID: clientId, CLIENT_SECRET: clientSecret, UNIQUE_KEY: uniqueKey }
  return startStack('signed.mjs', [], { ANSWER: answer, ...client }, place)
}

/** Decisions at half of the knee, without and with the API flat out beside them. */
async function measureBeside(world, cards, { seconds, rounds, smoke }, progress) {
  const server = await world.start()
  const sender = startSender()
  const caller = startCaller()
  const job = { cards, rules }
  try {
    progress('looking for the knee')
    const warming = { seconds: smoke ? 0.2 : 2, warmCount: smoke ? 100 : 6_000 }
    const knee = await findKnee(sender, server, { ...job, ...warming, run: 'k-' }, () => {})
    const ratePerSecond = knee.ratePerSecond / 2
    const count = Math.ceil(ratePerSecond * seconds)
    const open = { ...job, mode: 'open', ports: [server.port], ratePerSecond, count }
    const floodBy = (method, seconds) => {
      const { apiUrl: url } = server
      const { credentials } = world
      const connections = floodConnections
      return caller.drive({ url, credentials, cards, method, connections, beside: true, seconds })
    }
    // A thread that has just started runs its code uncompiled, and compiles beside the decisions.
    for (const method of methods) await floodBy(method, smoke ? 0.3 : 4)
    const names = ['alone', ...methods]
    const samples = await inRounds(rounds, names, progress, async (name, round) => {
      const run = `${round}-${name}-`
      if (name === 'alone') return sender.drive({ ...open, run })
      const flooding = floodBy(name, Math.ceil(seconds) + 1)
      await new Promise((resolve) => setTimeout(resolve, 500))
      const decided = await sender.drive({ ...open, run })
      return { ...decided, apiPerSecond: (await flooding).perSecond }
    })
    return { knee, ratePerSecond, samples }
  } finally {
    sender.end()
    caller.end()
    await server.stop()
    server.remove()
  }
}

function report(calls, { knee, ratePerSecond, samples }, size) {
  const rows = methods.flatMap((method) =>
    connectionCounts.map((connections) => {
      const own = calls[`${method} ${connections} arbiter`]
      const bare = calls[`${method} ${connections} Fastify`]
      const floor = calls[`${method} ${connections} floor`]
      return {
        what: `${method} of a card`,
        connections,
        'calls/s': Math.round(median(own.map(({ perSecond }) => perSecond))),
        'Fastify/s': Math.round(median(bare.map(({ perSecond }) => perSecond))),
        ratio: medianRatio(own, bare, ({ perSecond }) => perSecond),
        'floor ratio': medianRatio(floor, bare, ({ perSecond }) => perSecond),
        'of floor': medianRatio(own, floor, ({ perSecond }) => perSecond),
        'by CPU': medianRatio(bare, own, ({ us }) => us),
        'floor by CPU': medianRatio(bare, floor, ({ us }) => us),
        'CPU µs': median(own.map(({ us }) => us)),
        'p50 ms': median(own.map(({ p50 }) => p50)),
        'p99 ms': median(own.map(({ p99 }) => p99)),
      }
    }),
  )
  const decided = Object.entries(samples).map(([name, all]) => ({
    what: name === 'alone' ? 'decisions alone' : `decisions beside ${name} flat out`,
    connections: name === 'alone' ? 0 : floodConnections,
    'calls/s': name === 'alone' ? 0 : Math.round(median(all.map((one) => one.apiPerSecond))),
    ratio: medianRatio(all, samples.alone, ({ p99 }) => p99),
    'p50 ms': median(all.map(({ p50 }) => p50)),
    'p99 ms': median(all.map(({ p99 }) => p99)),
  }))
  const get = rows.filter(({ what }) => what.startsWith('GET'))
  return {
    parameters: { ...size, rounds: samples.alone.length, kneePerSecond: knee.ratePerSecond },
    rows: [...rows, ...decided],
    samples: { calls, beside: samples },
    aims: [
      ...get.map(({ connections, ratio }) => ({
        text: `signed GET, ${connections} connections: at least 0.4 of Fastify with the same JSON`,
        measured: ratio,
        met: ratio >= 0.4,
      })),
      ...decided.slice(1).map(({ what, ratio }) => ({
        text: `${what}: p99 within 1.3 of alone`,
        measured: ratio,
        met: ratio <= 1.3,
      })),
    ],
    notes: [
      `Calls in closed loop, each with a Reference and a Signature of its own; Fastify answers the same JSON to the same calls, unsigned. ` +
        `\`floor\` is Fastify with the hashes of the contract and its commits on the disk, one for a GET, which does not wait for it, and two for a PATCH: what no server can go below. ` +
        `\`by CPU\` compares processor time, all threads. Decisions come at ${Math.round(ratePerSecond)}/s, half of the knee; their ratio is of p99.`,
    ],
    plot: {
      type: 'bars',
      title: 'Calls of the management API (calls/s)',
      unit: 'calls/s',
      series: ['Arbiter', 'Fastify'],
      bars: rows.map((row) => ({
        label: `${row.what}, ${row.connections}`,
        values: [row['calls/s'], row['Fastify/s']],
      })),
    },
  }
}
