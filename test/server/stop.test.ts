import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { checkLedger, seedCards } from '../support/ledger-check.ts'
import { createRelay, type Delivery, type Relay } from '../support/relay.ts'
import {
  fastFolder,
  type RunningServer,
  readiness,
  spawnServer,
  startServer,
  until,
  usualBudget,
} from '../support/server.ts'
import { isExcused, startWitness } from '../support/stall-witness.ts'
import { countAnswers, type Load, startLoad } from '../support/traffic.ts'

const folder = fastFolder()
const dataDir = folder.path
const relay = createRelay('http://127.0.0.1:1')
let cards: readonly string[]
/** Each test ends the one that the test before it has left, on the same folder. */
let server: RunningServer

async function start(): Promise<void> {
  server = await startServer({ dataDir, disturbable: true, env: usualBudget })
  relay.moveTo(server.url)
}

beforeAll(async () => {
  cards = await seedCards(dataDir, Array(20).fill('100000.00'))
  await start()
})

afterAll(async () => {
  relay.close()
  await server.kill()
  folder.remove()
})

function loadWith(seed: number, ratePerSecond: number): Load {
  const load = startLoad({ relay, seed, cards, ratePerSecond })
  onTestFinished(load.stop)
  return load
}

/** Resolves to the exit code and how long it took. */
async function end(signal: NodeJS.Signals): Promise<[number, number]> {
  const startedMonoMs = performance.now()
  const exit = once(server.child, 'exit')
  server.child.kill(signal)
  const [code] = await exit
  return [code, performance.now() - startedMonoMs]
}

/** Sends answered events again: the same bytes come back, but where a default went unrecorded. */
async function expectSameAnswers(relay: Relay, told: readonly Delivery[]): Promise<void> {
  for (const first of told.filter(({ decidedBy }) => decidedBy === 'engine').slice(-50)) {
    const again = await relay.deliver(first.event)
    if (again.decidedBy === 'engine') expect(again.text).toBe(first.text)
  }
}

/** What got no answer was never taken. */
const clean = { differences: [], overHeld: [], declinedYetHeld: [] }

it('signals that others open their logs anew by end nothing, and open no debugger', async () => {
  for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) {
    server.child.kill(signal)
    await until(async () => server.output().includes(`"signal":"${signal}"`), 10)
  }
  expect((await readiness(server)).engine).toBe('running')
  expect(server.output()).not.toContain('Debugger listening')
})

it('a hang-up while it starts ends nothing', { timeout: 30_000 }, async () => {
  const other = fastFolder()
  onTestFinished(other.remove)
  // Nobody answers there, so that the start takes a while.
  const env = { REDIS_URL: 'redis://127.0.0.1:1' }
  const starting = spawnServer({ dataDir: other.path, env })
  onTestFinished(() => void starting.kill('SIGKILL'))
  let output = ''
  starting.stdout?.on('data', (chunk) => {
    output += chunk
  })
  // Its journal is there: it hears signals, and cannot serve yet.
  await until(async () => readdirSync(other.path).length > 0, 20)
  expect(output).not.toContain('serving POST /authorize')
  starting.kill('SIGHUP')
  await until(async () => output.includes('serving POST /authorize'), 20)
  expect(starting.exitCode).toBeNull()
})

it('a signal to stop while it starts ends it in order, as it must where nothing else would', {
  timeout: 30_000,
}, async () => {
  const other = fastFolder()
  onTestFinished(other.remove)
  const starting = spawnServer({ dataDir: other.path, env: { REDIS_URL: 'redis://127.0.0.1:1' } })
  onTestFinished(() => void starting.kill('SIGKILL'))
  await until(async () => readdirSync(other.path).length > 0, 20)
  const exit = once(starting, 'exit')
  starting.kill('SIGTERM')
  expect(await exit).toEqual([0, null])
})

it('a signal to stop while it opens its store is waited out: it ends by itself', {
  timeout: 60_000,
}, async () => {
  for (let delayMs = 0; delayMs < 6; delayMs++) {
    const other = fastFolder()
    onTestFinished(other.remove)
    const starting = spawnServer({ dataDir: other.path })
    onTestFinished(() => void starting.kill('SIGKILL'))
    const exit = once(starting, 'exit')
    while (!readdirSync(other.path).includes('store')) await sleep(1)
    await sleep(delayMs)
    starting.kill('SIGTERM')
    expect(await exit).toEqual([0, null])
  }
})

it('a disk that hangs keeps no server from ending: it says so, and the next start goes on', {
  timeout: 60_000,
}, async () => {
  const other = fastFolder()
  onTestFinished(other.remove)
  const hung = pathToFileURL(join(import.meta.dirname, '../support/hung-disk.mjs'))
  const env = { NODE_OPTIONS: `--import=${hung}` }
  const stuck = await startServer({ dataDir: other.path, env })
  onTestFinished(() => stuck.kill())
  stuck.child.kill('SIGUSR2')
  await until(async () => stuck.output().includes('"signal":"SIGUSR2"'), 10)
  const exit = once(stuck.child, 'exit')
  stuck.child.kill('SIGTERM')
  expect(await Promise.race([exit, sleep(20_000, 'it goes on')])).toEqual([null, 'SIGKILL'])
  expect(stuck.output()).toContain('the disk of DATA_DIR hangs')
  const next = await startServer({ dataDir: other.path })
  expect(await next.stop()).toBe(0)
})

