import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
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
import { countAnswers, startLoad } from '../support/traffic.ts'

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

interface Stage {
  readonly dataDir: string
  readonly relay: Relay
  readonly cards: readonly string[]
  start(): Promise<RunningServer>
}

async function setStage(): Promise<Stage> {
  const folder = fastFolder()
  endings.push(folder.remove)
  const cards = await seedCards(folder.path, Array(20).fill('100000.00'))
  const relay = createRelay('http://127.0.0.1:1')
  endings.push(relay.close)
  return {
    dataDir: folder.path,
    relay,
    cards,
    async start() {
      const server = await startServer({
        dataDir: folder.path,
        disturbable: true,
        env: usualBudget,
      })
      endings.push(server.kill)
      relay.moveTo(server.url)
      return server
    },
  }
}

/** Resolves to the exit code and how long it took. */
async function end(server: RunningServer, signal: NodeJS.Signals): Promise<[number, number]> {
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

describe('stopping', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`answers all that was taken under load and loses nothing (${signal})`, {
      timeout: 40_000,
    }, async () => {
      const { dataDir, relay, cards, start } = await setStage()
      const server = await start()
      const load = startLoad({ relay, seed: 5, cards, ratePerSecond: 150 })
      endings.push(load.stop)
      await sleep(600)
      // Some answers are then the watchdog's, and are booked before the end.
      if (signal === 'SIGINT') server.disturb({ type: 'hang', ms: 600 })
      await sleep(200)
      const [code, tookMs] = await end(server, signal)
      await load.stop()
      console.log(
        `${signal}: ended after ${Math.round(tookMs)} ms,`,
        countAnswers(relay.deliveries),
      )
      expect(code).toBe(0)
      expect(tookMs).toBeLessThan(5_000)
      // What got no answer was never taken.
      const clean = { differences: [], overHeld: [], declinedYetHeld: [] }
      expect(await checkLedger(dataDir, relay.deliveries)).toMatchObject(clean)

      const told = [...relay.deliveries]
      const next = await start()
      expect((await readiness(next)).unbooked).toBe(0)
      await expectSameAnswers(relay, told)
      expect(await next.stop()).toBe(0)
      expect(await checkLedger(dataDir, relay.deliveries)).toMatchObject(clean)
    })
  }

  it('ends at once on a second signal, and the next start books what was said', {
    timeout: 40_000,
  }, async () => {
    const { dataDir, relay, cards, start } = await setStage()
    const server = await start()
    const witness = startWitness()
    endings.push(witness.stop)
    const load = startLoad({ relay, seed: 6, cards, ratePerSecond: 100 })
    endings.push(load.stop)
    await sleep(400)
    server.disturb({ type: 'hang', ms: 4_000 })
    await sleep(600)
    server.child.kill('SIGTERM')
    await load.stop()
    const [code, tookMs] = await end(server, 'SIGTERM')
    expect(code).toBe(1)
    expect(tookMs).toBeLessThan(1_000)

    const next = await start()
    await until(async () => (await readiness(next)).unbooked === 0)
    expect(await next.stop()).toBe(0)
    const { differences, declinedYetHeld } = await checkLedger(dataDir, relay.deliveries)
    expect(differences).toEqual([])
    expect(declinedYetHeld.filter((each) => !isExcused(witness, each))).toEqual([])
  })

  it('waits for no connection that is idle, half sent or kept alive', async () => {
    const { relay, cards, start } = await setStage()
    const server = await start()
    const port = Number(new URL(server.url).port)
    const load = startLoad({ relay, seed: 7, cards, ratePerSecond: 100 })
    endings.push(load.stop)
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
    endings.push(() => {
      for (const socket of sockets) socket.destroy()
    })
    await sleep(300)
    // In flight when the signal comes, and kept alive by the client afterwards.
    server.disturb({ type: 'hang', ms: 200 })
    await sleep(50)
    const ending = end(server, 'SIGTERM')
    await load.stop()
    const [code, tookMs] = await ending
    console.log(`ended after ${Math.round(tookMs)} ms`)
    expect(code).toBe(0)
    expect(tookMs).toBeLessThan(3_000)
  })
})

describe('a second server on one DATA_DIR', () => {
  it('is refused with one line that says what to do', async () => {
    const { dataDir, start } = await setStage()
    await start()
    const second = spawnServer({ dataDir })
    endings.push(() => void second.kill('SIGKILL'))
    let printed = ''
    second.stderr?.on('data', (chunk) => {
      printed += chunk
    })
    const [code] = await once(second, 'exit')
    expect(code).toBe(2)
    expect(printed.trimEnd().split('\n')).toHaveLength(1)
    expect(printed).toContain('give each instance its own DATA_DIR')
  })
})
