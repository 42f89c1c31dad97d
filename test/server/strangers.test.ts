import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { seedCards } from '../support/ledger-check.ts'
import { exchange } from '../support/raw-http.ts'
import { createRelay, type Delivery, firstDeliveries, type Relay } from '../support/relay.ts'
import { fastFolder, type RunningServer, readMetric, startServer } from '../support/server.ts'
import { isExcused, startWitness } from '../support/stall-witness.ts'
import { countAnswers, slowestMs, startLoad } from '../support/traffic.ts'

const contractLimitMs = 400
const secret = 'a-secret-of-the-relay'
const floodMs = process.env.TORTURE ? 30_000 : 2_000

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

interface Served {
  readonly server: RunningServer
  readonly port: number
  readonly relay: Relay
  /** Sends the relay's traffic meanwhile, and resolves to its answers. */
  during(act: () => Promise<void>): Promise<readonly Delivery[]>
  late(deliveries: readonly Delivery[]): Delivery[]
}

async function serve(maxOpenFiles?: number): Promise<Served> {
  const folder = fastFolder()
  endings.push(folder.remove)
  const cards = await seedCards(folder.path, Array(20).fill('100000.00'))
  const server = await startServer({
    dataDir: folder.path,
    env: { RELAY_SECRET: secret },
    ...(maxOpenFiles === undefined ? {} : { maxOpenFiles }),
  })
  endings.push(server.kill)
  const relay = createRelay(server.url, 16, secret)
  endings.push(relay.close)
  const witness = startWitness()
  endings.push(witness.stop)
  return {
    server,
    port: Number(new URL(server.url).port),
    relay,
    async during(act) {
      const load = startLoad({ relay, seed: 14, cards, ratePerSecond: 50 })
      await sleep(500)
      const before = relay.deliveries.length
      await act()
      await load.stop()
      const deliveries = relay.deliveries.slice(before)
      console.log(`slowest ${Math.round(slowestMs(deliveries))} ms,`, countAnswers(deliveries))
      return deliveries
    },
    late: (deliveries) =>
      deliveries
        .filter(({ status, ms }) => status !== 200 || ms >= contractLimitMs)
        // A machine that stands still makes answers late, but none go missing.
        .filter((each) => each.status === 0 || !isExcused(witness, each)),
  }
}

function residentBytes({ child }: RunningServer): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+([0-9]+)/m.exec(status)?.[1]) * 1024
}

/** Sends as fast as the server takes it, never reads, and comes back when it is cut. */
function pipeline(port: number, text: string): () => void {
  const chunk = Buffer.from(text.repeat(Math.ceil(65_536 / text.length)))
  let socket: Socket
  let ended = false
  const open = () => {
    if (ended) return
    socket = connect(port, '127.0.0.1').pause()
    const write = () => {
      while (!socket.destroyed && socket.write(chunk));
    }
    socket.on('connect', write).on('drain', write)
    socket.on('error', () => {}).on('close', () => setTimeout(open, 20))
  }
  open()
  return () => {
    ended = true
    socket.destroy()
  }
}

const smallest = 'GET / HTTP/1.1\r\n\r\n'
const unsigned =
  'POST /authorize HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}'

describe('strangers', () => {
  it('that send more than 16 requests at once are answered those, told 503, and read no further', async () => {
    const { server, port } = await serve()
    const { answers, closed } = await exchange(port, smallest.repeat(3_000), { answers: 99 })
    expect(closed).toBe(true)
    // Node 22 drops those that it has not sent yet when the connection is closed.
    const most = [...Array(16).fill(404), 503]
    expect(answers.map(({ status }) => status)).toEqual(most.slice(0, answers.length))
    if (answers.length === most.length) {
      expect(answers.at(-1)?.head).toMatch(/^connection: close$/im)
      expect(JSON.parse(answers.at(-1)!.body)).toMatchObject({ decision: 'decline' })
    }
    const text = await (await fetch(`${server.adminUrl}/metrics`)).text()
    const refusals = [...text.matchAll(/^arbiter_refusals_total\{status="(\d+)"\} (\d+)$/gm)]
    const some = refusals.filter(([, , count]) => count !== '0')
    expect(some.map(([, status, count]) => [status, count]).sort()).toEqual([
      ['404', String(Math.min(16, answers.length))],
      ['503', '1'],
    ])
    // Sixteen are no matter, again and again.
    for (let i = 0; i < 3; i++) {
      const few = await exchange(port, smallest.repeat(16), { answers: 16 })
      expect(few).toMatchObject({ closed: false, answers: { length: 16 } })
    }
  })

  it('that pipeline and never read delay no signed event and take no memory', {
    timeout: floodMs + 30_000,
  }, async () => {
    const { server, during, late } = await serve()
    const port = Number(new URL(server.url).port)
    let mostBytes = 0
    const deliveries = await during(async () => {
      const beforeBytes = residentBytes(server)
      const floods = [smallest, smallest, smallest, unsigned, unsigned].map((text) =>
        pipeline(port, text),
      )
      for (const until = performance.now() + floodMs; performance.now() < until; ) {
        await sleep(50)
        mostBytes = Math.max(mostBytes, residentBytes(server) - beforeBytes)
      }
      for (const end of floods) end()
    })
    console.log(`${Math.round(mostBytes / 2 ** 20)} MB more`)
    expect(firstDeliveries(deliveries).length).toBeGreaterThan(floodMs / 50)
    expect(late(deliveries)).toEqual([])
    expect(mostBytes).toBeLessThan(150 * 2 ** 20)
  })

  it('that send nothing, more than there are descriptors, cost the relay no answer of the engine', async () => {
    const maxOpenFiles = 256
    const { server, port, during, late } = await serve(maxOpenFiles)
    const silent: Socket[] = []
    endings.push(() => {
      for (const socket of silent) socket.destroy()
    })
    const deliveries = await during(async () => {
      for (let i = 0; i < 2 * maxOpenFiles; i++) {
        silent.push(connect(port, '127.0.0.1').on('error', () => {}))
        if (i % 20 === 0) await sleep(10)
      }
      await sleep(1_500)
    })
    expect(late(deliveries)).toEqual([])
    // Without places kept free all are; a machine that stalls makes a few.
    const events = firstDeliveries(deliveries)
    const byDefault = events.filter(({ decidedBy }) => decidedBy !== 'engine')
    expect(byDefault.length).toBeLessThan(events.length / 5)
    expect(await readMetric(server, 'arbiter_engine_restarts')).toBe(0)
    expect(await readMetric(server, 'arbiter_connections')).toBe(maxOpenFiles - 128)
    expect(await readMetric(server, 'arbiter_connections_cut')).toBeGreaterThan(maxOpenFiles)
    // Those that came first were closed first, and none of the relay's.
    await sleep(50)
    expect(silent.findIndex(({ closed }) => !closed)).toBeGreaterThan(maxOpenFiles)
    expect(await readMetric(server, 'arbiter_connections_proven')).toBeGreaterThan(0)
    expect(server.output()).toContain('the limit of open files leaves fewer')
  })
})
