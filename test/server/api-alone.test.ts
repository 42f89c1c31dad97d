import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, type TestContext } from 'vitest'
import { apiUrlOf, createApiClient } from '../support/api-client.ts'
import { createCliWorld, rowOf } from '../support/cli.ts'
import { freePort } from '../support/free-port.ts'
import { endWithTests } from '../support/leftovers.ts'
import { durable, startRedis } from '../support/redis-server.ts'
import { fastFolder, type ReadinessShown, until } from '../support/server.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

const entry = join(import.meta.dirname, '../../dist/cli/main.js')
const chaos = join(import.meta.dirname, '../support/chaos.mjs')
const cards = 4
const settings = ['--name', 'Acme', '--country', 'US', '--currency', 'USD']
/** A command gives up a store that takes nothing for ten seconds. */
const awayMs = 11_000
/** Of each card's top-ups: without one they keep a small machine busy that other tests need, too. */
const pauseMs = 25

/** The management API in a process of its own, whose Redis can be exchanged, and a client that tops up all cards. */
async function serveAlone(test: TestContext) {
  const redis = await startRedis(durable)
  test.onTestFinished(redis.dispose)
  const proxy = await startTcpProxy(redis.port, Math.random)
  test.onTestFinished(proxy.dispose)
  const world = await createCliWorld()
  test.onTestFinished(world.dispose)
  const env = { REDIS_URL: proxy.url, SECRETS_KEY: randomBytes(32).toString('base64') }
  const run = async (...args: string[]) => {
    const { code, out, err } = await world.runWith({ env }, ...args)
    expect([args, code, err]).toEqual([args, 0, ''])
    return out
  }
  await run('organization', 'add', 'org-1', ...settings)
  const rows = Array.from({ length: cards }, (_, i) => rowOf(i, { balance: '0' }))
  await run('import', await world.write('rows.ndjson', rows.join('\n')))
  await run('organization', 'adopt', 'org-1')
  await run('wallet', 'fund', 'org-1', 'USD', '10000.00', '--reference', 'wire-1')
  const added = ['client', 'add', '--organization', 'org-1', '--name', 'back office']
  const credentials = JSON.parse(await run(...added, '--scope', 'CardAPIs'))
  const adminPort = await freePort()
  const rules = fastFolder()
  test.onTestFinished(rules.remove)
  const setPack = (text: string) => writeFileSync(join(rules.path, 'pack.yaml'), text)
  setPack('name: first')
  const child = spawn(process.execPath, ['--import', chaos, entry, 'api', 'serve'], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: {
      ...world.env,
      ...env,
      API_PORT: '0',
      API_RATE_PER_SECOND: '1000',
      RULES_DIR: rules.path,
      ADMIN_PORT: String(adminPort),
    },
  })
  endWithTests(child)
  let output = ''
  child.stdout!.on('data', (chunk) => {
    output += chunk
  })
  const adminUrl = `http://127.0.0.1:${adminPort}`
  const call = createApiClient(await apiUrlOf({ output: () => output }), credentials)
  let isOver = false
  let told = 0
  const topUps = Array.from({ length: cards }, async (_, i) => {
    while (!isOver) {
      const { said } = await call('POST', `/cards/card-${i}/topup`, { amount: '1.00' })
      if (said === '200 000') told++
      await sleep(pauseMs)
    }
  })
  return {
    redis,
    proxy,
    run,
    told: () => told,
    setClock: (aheadMs: number) => child.send({ type: 'clock', aheadMs }),
    readiness: async () => (await fetch(`${adminUrl}/readyz`)).json() as Promise<ReadinessShown>,
    metrics: async () => (await fetch(`${adminUrl}/metrics`)).text(),
    setPack,
    async settle() {
      isOver = true
      await Promise.all(topUps)
    },
    async stop() {
      child.kill('SIGTERM')
      expect(await once(child, 'exit')).toEqual([0, null])
    },
  }
}

