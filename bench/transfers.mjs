import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createAggregates } from '../dist/engine/aggregates.js'
import { walletAggregate } from '../dist/engine/format/layout.js'
import { addClient } from '../dist/management/client.js'
import { fundWallet } from '../dist/management/funding.js'
import { addOrganization } from '../dist/management/organization.js'
import { createSecretBox } from '../dist/management/secret-box.js'
import { openStore } from '../dist/store/open.js'
import { makeTemplates, startArbiter } from './support/arbiter.mjs'
import { startCaller } from './support/calling.mjs'
import { findKnee } from './support/knee.mjs'
import { logLine, root, runToEnd } from './support/processes.mjs'
import { startRedis } from './support/redis.mjs'
import { inRounds, median, medianRatio } from './support/rounds.mjs'
import { packOf, rulesOf } from './support/rulebook.mjs'
import { startSender } from './support/sending.mjs'
import { startStack } from './support/stack.mjs'
import { cardRow } from './support/traffic.mjs'

const place = 'anywhere'
const wallets = 64
const walletCounts = [1, wallets]
const connections = 64
const rules = 100
const fundedMinor = 10 ** 12
const stores = ['embedded', 'Redis']

const organizationOf = (i) => `org-${i % wallets}`
const rowOf = (i) => ({ ...cardRow(i), organizationId: organizationOf(i) })

export async function run({ smoke, rounds = 3, seconds = 3, progress }) {
  const size = smoke
    ? { cards: 128, warm: 64, count: 128, seconds: 1, rounds: 1, smoke }
    : // V8 compiles what a transfer runs through until some thousands were made.
      { cards: 2_048, warm: 8_000, count: 1_500, seconds, rounds, smoke }
  progress('making cards')
  const pack = packOf(rulesOf(rules))
  const templates = await makeTemplates({ cards: size.cards, pack, rowOf })
  const key = randomBytes(32)
  const targets = {}
  const caller = startCaller()
  try {
    for (const store of stores) targets[store] = await startServer(templates, key, store)
    targets.Lua = await startLua(size.cards)
    const moved = await measureFlatOut(caller, targets, size, progress)
    const halves = await measureHalf(caller, targets, moved, size, progress)
    const beside = await measureBeside(caller, targets.embedded, moved, size, progress)
    for (const store of stores) await targets[store].check()
    return report({ moved, halves, beside }, size)
  } finally {
    caller.end()
    for (const target of Object.values(targets)) await target.end()
    templates.remove()
  }
}

/** Organizations with a client and a full wallet each, as the command line would make them one by one. */
async function addWallets(storeOptions, key) {
  const store = await openStore(storeOptions, Date.now)
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `bench.${versions++}` })
  const box = createSecretBox([key])
  const currency = 'USD'
  const settings = { name: 'Bench', country: 'US', currencies: [currency], cardValidityMonths: 36 }
  const limits = { defaultDecision: 'decline', maxTopUpMinor: {}, minimumBalanceMinor: {} }
  const credentials = []
  for (let i = 0; i < wallets; i++) {
    const organizationId = organizationOf(i)
    const atMs = Date.now()
    await addOrganization(aggregates, organizationId, { ...settings, ...limits }, atMs)
    const client = { organizationId, name: 'bench', scopes: ['CardAPIs'] }
    credentials.push(await addClient(aggregates, box, client, atMs))
    const named = { transferId: `trf_${i}`, reference: `start-${i}`, narration: '', atMs }
    const funding = { organizationId, currency, amountMinor: fundedMinor, ...named }
    await aggregates.change({
      aggregate: walletAggregate(organizationId, currency),
      decide: (view) => ({ result: null, write: fundWallet(view, funding).write }),
    })
  }
  await store.close()
  return credentials
}