describe('stopping', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`answers all that was taken under load and loses nothing (${signal})`, {
      timeout: 40_000,
    }, async () => {
      const load = loadWith(5, 150)
      await sleep(600)
      // Some answers are then the watchdog's, and are booked before the end.
      if (signal === 'SIGINT') server.disturb({ type: 'hang', ms: 600 })
      await sleep(200)
      const [code, tookMs] = await end(signal)
      await load.stop()
      console.log(
        `${signal}: ended after ${Math.round(tookMs)} ms,`,
        countAnswers(relay.deliveries),
      )
      expect(code).toBe(0)
      expect(tookMs).toBeLessThan(5_000)
      expect(await checkLedger(dataDir, relay.deliveries)).toMatchObject(clean)

      const told = [...relay.deliveries]
      await start()
      expect((await readiness(server)).unbooked).toBe(0)
      await expectSameAnswers(relay, told)
    })
  }

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    it(`ends in order after a ${signal} that npm passes on once more, and at once after a second one`, async () => {
      // The engine hangs, so that the first one is still at work when the second comes.
      for (const pauseMs of [15, 700]) {
        server.disturb({ type: 'hang', ms: 2_000 })
        await sleep(50)
        const exit = once(server.child, 'exit')
        server.child.kill(signal)
        await sleep(pauseMs)
        server.child.kill(signal)
        const [code] = await exit
        expect(code).toBe(pauseMs === 15 ? 0 : 1)
        await start()
      }
    })
  }

  it('waits for no connection that is idle, half sent or kept alive', async () => {
    const port = Number(new URL(server.url).port)
    const load = loadWith(7, 100)
    const sockets = [
      '',
      'POST /autho',
      'POST /authorize HTTP/1.1\r\ncontent-length: 9\r\n\r\n{',
    ].map((text) => {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      socket.write(text)
      return socket
    })
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy()
    })
    await sleep(300)
    // In flight when the signal comes, and kept alive by the client afterwards.
    server.disturb({ type: 'hang', ms: 200 })
    await sleep(50)
    const ending = end('SIGTERM')
    await load.stop()
    const [code, tookMs] = await ending
    console.log(`ended after ${Math.round(tookMs)} ms`)
    expect(code).toBe(0)
    expect(tookMs).toBeLessThan(3_000)
    expect(await checkLedger(dataDir, relay.deliveries)).toMatchObject(clean)
    await start()
  })

  it('answers what comes on a connection that is kept, and says that it ends then', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    onTestFinished(() => agent.destroy())
    const ask = async () => {
      const asked = request(`${server.url}/authorize`, { method: 'POST', agent }).end()
      const [{ statusCode, headers }] = await once(
        asked.on('response', (it) => it.resume()),
        'response',
      )
      return [statusCode, headers.connection]
    }
    expect(await ask()).toEqual([400, 'keep-alive'])
    const ending = end('SIGTERM')
    await until(async () => server.output().includes('"msg":"stopping'), 10)
    expect(await ask()).toEqual([400, 'close'])
    expect((await ending)[0]).toBe(0)
    await start()
  })

  it('ends at once on a second signal, and the next start books what was said', {
    timeout: 40_000,
  }, async () => {
    const witness = startWitness()
    onTestFinished(witness.stop)
    const load = loadWith(6, 100)
    await sleep(400)
    server.disturb({ type: 'hang', ms: 4_000 })
    await sleep(600)
    server.child.kill('SIGTERM')
    await load.stop()
    const [code, tookMs] = await end('SIGINT')
    expect(code).toBe(1)
    expect(tookMs).toBeLessThan(1_000)

    await start()
    await until(async () => (await readiness(server)).unbooked === 0)
    const { differences, declinedYetHeld } = await checkLedger(dataDir, relay.deliveries)
    expect(differences).toEqual([])
    expect(declinedYetHeld.filter((each) => !isExcused(witness, each))).toEqual([])
  })
})

describe('a second server on one DATA_DIR', () => {
  it('is refused with one line that says what to do', async () => {
    const second = spawnServer({ dataDir })
    onTestFinished(() => void second.kill('SIGKILL'))
    let printed = ''
    second.stderr?.on('data', (chunk) => {
      printed += chunk
    })
    const [code] = await once(second, 'exit')
    expect(code).toBe(2)
    expect(printed.trimEnd().split('\n')).toHaveLength(1)
    expect(printed).toContain('give each instance its own DATA_DIR')
    expect(await server.stop()).toBe(0)
  })
})
