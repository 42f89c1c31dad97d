import { type AddressInfo, connect } from 'node:net'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { systemClock } from '../../src/clock.ts'
import { readBackOffice } from '../../src/console/back-office.ts'
import { createDecisionWatch } from '../../src/console/decision-watch.ts'
import { createFigures } from '../../src/console/figures.ts'
import { createFlow, type FlowTaken } from '../../src/console/flow.ts'
import { createLive } from '../../src/console/live.ts'
import { decisionRoutes } from '../../src/console/route/decisions.ts'
import { defineConsoleRoute } from '../../src/console/route.ts'
import { createConsoleServer } from '../../src/console/server.ts'
import { createSessions } from '../../src/console/session.ts'
import type { DecisionList } from '../../src/console/shape/decision.ts'
import { indexes } from '../../src/engine/format/layout.ts'
import { importRows } from '../../src/engine/import.ts'
import { type LogLine, noChange } from '../../src/store/port.ts'
import { askConsole } from '../support/console-world.ts'
import { openCards, startEngine, testEvent } from '../support/engine-world.ts'
import { createMemoryState, createMemoryStore } from '../support/memory-store.ts'

const answer = {
  code: '000',
  decidedBy: 'engine',
  cause: '',
  ruleId: '',
  approvedAmountMinor: null,
  rulesVersion: 'test',
} as const

/** What the gate counts of so many answers in one second. */
function flowOf(first: number, count: number): FlowTaken {
  const flow = createFlow()
  for (let i = first; i < first + count; i++) {
    const event = testEvent({ eventId: `e${i}` })
    flow.answered({ event, answer, trace: `s${i}`, arrivalMs: 1, origin: null, totalMs: 2 })
  }
  return flow.take()
}

describe('what the console remembers', () => {
  it('is of a second the first 1,000 deliveries, while all are counted', () => {
    const { approved, delivered } = flowOf(0, 1_001)
    expect([approved, delivered.length, delivered.at(-1)?.slot]).toEqual([1_001, 1_000, 's999'])
  })

  it('is of all seconds 50,000 deliveries, the oldest of which go', () => {
    const figures = createFigures()
    const gauges = { open: 0, unbooked: 0 } as never
    const readiness = { status: 'ready', engine: 'running', store: 'ok' } as never
    for (let second = 0; second <= 50; second++) {
      const flow = flowOf(1_000 * second, 1_000)
      figures.add({ atMs: 1_000 * second, flow, gauges, readiness, rulesVersion: 'test' })
    }
    const known = ['s0', 's999', 's1000', 's50999'].map((slot) => figures.delivered(slot) !== null)
    expect(known).toEqual([false, false, true, true])
    expect(figures.deliveriesOf('card-0', 'e999')).toEqual([])
    expect(figures.deliveriesOf('card-0', 'e1000')).toHaveLength(1)
  })
})

it('decisions of a customer are sought behind hundreds of others', async () => {
  const store = createMemoryStore(createMemoryState())
  const engine = startEngine(store)
  await openCards(engine, 1)
  const own = { cardId: 'own', customerId: 'customer-1', type: 'retail', currency: 'USD' }
  await importRows([{ ...own, balance: '9' }], engine)
  await engine.ask({ eventId: 'own', cardId: 'own' })
  for (let i = 0; i < 600; i++) await engine.ask({ eventId: `other-${i}`, cardId: 'card-0' })
  engine.stop()
  const office = { store, clock: systemClock, figures: createFigures() } as never
  const [list] = decisionRoutes(office)
  const who = { name: 'ada', role: 'operator' } as const
  const { rows, next } = (await list!.handle({ customer: 'customer-1' }, who)) as DecisionList
  expect([rows.map(({ eventId }) => eventId), next]).toEqual([['own'], ''])
})