describe.concurrent('the management API alone', () => {
  it('moves again what a failover has lost of its transfers', {
    timeout: 120_000,
  }, async (test) => {
    const { redis, proxy, run, told, settle, stop } = await serveAlone(test)
    const replica = await startRedis({ ...durable, replicaof: `127.0.0.1 ${redis.port}` })
    test.onTestFinished(replica.dispose)
    const replication = () => replica.command('INFO', 'replication')
    await until(async () => String(await replication()).includes('master_link_status:up'))
    await until(async () => told() > 10)
    await replica.command('REPLICAOF', 'NO', 'ONE')
    const before = told()
    await until(async () => told() > before + 10)
    proxy.moveTo(replica.port)
    await redis.kill()
    const after = told()
    await until(async () => told() > after)
    await settle()
    const wallet = async () => JSON.parse(await run('wallet', 'show', 'org-1')).balance
    await until(async () => Number(await wallet()) === 10_000 - told())
    await stop()
    expect(await run('verify')).toContain('10000.00 funded adds up')
  })

  it('moves again what a failover has lost of its transfers before it ends', {
    timeout: 120_000,
  }, async (test) => {
    const { redis, proxy, run, told, settle, stop } = await serveAlone(test)
    const replica = await startRedis({ ...durable, replicaof: `127.0.0.1 ${redis.port}` })
    test.onTestFinished(replica.dispose)
    const replication = () => replica.command('INFO', 'replication')
    await until(async () => String(await replication()).includes('master_link_status:up'))
    await until(async () => told() > 10)
    await replica.command('REPLICAOF', 'NO', 'ONE')
    const before = told()
    await until(async () => told() > before + 10)
    await settle()
    proxy.moveTo(replica.port)
    await Promise.all([redis.kill(), stop()])
    expect(JSON.parse(await run('wallet', 'show', 'org-1')).balance).toBe(10_000 - told())
    expect(await run('verify')).toContain('10000.00 funded adds up')
  })

  it('goes on after Redis was away for long', { timeout: 120_000 }, async (test) => {
    const { redis, told, readiness, metrics, settle, stop } = await serveAlone(test)
    await until(async () => told() > 0)
    await until(async () => (await readiness()).status === 'ready')
    redis.pause()
    await sleep(awayMs)
    expect(await readiness()).toMatchObject({ status: 'degraded', store: 'unavailable' })
    expect(await metrics()).toContain('\narbiter_store_available 0\n')
    redis.resume()
    const before = told()
    await until(async () => told() > before)
    await until(async () => (await readiness()).status === 'ready')
    expect(await metrics()).toContain('\narbiter_store_available 1\n')
    await settle()
    expect(await metrics()).toContain(
      `arbiter_api_requests_total{operation="cards.topUp",status="200",code="000"} ${told()}\n`,
    )
    await stop()
  })

  it('tells that Redis refuses to write, also when nobody calls', async (test) => {
    const { redis, readiness, metrics, settle, stop } = await serveAlone(test)
    await settle()
    await until(async () => (await readiness()).status === 'ready')
    await redis.command('CONFIG', 'SET', 'min-replicas-to-write', '1')
    await until(async () => (await readiness()).status === 'degraded')
    expect(await readiness()).toMatchObject({
      store: 'unavailable',
      storeProblem: expect.stringContaining('NOREPLICAS'),
    })
    expect(await metrics()).toContain('\narbiter_store_available 0\n')
    await redis.command('CONFIG', 'SET', 'min-replicas-to-write', '0')
    await until(async () => (await readiness()).status === 'ready')
    await stop()
  })

  it('dates nothing by a wall clock that jumps, and tells of it', async (test) => {
    const { run, told, setClock, readiness, metrics, settle, stop } = await serveAlone(test)
    await until(async () => told() > 0)
    setClock(40 * 86_400_000)
    await until(async () => (await readiness()).clockProblem !== undefined)
    expect(await readiness()).toMatchObject({
      status: 'degraded',
      clockProblem: 'the wall clock is 40 days ahead of the time that was trusted last',
    })
    const before = told()
    await until(async () => told() > before + 2 * cards)
    await sleep(awayMs / 2)
    expect(await metrics()).toContain('\narbiter_clock_trusted 0\n')
    expect(await readiness()).toMatchObject({ status: 'degraded', store: 'available' })
    setClock(0)
    await until(async () => (await readiness()).status === 'ready')
    await settle()
    await stop()
    for (let i = 0; i < cards; i++) {
      const { lastArrivalMs } = JSON.parse(await run('show', 'account', `account-${i}`))
      expect(lastArrivalMs).toBeLessThanOrEqual(Date.now())
    }
  })

  it('goes by the pack that its folder has now, and by the one before when that is refused', async (test) => {
    const { readiness, setPack, settle, stop } = await serveAlone(test)
    const { rulesVersion } = await readiness()
    setPack('name: second')
    await until(async () => (await readiness()).rulesVersion !== rulesVersion)
    const { rulesVersion: second } = await readiness()
    setPack('nmae: third')
    await until(
      async () => (await readiness()).rulesProblem?.includes('did you mean name?') === true,
    )
    expect(await readiness()).toMatchObject({ status: 'degraded', rulesVersion: second })
    await settle()
    await stop()
  })
})
