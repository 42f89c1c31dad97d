import { closeSync, cpSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort, logLine, root, runToEnd, startNode, temporaryFolder } from './processes.mjs'
import { startRedis } from './redis.mjs'
import { benchSecret, cardRow } from './traffic.mjs'

export function writePack(folder, files) {
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
  }
}

/** One file of cards, by `arbiter import` into the store that the environment names. */
async function importCards(count, env, rowOf = cardRow, product = root) {
  const folder = temporaryFolder()
  const file = join(folder.path, 'cards.ndjson')
  const fd = openSync(file, 'w')
  for (let from = 0; from < count; from += 1_000) {
    const rows = Array.from({ length: Math.min(1_000, count - from) }, (_, i) =>
      JSON.stringify(rowOf(from + i)),
    )
    writeSync(fd, `${rows.join('\n')}\n`)
  }
  closeSync(fd)
  try {
    await runToEnd([join(product, 'dist/cli/main.js'), 'import', file], env)
  } finally {
    folder.remove()
  }
}

/** A store with cards that is made once and copied for each server, so that all begin alike. */
export async function makeTemplates(options) {
  const { cards, pack, redis = true, embedded = true, rowOf, product, env: more } = options
  const folder = temporaryFolder()
  const rulesDir = join(folder.path, 'rules')
  writePack(rulesDir, pack)
  const dataDir = join(folder.path, 'data')
  const own = { ...more, DATA_DIR: dataDir, RULES_DIR: rulesDir }
  if (embedded) await importCards(cards, own, rowOf, product)
  let redisDir
  if (redis) {
    const server = await startRedis()
    redisDir = server.folder
    const env = { DATA_DIR: dataDir, RULES_DIR: rulesDir, REDIS_URL: server.url }
    await importCards(cards, { ...env, DURABILITY: 'everysec' }, rowOf, product)
    await server.stop()
  }
  return { folder: folder.path, rulesDir, dataDir, redisDir, remove: () => folder.remove() }
}

/**
 * Resolves when it serves; `redis` is a running one, else it has a copy of the embedded store. A `bare` one
 * takes unsigned events and logs no decisions.
 */
export async function startArbiter(options) {
  const {
    templates,
    rulesDir,
    redis,
    env = {},
    preload = [],
    place,
    product = root,
    bare = false,
    flags = [],
  } = options
  const folder = temporaryFolder()
  const dataDir = join(folder.path, 'data')
  if (redis === undefined) cpSync(templates.dataDir, dataDir, { recursive: true })
  const ownPort = bare ? await freePort() : 0
  const startedMs = performance.now()
  const server = startNode(join(product, 'dist/main.js'), {
    flags: ['--v8-pool-size=1', ...flags],
    logFile: join(folder.path, 'decisions.log'),
    preload,
    ...(place === undefined ? {} : { place }),
    env: {
      PORT: String(ownPort),
      ADMIN_PORT: '0',
      DATA_DIR: dataDir,
      RULES_DIR: rulesDir ?? templates.rulesDir,
      ...(bare ? { RELAY_AUTH: 'none', LOG_LEVEL: 'warn' } : { RELAY_SECRET: benchSecret }),
      ...(redis === undefined
        ? {}
        : { REDIS_URL: redis.url, DURABILITY: redis.durability ?? 'everysec' }),
      ...env,
    },
  })
  const { port, adminPort } = bare
    ? { port: await served(ownPort) }
    : await logLine(server, '"serving POST /authorize"', 180_000)
  return {
    ...server,
    port,
    adminPort,
    startMs: performance.now() - startedMs,
    dataDir,
    remove: () => folder.remove(),
  }
}

/** One that logs no more than warnings says nothing of its start. */
async function served(port) {
  for (let tries = 0; tries < 1_200; tries++) {
    const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => null)
    if (answer !== null) return port
    await sleep(50)
  }
  throw new Error('the server does not serve')
}
