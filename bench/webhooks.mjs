import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeTemplates, startArbiter } from './support/arbiter.mjs'
import { root, runToEnd } from './support/processes.mjs'
import { inRounds, median, medianRatio } from './support/rounds.mjs'
import { packOf, rulesOf } from './support/rulebook.mjs'
import { startSender } from './support/sending.mjs'

const place = 'anywhere'
const rules = 100
/** Each decision is an event, and so a webhook. */
const ratePerSecond = 200
/** Receivers that are down, and hold back nobody. */
const deadEndpoints = 5

export async function run({ smoke, rounds = 5, seconds = 8, progress }) {
  const cards = smoke ? 50 : 2_000
  const pack = packOf(rulesOf(rules))
  const env = { SANDBOX: 'true', SECRETS_KEY: randomBytes(32).toString('base64') }
  const receiver = await startReceiver()
  const sender = startSender()
  const servers = {}
  const removals = []
  try {
    for (const name of ['alone', 'webhooks']) {
      progress(`starting the server ${name}`)
      const templates = await makeTemplates({ cards, pack, redis: false, env })
      removals.push(templates.remove)
      await furnish(templates, env, name === 'webhooks' ? receiver.url : null)
      servers[name] = await startArbiter({ templates, place, env: { ...env, API_PORT: '0' } })
    }
    const count = Math.ceil(ratePerSecond * (smoke ? 0.5 : seconds))
    const open = { cards, rules, mode: 'open', ratePerSecond, count }
    const names = Object.keys(servers)
    for (const name of names) {
      progress(`warming the server ${name}`)
      await sender.drive({ ...open, ports: [servers[name].port], run: 'w-' })
    }
    const samples = await inRounds(smoke ? 1 : rounds, names, progress, async (name, round) => {
      const before = receiver.times.length
      const { port } = servers[name]
      const decided = await sender.drive({ ...open, ports: [port], run: `${round}-${name}-` })
      // On a busy machine some are declined by default, of which not all are in the ledger and told.
      if (name === 'webhooks') await arrived(receiver, before + count - decided.defaults)
      return { ...decided, told: receiver.times.length - before }
    })
    return report(samples, receiver, { cards, count })
  } finally {
    sender.end()
    receiver.close()
    for (const server of Object.values(servers)) {
      await server.stop()
      server.remove()
    }
    for (const remove of removals) remove()
  }
}

/** An organization for all cards, and its webhooks: one that answers, and some that are down. */
async function furnish(templates, env, url) {
  const named = { ...env, DATA_DIR: templates.dataDir, RULES_DIR: templates.rulesDir }
  const arbiter = (...words) => runToEnd([join(root, 'dist/cli/main.js'), ...words], named)
  const made = ['--name', 'Bench', '--country', 'US', '--currency', 'USD']
  await arbiter('organization', 'add', 'org-1', ...made)
  await arbiter('organization', 'adopt', 'org-1')
  if (url === null) return
  const dead = Array.from({ length: deadEndpoints }, (_, i) => `http://127.0.0.1:1/${i}`)
  for (const one of [url, ...dead]) {
    const given = ['--organization', 'org-1', '--url', one, '--event', 'transaction.*']
    await arbiter('webhooks', 'add', ...given)
  }
}

/** How old each event is when it arrives. */
async function startReceiver() {
  const times = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    times.push(Date.now() - Date.parse(JSON.parse(body).timestamp))
    response.end()
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { times, url: `http://127.0.0.1:${server.address().port}/hooks`, close }
}

async function arrived({ times }, count) {
  const endMs = Date.now() + 60_000
  while (times.length < count) {
    if (Date.now() > endMs) throw new Error(`${times.length} of ${count} webhooks arrived`)
    await sleep(50)
  }
}

function report(samples, { times }, { cards, count }) {
  const sorted = [...times].sort((a, b) => a - b)
  const rows = Object.entries(samples).map(([name, all]) => ({
    what: name === 'alone' ? 'decisions alone' : 'decisions, each told by a webhook',
    'decisions/s': ratePerSecond,
    'webhooks a round': Math.round(median(all.map(({ told }) => told))),
    'p50 ms': median(all.map(({ p50 }) => p50)),
    'p99 ms': median(all.map(({ p99 }) => p99)),
    'by default': all.reduce((sum, { defaults }) => sum + defaults, 0),
    ratio: medianRatio(all, samples.alone, ({ p99 }) => p99),
  }))
  const [, beside] = rows
  const at = (part) => sorted[Math.floor(part * (sorted.length - 1))]
  return {
    parameters: { cards, count, rounds: samples.alone.length, deadEndpoints },
    rows,
    samples,
    aims: [
      {
        text: 'p99 of decisions within 1.2 while 200 webhooks a second go out',
        measured: beside.ratio,
        met: beside.ratio <= 1.2,
      },
    ],
    notes: [
      `Two servers with an embedded store, driven in turns; one has a webhook that answers, and ${deadEndpoints} that are down. ` +
        `An event arrives ${at(0.5)} ms after its decision (median), ${at(0.99)} ms at p99.`,
    ],
    plot: {
      type: 'bars',
      title: 'Decisions beside webhooks (ms)',
      unit: 'ms',
      series: ['p50', 'p99'],
      bars: rows.map((row) => ({ label: row.what, values: [row['p50 ms'], row['p99 ms']] })),
    },
  }
}
