import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createRightOfWay } from '../src/right-of-way.ts'
import { type Command, PartlyFailed, type Store, StoreError } from '../src/store/port.ts'
import { openApi } from './support/api-world.ts'
import { createMemoryStore } from './support/memory-store.ts'

function open() {
  const decisions = new Int32Array(new SharedArrayBuffer(4))
  let monoMs = 0
  const begun: string[] = []
  const ends: (() => void)[] = []
  const inner: Store = {
    ...createMemoryStore(),
    commit(commands) {
      begun.push(commands.map(({ aggregate }) => aggregate).join())
      return new Promise((resolve) => ends.push(() => resolve(commands.map(() => 'committed'))))
    },
  }
  const way = createRightOfWay(decisions, () => monoMs)
  const store = way.behindDecisions(inner)
  return {
    way,
    decisions,
    begun,
    commit: (aggregate: string) => store.commit([{ aggregate } as Command]),
    commitMany: (count: number) =>
      store.commit(Array.from({ length: count }, (_, i) => ({ aggregate: `${i}` }) as Command)),
    begunCounts: () => begun.map((names) => names.split(',').length),
    async end() {
      ends.shift()?.()
      await sleep(0)
    },
    /** Long enough for several looks. */
    async pass(ms: number) {
      monoMs += ms
      await sleep(10)
    },
  }
}

describe('the right of way', () => {
  it('lets everything through at once while nobody decides', async () => {
    const { begun, commit } = open()
    void commit('a')
    void commit('b')
    expect(begun).toEqual(['a', 'b'])
  })

  it('keeps commits back while decisions are open, and then lets those that wait go together', async () => {
    const { begun, commit, decisions, end, pass } = open()
    decisions[0] = 1
    void commit('a')
    void commit('b')
    await pass(1)
    expect(begun).toEqual([])
    decisions[0] = 0
    await pass(1)
    expect(begun).toEqual(['a', 'b'])
    void commit('c')
    await end()
    await pass(50)
    expect(begun).toEqual(['a', 'b'])
    await end()
    await pass(50)
    await pass(50)
    expect(begun).toEqual(['a', 'b', 'c'])
  })

  it('lets no more than 32 commands go together while decisions come', async () => {
    const { begun, commit, decisions, pass } = open()
    decisions[0] = 1
    for (let i = 0; i < 40; i++) void commit(`${i}`)
    decisions[0] = 0
    await pass(1)
    expect(begun).toHaveLength(32)
  })

  it('rests four times as long as a group took, at most 100 ms, while decisions come', async () => {
    for (const [tookMs, restMs] of [
      [5, 20],
      [60, 100],
    ] as const) {
      const { begun, commit, decisions, end, pass } = open()
      decisions[0] = 1
      void commit('a')
      await pass(20)
      await pass(tookMs)
      await end()
      void commit('b')
      await pass(restMs - 1)
      expect(begun).toEqual(['a'])
      await pass(1)
      expect(begun).toEqual(['a', 'b'])
    }
  })

  it('commits what is longer in parts while decisions come, and rests between them as long as one took', async () => {
    const { begunCounts, commitMany, decisions, end, pass } = open()
    decisions[0] = 1
    const outcomes = commitMany(80)
    await pass(20)
    expect(begunCounts()).toEqual([32])
    await pass(10)
    await end()
    await pass(9)
    expect(begunCounts()).toEqual([32])
    await pass(1)
    expect(begunCounts()).toEqual([32, 32])
    await end()
    await pass(1)
    expect(begunCounts()).toEqual([32, 32, 16])
    await end()
    expect(await outcomes).toEqual(Array(80).fill('committed'))
  })

  it('commits what is longer at once while nobody decides', async () => {
    const { begunCounts, commitMany } = open()
    void commitMany(80)
    expect(begunCounts()).toEqual([80])
  })

  it('tells of each command what became of it when a part fails', async () => {
    const decisions = new Int32Array(new SharedArrayBuffer(4))
    decisions[0] = 1
    let calls = 0
    const failing: Store = {
      ...createMemoryStore(),
      async commit(commands) {
        if (calls++ === 1) throw new StoreError('away', 'no')
        return commands.map(() => 'committed' as const)
      },
    }
    const { behindDecisions } = createRightOfWay(decisions, () => performance.now())
    const many = Array.from({ length: 70 }, (_, i) => ({ aggregate: `${i}` }) as Command)
    const error = await behindDecisions(failing)
      .commit(many)
      .catch((caught) => caught)
    expect(error).toBeInstanceOf(PartlyFailed)
    const parts = [...Array(32).fill('committed'), ...Array(32).fill('refused')]
    expect(error.outcomes).toEqual([...parts, ...Array(6).fill('committed')])
  })

  it('rests no more once decisions have not come for a while', async () => {
    const { begun, commit, decisions, end, pass } = open()
    decisions[0] = 1
    void commit('a')
    await pass(20)
    decisions[0] = 0
    await pass(60)
    await end()
    void commit('b')
    await pass(41)
    expect(begun).toEqual(['a', 'b'])
  })

  it('waits no longer than 20 ms for a moment without decisions, however many come', async () => {
    const { begun, commit, decisions, pass } = open()
    decisions[0] = 1
    void commit('a')
    await pass(19)
    expect(begun).toEqual([])
    await pass(1)
    expect(begun).toEqual(['a'])
  })

  it('hands on what a store throws', async () => {
    const decisions = new Int32Array(new SharedArrayBuffer(4))
    const failing = { ...createMemoryStore(), commit: () => Promise.reject(new Error('away')) }
    const store = createRightOfWay(decisions, () => 0).behindDecisions(failing)
    await expect(store.commit([])).rejects.toThrow('away')
  })

  it('turns calls away with 503 before they are looked at, once 128 decisions are open', async () => {
    const { way, decisions } = open()
    const { headersOf, call } = await openApi({ isPressed: way.isPressed })
    const target = '/api/v1/organization'
    decisions[0] = 127
    expect((await call('GET', target, await headersOf('GET', target))).status).toBe(200)
    decisions[0] = 128
    const headers = await headersOf('GET', target)
    const turnedAway = await call('GET', target, headers)
    expect([turnedAway.status, turnedAway.body.responseCode]).toEqual([503, '150'])
    expect(turnedAway.headers.get('retry-after')).toBe('1')
    expect((await call('GET', target, {})).status).toBe(503)
    decisions[0] = 0
    expect((await call('GET', target, headers)).status).toBe(200)
  })
})