describe('a live list', () => {
  it('follows 100 decisions of a second, and says that more came in', async () => {
    const lines: LogLine[] = []
    const tailLog = async (limit: number) => lines.slice(-limit)
    const watch = createDecisionWatch({ tailLog })
    const add = async (count: number) => {
      for (let i = 0; i < count; i++) {
        lines.push({ cursor: `${lines.length}`, writtenMs: 0, entry: '' })
      }
      await watch.look()
      return [watch.fresh(({ cursor }) => ({ cursor }) as never).length, watch.skipped]
    }
    expect(await add(1)).toEqual([1, false])
    expect(await add(99)).toEqual([99, false])
    expect(await add(101)).toEqual([100, true])
    expect(await add(0)).toEqual([0, false])
  })
})

describe('what is under way', () => {
  it('is counted to 1,000', async () => {
    const store = createMemoryStore(createMemoryState())
    const entry = (index: string, i: number) => {
      return { index, sortKey: `${String(i).padStart(15, '0')}\n${i}`, value: `${i}` }
    }
    const all = Array.from({ length: 1_001 }, (_, i) => i)
    await store.commit([
      {
        aggregate: 'x',
        expectedVersion: null,
        newVersion: 'v1',
        root: '',
        ...noChange,
        index: all.flatMap((i) => [entry(indexes.moving, i), entry(indexes.kycsDue, i)]),
      },
    ])
    expect(await readBackOffice(store)).toMatchObject({ transfers: 1_000, kycs: 1_000 })
  })
})

describe('the port of the console', () => {
  /** With a page that answers when it is told to, and one that takes what it is sent. */
  async function openPort() {
    let answer: () => void = () => {}
    const waits = new Promise<void>((resolve) => {
      answer = resolve
    })
    const path = '/data/slow'
    const input = z.object({})
    const shell = { type: 'text/html', body: Buffer.from('page'), etag: '"1"' }
    const server = createConsoleServer({
      host: '127.0.0.1',
      publicUrl: null,
      assets: { byPath: new Map(), shell, contentSecurityPolicy: "default-src 'self'" },
      sessions: createSessions({ viewers: null, operators: null }, systemClock),
      routes: [
        defineConsoleRoute({ method: 'GET', path, input, handle: () => waits }),
        defineConsoleRoute({ method: 'POST', path: '/act/none', input, handle: async () => ({}) }),
      ],
      live: createLive(),
      report: () => null,
      subscription: () => async () => null,
      onBug: (error) => expect.unreachable(String(error)),
    })
    await server.listen({ host: '127.0.0.1', port: 0 })
    const { port } = server.server.address() as AddressInfo
    return { server, port, answer, ask: () => askConsole(port, 'GET', path) }
  }

  it('has 512 connections, and closes the one that it has waited for longest', async () => {
    const { server, port } = await openPort()
    const sockets = Array.from({ length: 520 }, () => connect(port, '127.0.0.1'))
    await vi.waitFor(() => expect(sockets.filter(({ closed }) => closed)).toHaveLength(8), 10_000)
    expect((await askConsole(port, 'GET', '/')).status).toBe(200)
    for (const socket of sockets) socket.destroy()
    await server.close()
  }, 30_000)

  it('works on 64 requests at once, and has no time for the next', async () => {
    const { server, answer, ask } = await openPort()
    const statuses: number[] = []
    const asked = Array.from({ length: 70 }, async () => statuses.push((await ask()).status))
    await vi.waitFor(() => expect(statuses).toEqual(Array(6).fill(503)), 5_000)
    answer()
    await Promise.all(asked)
    expect(statuses.slice(6)).toEqual(Array(64).fill(200))
    await server.close()
  })

  it('takes bodies of 64 KiB', async () => {
    const { server, port } = await openPort()
    const [host, origin] = [`localhost:${port}`, `http://localhost:${port}`]
    const headers = { host, origin, 'content-type': 'application/json' }
    const bodyOf = (bytes: number) => ({ text: 'x'.repeat(bytes - '{"text":""}'.length) })
    const post = (bytes: number) => askConsole(port, 'POST', '/act/none', headers, bodyOf(bytes))
    expect((await post(65_536)).status).toBe(200)
    expect((await post(65_537)).status).toBe(413)
    await server.close()
  })
})