async function startServer(templates, key, name) {
  const { dataDir } = templates
  const redis =
    name === 'embedded' ? undefined : await startRedis({ copyOf: templates.redisDir, place })
  const address = redis === undefined ? null : { urls: [redis.url], cluster: false }
  const credentials = await addWallets({ redis: address, dataDir }, key)
  const served = { API_PORT: '0', API_RATE_PER_SECOND: '100000' }
  const env = { ...served, SECRETS_KEY: key.toString('base64') }
  const server = await startArbiter({ templates, place, env, ...(redis && { redis }) })
  const { apiPort } = await logLine(server, '"serving the management API"')
  return {
    ...server,
    jobOf: (count) => ({
      url: `http://127.0.0.1:${apiPort}`,
      credentials: credentials.slice(0, count),
    }),
    /** After all that was moved everything must still be there. */
    async check() {
      await server.stop()
      const store = redis ? { REDIS_URL: redis.url, DURABILITY: 'everysec' } : {}
      const places = { DATA_DIR: server.dataDir, RULES_DIR: templates.rulesDir, ...store }
      const said = await runToEnd([join(root, 'dist/cli/main.js'), 'verify'], places)
      if (!said.includes('funded adds up')) throw new Error(said)
    },
    async end() {
      await server.stop()
      server.remove()
      if (redis === undefined) return
      await redis.stop()
      redis.remove()
    },
  }
}

async function startLua(cards) {
  const redis = await startRedis({ place })
  const env = { REDIS_URL: redis.url, CARDS: String(cards), WALLETS: String(wallets) }
  const stack = await startStack('lua-transfers.mjs', [], env, place)
  return {
    jobOf: () => ({ url: `http://127.0.0.1:${stack.port}` }),
    async end() {
      await stack.stop()
      stack.remove()
      await redis.stop()
      redis.remove()
    },
  }
}

const jobOf = (target, count, { cards }) => ({
  ...target.jobOf(count),
  ...{ method: 'POST', connections, cards, clients: count, stride: wallets },
})

async function measureFlatOut(caller, targets, size, progress) {
  for (const [name, target] of Object.entries(targets)) {
    progress(`warming ${name}`)
    await caller.drive({ ...jobOf(target, wallets, size), count: size.warm })
  }
  const names = Object.keys(targets).flatMap((name) => walletCounts.map((n) => `${name} ${n}`))
  return inRounds(size.rounds, names, progress, (name) => {
    const [who, count] = name.split(' ')
    return caller.drive({ ...jobOf(targets[who], Number(count), size), count: size.count })
  })
}

const medianRate = (samples) => median(samples.map(({ perSecond }) => perSecond))
const halfOf = (samples) => Math.max(20, Math.round(medianRate(samples) / 2))

/** At a steady rate; what waits for a connection counts from when it was due. */
function measureHalf(caller, targets, moved, size, progress) {
  const names = stores.flatMap((name) => walletCounts.map((n) => `${name} ${n}`))
  return inRounds(size.rounds, names, progress, (name) => {
    const [who, count] = name.split(' ')
    const job = jobOf(targets[who], Number(count), size)
    return caller.drive({ ...job, seconds: size.seconds, ratePerSecond: halfOf(moved[name]) })
  })
}

/** Decisions at half of the knee, without and with transfers on the same cards at half of what they can. */
async function measureBeside(caller, server, moved, size, progress) {
  const { cards, seconds, rounds, smoke } = size
  const sender = startSender()
  const job = { cards, rules }
  try {
    progress('looking for the knee')
    const warming = { seconds: smoke ? 0.2 : 1, warmCount: smoke ? 100 : 4_000 }
    const knee = await findKnee(sender, server, { ...job, ...warming, run: 'k-' }, () => {})
    const ratePerSecond = knee.ratePerSecond / 2
    const count = Math.ceil(ratePerSecond * seconds)
    const open = { ...job, mode: 'open', ports: [server.port], ratePerSecond, count }
    const samples = await inRounds(rounds, ['alone', 'beside'], progress, async (name, round) => {
      const run = `${round}-${name}-`
      if (name === 'alone') return sender.drive({ ...open, run })
      const rate = halfOf(moved[`embedded ${wallets}`])
      const flood = { ...jobOf(server, wallets, size), ratePerSecond: rate }
      const flooding = caller.drive({ ...flood, seconds: Math.ceil(seconds) + 2 })
      await new Promise((resolve) => setTimeout(resolve, 500))
      const decided = await sender.drive({ ...open, run })
      return { ...decided, transfersPerSecond: (await flooding).perSecond }
    })
    return { ratePerSecond, samples }
  } finally {
    sender.end()
  }
}

function report({ moved, halves, beside }, { cards, count, seconds, rounds }) {
  const rows = [...stores, 'Lua'].flatMap((name) =>
    walletCounts.map((n) => {
      const own = moved[`${name} ${n}`]
      const half = halves[`${name} ${n}`] ?? []
      const perSecond = ({ perSecond }) => perSecond
      return {
        what: name === 'Lua' ? 'Fastify and one Lua script' : `transfers, ${name}`,
        wallets: n,
        'per second': Math.round(medianRate(own)),
        ratio: medianRatio(own, moved[`Lua ${n}`], perSecond),
        'p50 ms': median(own.map(({ p50 }) => p50)),
        'p99 ms': median(own.map(({ p99 }) => p99)),
        'p99 ms at half': half.length === 0 ? '' : median(half.map(({ p99 }) => p99)),
      }
    }),
  )
  const { samples, ratePerSecond } = beside
  const decided = ['alone', 'beside'].map((name) => ({
    what: name === 'alone' ? 'decisions alone' : 'decisions beside transfers',
    wallets: name === 'alone' ? 0 : wallets,
    'per second': Math.round(ratePerSecond),
    ratio: medianRatio(samples[name], samples.alone, ({ p99 }) => p99),
    'p50 ms': median(samples[name].map(({ p50 }) => p50)),
    'p99 ms': median(samples[name].map(({ p99 }) => p99)),
    'p99 ms at half': '',
  }))
  const own = rows.filter(({ what }) => what.startsWith('transfers'))
  const besideRate = median(samples.beside.map((one) => one.transfersPerSecond))
  return {
    parameters: { cards, count, seconds, rounds, connections },
    rows: [...rows, ...decided],
    samples: { moved, halves, beside: samples },
    aims: [
      ...own.map(({ what, wallets: n, ratio }) => ({
        text: `${what}, wallets ${n}: at least 0.3 of one Lua script`,
        measured: ratio,
        met: ratio >= 0.3,
      })),
      ...own.map((row) => ({
        text: `${row.what}, wallets ${row.wallets}: p99 below 50 ms at half of what it does flat out`,
        measured: row['p99 ms at half'],
        met: row['p99 ms at half'] < 50,
      })),
      {
        text: 'decisions on the same cards: p99 within 1.3 of alone',
        measured: decided[1].ratio,
        met: decided[1].ratio <= 1.3,
      },
    ],
    notes: [
      `Top-ups over HTTP, ${connections} connections in closed loop, each signed and with a Reference of its own; the Lua script is behind Fastify, unsigned, with wallet and card on one Redis node. ` +
        `Half is of what the same did in closed loop, each call at an intended time of its own. Decisions come at half of their knee (embedded), beside ${Math.round(besideRate)} transfers/s on the same cards; their ratio is of p99. In the end \`verify\` must find every cent.`,
    ],
    plot: {
      type: 'bars',
      title: 'Transfers between wallets and cards (transfers/s)',
      unit: 'transfers/s',
      series: ['1 wallet', `${wallets} wallets`],
      bars: [...stores, 'Lua'].map((name) => ({
        label: name === 'Lua' ? 'one Lua script' : name,
        values: walletCounts.map((n) => Math.round(medianRate(moved[`${name} ${n}`]))),
      })),
    },
  }
}
